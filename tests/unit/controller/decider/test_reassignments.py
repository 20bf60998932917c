from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, RequestTimedOut
from barnabas.controller import decider
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def move(replicas: list[int] | None, *, topic: str = "t", index: int = 0) -> Any:
    return AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[ReassignablePartition(partition_index=index, replicas=replicas)],
            )
        ]
    )


def outcome(world: Any, request: Any) -> tuple[int, str | None]:
    """Do it; the code and the text of the only partition."""
    (topic,) = world.do(request).responses
    (partition,) = topic.partitions
    return partition.error_code, partition.error_message


def shape(world: Any) -> tuple[Any, ...]:
    p = world.image.partition("t", 0)
    return p.replicas, p.adding, p.removing, p.isr, p.leader


def sync(world: Any, *isr: int) -> None:
    """The ISR, as a record of its own: no reassignment is completed by it."""
    world.replay(mr.PartitionChangeRecord(partition_id=0, topic_id=world.t, isr=list(isr)))


@pytest.fixture
def cluster(make_world: Any) -> Any:
    world = make_world()
    for broker_id in range(1, 7):
        world.add_broker(broker_id)
    world.t = world.add_topic("t", [1, 2])
    return world


def test_new_replicas_are_added_before_old_ones_are_removed(cluster: Any) -> None:
    assert outcome(cluster, move([4, 3])) == (0, None)

    assert shape(cluster) == ((4, 3, 1, 2), (3, 4), (1, 2), (1, 2), 1)
    assert cluster.image.partition("t", 0).leader_epoch == 0, "nothing is interrupted yet"


def test_what_only_changes_the_order_is_done_at_once_and_the_leader_stays(cluster: Any) -> None:
    assert outcome(cluster, move([2, 1])) == (0, None)

    assert shape(cluster) == ((2, 1), (), (), (1, 2), 1)


def test_removing_a_replica_is_done_at_once_when_the_others_are_in_sync(cluster: Any) -> None:
    assert outcome(cluster, move([2])) == (0, None)

    assert shape(cluster) == ((2,), (), (), (2,), 2)


def test_removing_waits_for_those_that_stay(cluster: Any) -> None:
    sync(cluster, 1)
    assert outcome(cluster, move([2])) == (0, None)

    assert shape(cluster) == ((2, 1), (), (1,), (1,), 1)


def test_what_is_already_so_changes_nothing(cluster: Any) -> None:
    decision = cluster.decide(move([1, 2]))

    assert decision.records == ()
    assert decision.response.responses[0].partitions[0].error_code == 0


def test_a_new_target_replaces_the_old_one_and_what_was_only_being_added_goes(cluster: Any) -> None:
    cluster.do(move([3, 4]))
    assert outcome(cluster, move([4, 5])) == (0, None)

    assert shape(cluster) == ((4, 5, 1, 2), (4, 5), (1, 2), (1, 2), 1)
    assert cluster.image.partition("t", 0).leader_epoch == 1, "replica 3 is fenced"
    assert outcome(cluster, move(None)) == (0, None)
    assert shape(cluster) == ((1, 2), (), (), (1, 2), 1), "the original ones"


def test_the_only_replicas_with_the_data_go_last(cluster: Any) -> None:
    cluster.do(move([3, 4]))
    cluster.replay(mr.PartitionChangeRecord(partition_id=0, topic_id=cluster.t, isr=[3], leader=3))
    assert outcome(cluster, move([5])) == (0, None)

    assert shape(cluster) == ((5, 1, 2, 3, 4), (5,), (1, 2, 3, 4), (3,), 3)


def test_back_to_where_it_was_ends_it_at_once(cluster: Any) -> None:
    cluster.do(move([3, 4]))
    assert outcome(cluster, move([1, 2])) == (0, None)

    assert shape(cluster) == ((1, 2), (), (), (1, 2), 1)


def test_a_cancelled_reassignment_leaves_what_was_there_before(cluster: Any) -> None:
    cluster.do(move([2, 3]))
    cluster.replay(
        mr.PartitionChangeRecord(partition_id=0, topic_id=cluster.t, isr=[1, 2, 3], leader=3)
    )
    assert outcome(cluster, move(None)) == (0, None)

    assert shape(cluster) == ((2, 1), (), (), (1, 2), 2)


def test_what_is_not_on_its_way_cannot_be_cancelled(cluster: Any) -> None:
    code, message = outcome(cluster, move(None))

    assert code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert message == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS.text


@pytest.mark.parametrize("allowed", [False, True])
def test_a_cancel_that_needs_an_unclean_leader_needs_a_topic_that_allows_it(
    cluster: Any, allowed: bool
) -> None:
    cluster.do(move([3, 4]))
    cluster.replay(mr.PartitionChangeRecord(partition_id=0, topic_id=cluster.t, isr=[3], leader=3))
    if allowed:
        cluster.replay(
            mr.ConfigRecord(
                resource_type=2,
                resource_name="t",
                name="unclean.leader.election.enable",
                value="true",
            )
        )

    code, message = outcome(cluster, move(None))

    if allowed:
        assert code == 0
        assert shape(cluster) == ((1, 2), (), (), (1,), 1)
    else:
        assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert message == (
            "Unable to revert partition assignment for t:0 because it would require an unclean "
            "leader election."
        )


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            move([], index=0),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            move([1, 9]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            move([1, 1]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            move([1], topic="x"),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "Unable to find a topic named x.",
        ),
        (
            move([1], index=7),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "Unable to find partition t:7.",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_says_why(
    cluster: Any, request_: Any, code: int, message: str
) -> None:
    before = shape(cluster)

    assert outcome(cluster, request_) == (code, message)
    assert shape(cluster) == before


def test_a_partition_that_is_named_twice_moves_once(cluster: Any) -> None:
    request = move([3])
    request.topics[0].partitions.append(ReassignablePartition(partition_index=0, replicas=[4]))

    first, second = cluster.do(request).responses[0].partitions

    assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_REQUEST)
    assert shape(cluster) == ((3, 1, 2), (3,), (1, 2), (1, 2), 1)


def test_nothing_could_be_done_is_said_of_everything() -> None:
    code, text = ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT.text

    assert decider.refuse(move([1]), RequestTimedOut()) == AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=text,
        responses=[
            ReassignableTopicResponse(
                name="t",
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=0, error_code=code, error_message=text
                    )
                ],
            )
        ],
    )
    assert decider.refuse(
        ListPartitionReassignmentsRequest(), RequestTimedOut()
    ) == ListPartitionReassignmentsResponse(error_code=code, error_message=text)


# List


@pytest.mark.parametrize(
    ("topics", "found"),
    [
        (None, True),
        ([ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 5])], True),
        ([ListPartitionReassignmentsTopics(name="t", partition_indexes=[])], False),
        ([ListPartitionReassignmentsTopics(name="x", partition_indexes=[0])], False),
        ([], False),
    ],
)
def test_only_what_is_on_its_way_is_listed(cluster: Any, topics: Any, found: bool) -> None:
    cluster.add_topic("quiet", [1, 2])
    cluster.do(move([3, 4]))

    decision = cluster.decide(ListPartitionReassignmentsRequest(topics=topics))

    assert decision.records == ()
    ongoing = OngoingTopicReassignment(
        name="t",
        partitions=[
            OngoingPartitionReassignment(
                partition_index=0,
                replicas=[3, 4, 1, 2],
                adding_replicas=[3, 4],
                removing_replicas=[1, 2],
            )
        ],
    )
    assert decision.response == ListPartitionReassignmentsResponse(
        error_message=None, topics=[ongoing] if found else []
    )
