from __future__ import annotations

from typing import Any

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.errors import ClientError
from barnabas.client.offset_details import EARLIEST_LOCAL, LATEST_TIERED, special_offsets
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import list_offsets

LEADERS = {("t", 0): 1, ("t", 1): 2, ("u", 0): 2}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    def respond(broker: int, request: Any) -> Any:
        return list_offsets.ListOffsetsResponse(
            topics=[
                list_offsets.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        list_offsets.ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            error_code=6 if topic.name == "u" else 0,
                            offset=-each.timestamp,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    installed = install(monkeypatch)
    installed.respond[list_offsets.ListOffsetsRequest] = respond
    return installed


def test_each_leader_is_asked_for_its_partitions(cluster: FakeCluster) -> None:
    found = special_offsets(PLAIN, LEADERS, EARLIEST_LOCAL, timeout_s=1)

    refused = found.pop(("u", 0))
    assert found == {("t", 0): 4, ("t", 1): 4}
    assert getattr(refused, "name", None) == "NOT_LEADER_OR_FOLLOWER"
    assert [broker for broker, _ in cluster.sent(list_offsets.ListOffsetsRequest)] == [1, 2]
    assert cluster.open_connections == 0


def test_a_broker_that_is_too_old_says_so(cluster: FakeCluster) -> None:
    cluster.highest[ApiKey.LIST_OFFSETS] = 8
    assert special_offsets(PLAIN, {("t", 0): 1}, EARLIEST_LOCAL, timeout_s=1) == {("t", 0): 4}
    found = special_offsets(PLAIN, {("t", 0): 1}, LATEST_TIERED, timeout_s=1)["t", 0]
    assert isinstance(found, ClientError)
    assert str(found) == "broker 1 is too old to be asked for this offset."


def test_a_leader_that_is_gone_is_in_the_way_of_its_partitions_only(cluster: FakeCluster) -> None:
    found = special_offsets(PLAIN, {("t", 0): 1, ("t", 1): 9}, LATEST_TIERED, timeout_s=1)
    assert found["t", 0] == 5
    assert "there is no broker 9" in str(found["t", 1])
