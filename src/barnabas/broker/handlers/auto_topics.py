"""How a topic is made that a client merely used: with the broker's defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig


def creation_request(config: BrokerConfig, names: Iterable[str]) -> CreateTopicsRequest:
    """The request to the controller.  Internal topics have settings of their own."""
    return CreateTopicsRequest(
        topics=[_creatable(config, name) for name in names],
        timeout_ms=config.int("request.timeout.ms"),
    )


def _creatable(config: BrokerConfig, name: str) -> CreatableTopic:
    match name:
        case "__consumer_offsets":
            prefix, special = "offsets.topic", {"cleanup.policy": "compact"}
        case "__transaction_state":
            prefix = "transaction.state.log"
            special = {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(config.int("transaction.state.log.min.isr")),
                "unclean.leader.election.enable": "false",
            }
        case "__share_group_state":
            prefix = "share.coordinator.state.topic"
            special = {"cleanup.policy": "delete", "retention.ms": "-1"}
        case _:
            return CreatableTopic(
                name=name,
                num_partitions=config.int("num.partitions"),
                replication_factor=config.int("default.replication.factor"),
            )
    settings = {
        "compression.type": "producer",
        "segment.bytes": str(config.int(f"{prefix}.segment.bytes")),
        **special,
    }
    return CreatableTopic(
        name=name,
        num_partitions=config.int(f"{prefix}.num.partitions"),
        replication_factor=config.int(f"{prefix}.replication.factor"),
        configs=[CreatableTopicConfig(name=key, value=text) for key, text in settings.items()],
    )
