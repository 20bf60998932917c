"""How a broker joins: it registers with the controller, then asks to be let in.

Until its heartbeat is answered with "not fenced" it leads nothing and no client is told of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode, error_for
from barnabas.base.ids import random_id
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas.storage.directory import NO_EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.state import Broker
    from barnabas.controller.image import VersionRange
    from barnabas.protocol.message import Message
    from barnabas.storage.manager import LogManager

LEAVE_S_MAX = 30.0
LEAVE_RETRY_S = 0.1
PROTOCOL_NUMBERS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


async def ask(broker: Broker, request: Message) -> Any:
    """The controller's answer; an error in it is raised."""
    answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    broker.controller.submit(request, answered.set_result)
    response: Any = await answered
    if response.error_code:
        raise error_for(ErrorCode(response.error_code), None)
    return response


def registration_request(
    config: BrokerConfig,
    cluster_id: str,
    listeners: Sequence[BoundListener],
    logs: LogManager,
    features: Mapping[str, VersionRange],
) -> BrokerRegistrationRequest:
    """Who this broker is.  Each call is another incarnation: one for each start of a process."""
    return BrokerRegistrationRequest(
        broker_id=config.node_id,
        cluster_id=cluster_id,
        incarnation_id=random_id(),
        listeners=[
            Listener(
                name=listener.name,
                host=listener.advertised_host,
                port=listener.advertised_port,
                security_protocol=PROTOCOL_NUMBERS[listener.security_protocol],
            )
            for listener in listeners
        ],
        features=[
            Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in features.items()
        ],
        rack=config.optional_str("broker.rack"),
        log_dirs=[
            directory.meta.directory_id
            for directory in logs.usable_directories()
            if directory.meta is not None
        ],
        previous_broker_epoch=_clean_epoch(logs),
    )


def _clean_epoch(logs: LogManager) -> int:
    """The epoch in which this broker was shut down, if that left every directory whole."""
    epochs = {directory.clean_epoch for directory in logs.directories}
    return epochs.pop() if len(epochs) == 1 else NO_EPOCH


async def register(broker: Broker, features: Mapping[str, VersionRange]) -> int:
    """Register this broker and have it unfenced; its epoch."""
    response = await ask(
        broker,
        registration_request(
            broker.config, broker.cluster_id, broker.listeners, broker.logs, features
        ),
    )
    epoch: int = response.broker_epoch
    await heartbeat(broker, epoch)
    return epoch


async def heartbeat(broker: Broker, epoch: int, *, leaving: bool = False) -> bool:
    """Say that this broker is there, or wants to leave; whether it may stop now."""
    response = await ask(
        broker,
        BrokerHeartbeatRequest(
            broker_id=broker.node_id,
            broker_epoch=epoch,
            current_metadata_offset=broker.image.applied_offset,
            want_fence=False,
            want_shut_down=leaving,
        ),
    )
    return bool(response.should_shut_down)


async def leave(broker: Broker) -> None:
    """Hand over what this broker leads, to a controller in this process; it may take a while."""
    tries = int(LEAVE_S_MAX / LEAVE_RETRY_S)
    while not await heartbeat(broker, broker.epoch, leaving=True) and tries:
        tries -= 1
        await asyncio.sleep(LEAVE_RETRY_S)
