from __future__ import annotations

from dataclasses import replace

import pytest
from fake_brokers import PLAIN, FakeCluster, install
from fake_groups import FakeGroups

from barnabas.client.brokers import Brokers
from barnabas.client.errors import RefusedError
from barnabas.client.group_admin import Group, GroupListing, Member
from barnabas.client.group_details import (
    add_group_details,
    delete_offsets,
    describe_exactly,
    stable_offsets,
    with_exact_states,
)
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import consumer_group_describe as told
from barnabas.protocol.messages import list_groups as listed
from barnabas.protocol.messages import offset_delete as forget
from barnabas.protocol.messages import offset_fetch as committed

SECURE = {**PLAIN, "security.protocol": "SASL_SSL"}
CLASSIC = Group(
    group_id="classic", state="Stable", type="Classic", assignor="range", coordinator=(1, "h", 1)
)
NEWER = Group(
    group_id="newer", state="Unknown", type="Consumer", assignor="", coordinator=(2, "h", 2)
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


def describe(broker: int, request: told.ConsumerGroupDescribeRequest) -> object:
    def places(*numbers: int) -> told.Assignment:
        topic = told.TopicPartitions(topic_name="t", partitions=list(numbers))
        return told.Assignment(topic_partitions=[topic])

    members = [
        told.Member(
            member_id=f"m{kind}",
            client_id="c",
            client_host="/h",
            instance_id="i" if kind == 1 else None,
            member_epoch=7,
            member_type=kind,
            assignment=places(1, 0),
            target_assignment=places(2),
        )
        for kind in (-1, 0, 1)
    ]
    return told.ConsumerGroupDescribeResponse(
        groups=[
            told.DescribedGroup(
                group_id=group_id,
                group_state="Reconciling",
                group_epoch=9,
                assignment_epoch=8,
                assignor_name="uniform",
                members=members,
                error_code=69 if group_id == "gone" else 0,
            )
            for group_id in request.group_ids
        ]
    )


def test_groups_of_the_newer_protocol_get_their_state_and_epochs(cluster: FakeCluster) -> None:
    cluster.respond[told.ConsumerGroupDescribeRequest] = describe

    classic, newer = add_group_details([CLASSIC, NEWER], PLAIN, timeout_s=1)

    assert classic is CLASSIC
    assert (newer.state, newer.assignor) == ("Reconciling", "uniform")
    assert (newer.epoch, newer.target_epoch) == (9, 8)
    assert newer.members[2] == Member(
        member_id="m1",
        client_id="c",
        host="/h",
        instance_id="i",
        assignment=[("t", 0), ("t", 1)],
        target=[("t", 2)],
        epoch=7,
        upgraded=True,
    )
    assert [each.upgraded for each in newer.members] == [None, False, True]
    assert [broker for broker, _ in cluster.requests] == [2]
    assert cluster.open_connections == 0


def test_groups_come_by_name_with_their_details(cluster: FakeCluster) -> None:
    cluster.respond[told.ConsumerGroupDescribeRequest] = describe
    admin = FakeGroups(properties=PLAIN)
    admin.add(NEWER)
    admin.add(CLASSIC)

    found = describe_exactly(admin, ["newer", "classic", "none"])  # type: ignore[arg-type]

    assert [(each.group_id, each.state) for each in found] == [
        ("classic", "Stable"),
        ("newer", "Reconciling"),
        ("none", "Dead"),
    ]
    admin.refused["none"] = RefusedError("GROUP_AUTHORIZATION_FAILED", "Not allowed.")
    with pytest.raises(RefusedError, match="Not allowed"):
        describe_exactly(admin, ["newer", "none"])  # type: ignore[arg-type]


def test_a_group_that_is_gone_stays_as_it_was(cluster: FakeCluster) -> None:
    cluster.respond[told.ConsumerGroupDescribeRequest] = describe
    gone = replace(NEWER, group_id="gone")

    assert add_group_details([gone], PLAIN, timeout_s=1) == [gone]


def test_nothing_is_added_where_nobody_can_be_asked(cluster: FakeCluster) -> None:
    cluster.highest[ApiKey.CONSUMER_GROUP_DESCRIBE] = -1

    assert add_group_details([NEWER], PLAIN, timeout_s=1) == [NEWER]
    assert add_group_details([NEWER], SECURE, timeout_s=1) == [NEWER]
    assert cluster.requests == []


def test_a_state_that_librdkafka_does_not_know_is_asked_for(cluster: FakeCluster) -> None:
    cluster.respond[listed.ListGroupsRequest] = lambda broker, request: listed.ListGroupsResponse(
        groups=[listed.ListedGroup(group_id=f"g{broker}", group_state="Assigning")]
    )
    known = GroupListing(group_id="g1", state="Stable", type="Classic")
    unknown = GroupListing(group_id="g2", state="Unknown", type="Consumer")
    lost = GroupListing(group_id="g3", state="Unknown", type="Consumer")

    assert with_exact_states([known, unknown, lost], PLAIN, timeout_s=1) == [
        known,
        replace(unknown, state="Assigning"),
        lost,
    ]
    assert with_exact_states([unknown], SECURE, timeout_s=1) == [unknown]


def test_states_that_are_known_are_not_asked_for(cluster: FakeCluster) -> None:
    known = GroupListing(group_id="g", state="Stable", type="Classic")

    assert with_exact_states([known], PLAIN, timeout_s=1) == [known]
    assert cluster.requests == []


def test_offsets_are_forgotten_partition_by_partition(cluster: FakeCluster) -> None:
    cluster.respond[forget.OffsetDeleteRequest] = lambda broker, request: (
        forget.OffsetDeleteResponse(
            topics=[
                forget.OffsetDeleteResponseTopic(
                    name=topic.name,
                    partitions=[
                        forget.OffsetDeleteResponsePartition(
                            partition_index=each.partition_index,
                            error_code=86 if each.partition_index else 0,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
    )

    found = delete_offsets(PLAIN, "g", [("t", 1), ("t", 0)], timeout_s=1)

    assert found["t", 0] is None
    assert str(found["t", 1]) == "The group still reads this topic."
    ((broker, request),) = cluster.sent(forget.OffsetDeleteRequest)
    assert (broker, request.group_id) == (2, "g")
    assert cluster.open_connections == 0


def test_a_group_that_is_refused_as_a_whole(cluster: FakeCluster) -> None:
    cluster.respond[forget.OffsetDeleteRequest] = lambda broker, request: (
        forget.OffsetDeleteResponse(error_code=69)
    )
    with pytest.raises(RefusedError, match="There is no such group"):
        delete_offsets(PLAIN, "g", [("t", 0)], timeout_s=1)


@pytest.mark.parametrize("version", [7, 8])
def test_all_that_a_group_committed_is_told_when_no_transaction_is_open(
    cluster: FakeCluster, version: int
) -> None:
    open_transactions = [88]

    def respond(broker: int, request: committed.OffsetFetchRequest) -> object:
        assert request.require_stable
        fields = {
            "partition_index": 3,
            "committed_offset": 7,
            "metadata": "m",
            "error_code": open_transactions.pop() if open_transactions else 0,
        }
        if not request.groups:
            old = committed.OffsetFetchResponsePartition(**fields)
            topic = committed.OffsetFetchResponseTopic(name="t", partitions=[old])
            return committed.OffsetFetchResponse(topics=[topic])
        one = committed.OffsetFetchResponsePartitions(**fields)
        several = committed.OffsetFetchResponseTopics(name="t", partitions=[one])
        group = committed.OffsetFetchResponseGroup(group_id="g", topics=[several])
        return committed.OffsetFetchResponse(groups=[group])

    cluster.highest[ApiKey.OFFSET_FETCH] = version
    cluster.respond[committed.OffsetFetchRequest] = respond
    with Brokers.connect(PLAIN, timeout_s=5) as brokers:
        assert stable_offsets(brokers, "g") == {("t", 3): (7, "m")}
    assert [broker for broker, _ in cluster.sent(committed.OffsetFetchRequest)] == [2, 2]
