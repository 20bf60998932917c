"""What is answered on a controller's listener, and how it describes itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from controller_world import CONTROLLER_ID, ControllerWorld, resolved

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k18_api_versions import api_versions
from barnabas.broker.controller_handlers.k55_describe_quorum import describe_quorum
from barnabas.broker.controller_handlers.k60_describe_cluster import describe_cluster
from barnabas.broker.dispatch import load_controller_handlers
from barnabas.controller import decider
from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)


def test_every_request_that_is_decided_is_answered_in_the_versions_of_kafka() -> None:
    table = load_controller_handlers()

    assert set(decider.decided_keys()) <= set(table)
    for key in decider.decided_keys():
        entry = table[key]
        assert range(entry.version_min, entry.version_max + 1) == APIS[key].stable


def test_only_what_kafka_answers_there_is_answered() -> None:
    of_brokers_only = {
        ApiKey(key).name
        for key in load_controller_handlers()
        if "controller" not in APIS[key].listeners
    }

    assert of_brokers_only == set()


def test_loading_twice_changes_nothing() -> None:
    before = dict(load_controller_handlers())

    assert load_controller_handlers() == before


def test_a_request_is_carried_out_and_answered_when_it_is_committed() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        world.part.activate()
        epoch = world.register(1)
        world.submit(world.beat(1, epoch))
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        handler = load_controller_handlers()[ApiKey.CREATE_TOPICS].handler
        answer = handler(world.part, world.context(7), CreateTopicsRequest(topics=[topic]))
        (response,) = resolved(answer)
        assert response.topics[0].error_code == 0
        assert world.part.active is not None
        assert "t" in world.part.active.controller.image.topics

    asyncio.run(scenario())


def test_api_versions_tells_of_this_table_and_of_the_features() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        table = load_controller_handlers()
        request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        before = api_versions(world.part, world.context(4), request)
        assert [api.api_key for api in before.api_keys] == sorted(table)
        assert before.finalized_features == []
        world.part.activate()
        world.register(1)
        after = api_versions(world.part, world.context(4), request)
        assert "metadata.version" in {one.name for one in after.finalized_features}
        bad = api_versions(world.part, world.context(4), ApiVersionsRequest())
        assert bad.error_code == ErrorCode.INVALID_REQUEST

    asyncio.run(scenario())


def describe(world: ControllerWorld, topic: str = "__cluster_metadata", index: int = 0) -> Any:
    asked = RequestTopicData(
        topic_name=topic, partitions=[RequestPartitionData(partition_index=index)]
    )
    answer = describe_quorum(world.part, world.context(2), DescribeQuorumRequest(topics=[asked]))
    return answer.topics[0].partitions[0]


def test_the_quorum_is_this_node_and_those_who_read() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        assert describe(world).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        world.part.activate()
        world.register(1)
        feed = world.part.active.feed  # type: ignore[union-attr]
        assert feed is not None
        end = feed.log.end_offset
        feed.read(7, 0, -1, max_bytes=1)
        feed.read(8, end, 1, max_bytes=1)
        feed.read(-1, end, 1, max_bytes=1)
        found = describe(world)
        assert (found.leader_id, found.leader_epoch, found.high_watermark) == (
            CONTROLLER_ID,
            1,
            end,
        )
        assert [one.replica_id for one in found.current_voters] == [CONTROLLER_ID]
        now = world.clock.now_ms()
        assert [
            (one.replica_id, one.log_end_offset, one.last_caught_up_timestamp)
            for one in found.observers
        ] == [(7, 0, -1), (8, end, now)]
        for topic, index in (("t", 0), ("__cluster_metadata", 1)):
            code = describe(world, topic, index).error_code
            assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(scenario())


@pytest.mark.parametrize(("version", "endpoint_type"), [(0, 1), (1, 1), (2, 3)])
def test_who_asks_a_controller_about_brokers_is_sent_to_a_broker(
    version: int, endpoint_type: int
) -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        request = DescribeClusterRequest(endpoint_type=endpoint_type)
        answer = describe_cluster(world.part, world.context(version), request)
        assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE

    asyncio.run(scenario())


def test_a_controller_tells_where_it_is_and_whether_it_is_the_one() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        request = DescribeClusterRequest(endpoint_type=2)
        told = []
        for _ in range(2):
            answer = describe_cluster(world.part, world.context(2), request)
            (node,) = answer.brokers
            assert (answer.cluster_id, node.broker_id, node.port) == (
                "cluster",
                CONTROLLER_ID,
                9093,
            )
            told.append(answer.controller_id)
            if world.part.active is None:
                world.part.activate()
        assert told == [-1, CONTROLLER_ID]

    asyncio.run(scenario())
