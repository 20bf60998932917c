from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

PREFERRED, UNCLEAN = 0, 1


def elect(kind: int, *indexes: int, topic: str = "t") -> ElectLeadersRequest:
    return ElectLeadersRequest(
        election_type=kind,
        topic_partitions=[TopicPartitions(topic=topic, partitions=list(indexes))],
    )


def answered(*results: tuple[int, ErrorCode, str | None]) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic="t",
                partition_result=[
                    PartitionResult(partition_id=i, error_code=code, error_message=text)
                    for i, code, text in results
                ],
            )
        ]
    )


def led(world: Any, index: int, leader: int, isr: list[int] | None = None) -> None:
    world.replay(
        mr.PartitionChangeRecord(partition_id=index, topic_id=world.t, leader=leader, isr=isr)
    )


@pytest.fixture
def cluster(trio: Any) -> Any:
    trio.t = trio.add_topic("t", [1, 2], [1, 2], [1, 3])
    return trio


def test_the_preferred_replica_takes_over(cluster: Any) -> None:
    led(cluster, 1, 2)

    assert cluster.decide(elect(PREFERRED, 1)) == Decision(
        records=(mr.PartitionChangeRecord(partition_id=1, topic_id=cluster.t, leader=1),),
        response=answered((1, ErrorCode.NONE, None)),
    )


def test_asked_for_all_only_those_that_need_it_are_told(cluster: Any) -> None:
    led(cluster, 1, 2)
    led(cluster, 2, 3, isr=[3])

    decision = cluster.decide(ElectLeadersRequest(topic_partitions=None))

    unavailable = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert decision.response == answered(
        (1, ErrorCode.NONE, None), (2, unavailable, unavailable.text)
    )
    assert [record.partition_id for record in decision.records] == [1]


@pytest.mark.parametrize("kind", [PREFERRED, UNCLEAN])
def test_an_election_that_is_not_needed_is_told_where_asked_for(cluster: Any, kind: int) -> None:
    text = ErrorCode.ELECTION_NOT_NEEDED.text

    assert cluster.decide(elect(kind, 0)) == Decision(
        response=answered((0, ErrorCode.ELECTION_NOT_NEEDED, text))
    )


def test_a_partition_that_is_named_twice_is_elected_once(cluster: Any) -> None:
    led(cluster, 1, 2)

    decision = cluster.decide(elect(PREFERRED, 1, 1))

    assert len(decision.records) == 1
    codes = [r.error_code for r in decision.response.replica_election_results[0].partition_result]
    assert codes == [0, ErrorCode.ELECTION_NOT_NEEDED]


def test_an_unclean_election_by_hand_needs_no_setting(cluster: Any) -> None:
    led(cluster, 2, -1, isr=[3])
    cluster.replay(
        mr.BrokerRegistrationChangeRecord(
            broker_id=3, broker_epoch=cluster.image.brokers[3].epoch, fenced=1
        )
    )

    assert cluster.decide(elect(UNCLEAN, 2)) == Decision(
        records=(
            mr.PartitionChangeRecord(
                partition_id=2, topic_id=cluster.t, leader=1, isr=[1], leader_recovery_state=1
            ),
        ),
        response=answered((2, ErrorCode.NONE, None)),
    )


def test_where_nobody_is_there_nobody_can_be_elected(cluster: Any) -> None:
    led(cluster, 0, -1)
    for broker_id in (1, 2):
        epoch = cluster.image.brokers[broker_id].epoch
        cluster.replay(
            mr.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=1)
        )

    nobody = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert cluster.decide(elect(UNCLEAN, 0)).response == answered((0, nobody, nobody.text))


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (elect(PREFERRED, 0, topic="x"), "No such topic as x"),
        (elect(PREFERRED, 9), "No such partition as t-9"),
        (elect(UNCLEAN, -1), "No such partition as t--1"),
    ],
)
def test_what_is_not_there_is_unknown(cluster: Any, request_: Any, text: str) -> None:
    (topic,) = cluster.decide(request_).response.replica_election_results
    (result,) = topic.partition_result

    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert result.error_message == text


def test_an_election_of_an_unknown_kind_is_refused(cluster: Any) -> None:
    response = cluster.decide(elect(7, 0)).response

    assert response.error_code == ErrorCode.INVALID_REQUEST
    (result,) = response.replica_election_results[0].partition_result
    assert (result.error_code, result.error_message) == (42, "Unknown election type 7")


def test_nothing_could_be_done_is_said_of_everything() -> None:
    full = StorageFailed("full")

    refused = decider.refuse(elect(PREFERRED, 3), full)
    assert refused == ElectLeadersResponse(
        error_code=56,
        replica_election_results=answered((3, ErrorCode(56), "full")).replica_election_results,
    )
    everything = ElectLeadersRequest(topic_partitions=None)
    assert decider.refuse(everything, full) == ElectLeadersResponse(error_code=56)
