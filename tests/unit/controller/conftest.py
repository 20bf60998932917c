"""A cluster in memory, whose deciders are asked and whose records are replayed by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from barnabas.base.settings import BrokerConfig
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.features import SUPPORTED
from barnabas.controller.image import ClusterImage
from barnabas.controller.sessions import BrokerSessions
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr


class World:
    """An image and the environment in which decisions about it are made."""

    def __init__(self, **settings: str) -> None:
        self.image = ClusterImage("cluster-of-the-test-00")
        self.sessions = BrokerSessions(9_000)
        config = BrokerConfig.from_properties({"node.id": "1", **settings})
        self.env = Environment(config=config, sessions=self.sessions, random=Random(7))

    def decide(self, request: Message, *, now_ms: int = 0) -> Decision:
        return decider.decide(self.image, request, now_ms, self.env)

    def do(self, request: Message, *, now_ms: int = 0) -> Any:
        """Decide and replay; the response."""
        decision = self.decide(request, now_ms=now_ms)
        self.replay(*decision.records)
        return decision.response

    def replay(self, *records: Message) -> None:
        if records:
            offset = self.image.applied_offset + len(records)
            self.image.replay_run(records, offset=offset, epoch=1)

    def add_broker(
        self, broker_id: int = 1, *, fenced: bool = False, rack: str | None = None, dirs: int = 1
    ) -> int:
        """A registered broker; its epoch."""
        epoch = self.image.applied_offset + 1
        self.replay(
            mr.RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=epoch,
                incarnation_id=bytes([broker_id]) * 16,
                end_points=[mr.BrokerEndpoint(name="PLAINTEXT", host=f"b{broker_id}", port=9092)],
                features=[
                    mr.BrokerFeature(
                        name=name,
                        min_supported_version=levels.min,
                        max_supported_version=levels.max,
                    )
                    for name, levels in SUPPORTED.items()
                ],
                rack=rack,
                fenced=fenced,
                log_dirs=[bytes([100 + broker_id, i]) + bytes(14) for i in range(dirs)],
            )
        )
        return epoch

    def add_topic(self, name: str, *replicas: list[int], isr: list[int] | None = None) -> bytes:
        """A topic whose partitions have these replicas, all in sync unless said; its id."""
        topic_id = name.encode().ljust(16, b"\0")
        self.replay(
            mr.TopicRecord(name=name, topic_id=topic_id),
            *(
                mr.PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=brokers,
                    isr=brokers if isr is None else isr,
                    leader=(brokers if isr is None else isr)[0],
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=[bytes(15) + b"\1"] * len(brokers),
                )
                for index, brokers in enumerate(replicas)
            ),
        )
        return topic_id


@pytest.fixture
def world() -> World:
    """No broker yet."""
    return World()


@pytest.fixture
def single() -> World:
    """A cluster of one."""
    world = World()
    world.add_broker(1)
    return world


@pytest.fixture
def trio() -> World:
    """Three brokers."""
    world = World()
    for broker_id in (1, 2, 3):
        world.add_broker(broker_id)
    return world


@pytest.fixture
def make_world() -> type[World]:
    """For clusters with settings of their own."""
    return World
