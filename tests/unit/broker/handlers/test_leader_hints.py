"""A client that asks the wrong broker is told who leads, if its version has room for that."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k00_produce import produce
from barnabas.broker.handlers.k01_fetch import fetch
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.batch import Record, encode_batch

OTHER = 2


@pytest.fixture
def elsewhere(world: Any) -> Any:
    """A topic that broker 2 leads in epoch 4."""
    world.register(OTHER, rack="r2")
    world.topic("t", replicas=(OTHER, world.broker.node_id), leader_epoch=4)
    return world


def sent(world: Any, version: int) -> Any:
    batch = memoryview(bytearray(encode_batch([Record(timestamp=1, key=None, value=b"v")])))
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )
    answers: list[Any] = []
    later: Any = produce(world.broker, world.ctx(request, version), request)
    later.when_done(answers.append)
    world.broker.replicas.write_dirty()
    return answers[0]


def fetched(world: Any, version: int, epoch: int) -> Any:
    partition = FetchPartition(partition=0, current_leader_epoch=epoch, partition_max_bytes=1000)
    topic_id = world.image.topics["t"].id
    request = FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=[partition])])
    return fetch(world.broker, world.ctx(request, version), request)


def endpoints(answer: Any) -> list[tuple[int, str, int, str | None]]:
    return [(each.node_id, each.host, each.port, each.rack) for each in answer.node_endpoints]


def test_a_producer_is_told_since_version_10(elsewhere: Any) -> None:
    answer = sent(elsewhere, 10)

    result = answer.responses[0].partition_responses[0]
    assert ErrorCode(result.error_code) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (OTHER, 4)
    assert endpoints(answer) == [(OTHER, "broker-2", 9092, "r2")]
    assert endpoints(sent(elsewhere, 9)) == []


def test_a_consumer_is_told_since_version_16(elsewhere: Any) -> None:
    answer = fetched(elsewhere, 16, epoch=3)

    result = answer.responses[0].partitions[0]
    assert ErrorCode(result.error_code) is ErrorCode.FENCED_LEADER_EPOCH
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (OTHER, 4)
    assert endpoints(answer) == [(OTHER, "broker-2", 9092, "r2")]
    assert endpoints(fetched(elsewhere, 15, epoch=3)) == []


def test_a_leader_that_cannot_be_reached_is_not_told(elsewhere: Any) -> None:
    elsewhere.register(OTHER, fenced=True)
    assert endpoints(sent(elsewhere, 10)) == []

    elsewhere.register(OTHER, listeners=("ELSEWHERE",))
    assert endpoints(sent(elsewhere, 10)) == []
