"""The quorum as a broker tells of it: its own, or what the controller says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_link import ScriptedLink, quorum
from small_broker import LISTENER, NODE_ID, SmallBroker

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k55_describe_quorum import describe_quorum
from barnabas.protocol.message import Message
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)

CTX = RequestContext(
    api_key=55, api_version=2, correlation_id=0, client_id=None, listener=LISTENER, peer_host="h"
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    yield made
    made.close()


def request(topic: str = "__cluster_metadata", index: int = 0) -> DescribeQuorumRequest:
    asked = RequestPartitionData(partition_index=index)
    return DescribeQuorumRequest(topics=[RequestTopicData(topic_name=topic, partitions=[asked])])


def test_with_the_controller_in_this_process_this_node_is_the_only_voter(
    world: SmallBroker,
) -> None:
    world.topic("t")

    answer: Any = describe_quorum(world.broker, CTX, request())

    (found,) = answer.topics[0].partitions
    assert (found.error_code, found.leader_id) == (0, NODE_ID)
    assert found.high_watermark == world.image.applied_offset + 1
    assert [one.replica_id for one in found.current_voters] == [NODE_ID]


@pytest.mark.parametrize(("topic", "index"), [("t", 0), ("__cluster_metadata", 1)])
def test_there_is_one_quorum(world: SmallBroker, topic: str, index: int) -> None:
    answer: Any = describe_quorum(world.broker, CTX, request(topic, index))

    code = answer.topics[0].partitions[0].error_code
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("answered", [quorum(high_watermark=5), None], ids=["told", "silent"])
def test_with_the_controller_elsewhere_it_is_asked(
    world: SmallBroker, answered: Message | None
) -> None:
    async def scenario() -> Any:
        world.broker.link = ScriptedLink(lambda _: answered)  # type: ignore[assignment]
        later = describe_quorum(world.broker, CTX, request())
        assert isinstance(later, Later)
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        later.when_done(done.set_result)
        return await done

    answer = asyncio.run(scenario())

    if answered is None:
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    else:
        assert answer is answered
