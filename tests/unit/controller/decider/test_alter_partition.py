from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)


@pytest.fixture
def cluster(trio: Any) -> Any:
    trio.add_topic("t", [1, 2, 3], isr=[1, 2])
    return trio


T = b"t".ljust(16, b"\0")


def request(cluster: Any, isr: list[int], **fields: Any) -> AlterPartitionRequest:
    """From broker 1, the leader, about partition 0."""
    states = [
        BrokerState(
            broker_id=i,
            broker_epoch=cluster.image.brokers[i].epoch if i in cluster.image.brokers else 0,
        )
        for i in isr
    ]
    values: dict[str, Any] = {"new_isr_with_epochs": states}
    data = RequestPartitionData(**(values | fields))
    return AlterPartitionRequest(
        broker_id=1,
        broker_epoch=cluster.image.brokers[1].epoch,
        topics=[RequestTopicData(topic_id=T, partitions=[data])],
    )


def answered(**fields: Any) -> AlterPartitionResponse:
    return AlterPartitionResponse(
        topics=[ResponseTopicData(topic_id=T, partitions=[ResponsePartitionData(**fields)])]
    )


@pytest.mark.parametrize("isr", [[1], [1, 2, 3]])
def test_the_leader_says_who_is_in_sync(cluster: Any, isr: list[int]) -> None:
    assert cluster.decide(request(cluster, isr)) == Decision(
        records=(mr.PartitionChangeRecord(partition_id=0, topic_id=T, isr=isr),),
        response=answered(leader_id=1, isr=isr, partition_epoch=1),
    )


def test_the_same_isr_changes_nothing(cluster: Any) -> None:
    assert cluster.decide(request(cluster, [2, 1])) == Decision(
        response=answered(leader_id=1, isr=[1, 2], partition_epoch=0)
    )


def test_older_brokers_send_no_epochs(cluster: Any) -> None:
    decision = cluster.decide(request(cluster, [], new_isr=[1, 3]))

    assert decision.records == (mr.PartitionChangeRecord(partition_id=0, topic_id=T, isr=[1, 3]),)


def test_the_partition_is_what_the_answer_said(cluster: Any) -> None:
    response = cluster.do(request(cluster, [1]))

    told = response.topics[0].partitions[0]
    found = cluster.image.topics["t"].partitions[0]
    assert (told.leader_id, told.leader_epoch, told.isr, told.partition_epoch) == (
        found.leader,
        found.leader_epoch,
        list(found.isr),
        found.partition_epoch,
    )


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ([1], {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([1], {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ([1], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ([1], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([1, 9], {}, ErrorCode.INVALID_REQUEST),
        ([], {}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ([1], {"partition_index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1], {"partition_index": -1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_an_outdated_or_impossible_change_is_refused(
    cluster: Any, isr: list[int], fields: dict[str, Any], code: ErrorCode
) -> None:
    index = fields.get("partition_index", 0)

    assert cluster.decide(request(cluster, isr, **fields)) == Decision(
        response=answered(partition_index=index, error_code=code)
    )


def test_only_the_leader_may_change_the_isr(cluster: Any) -> None:
    asked = request(cluster, [1])
    asked.broker_id, asked.broker_epoch = 2, cluster.image.brokers[2].epoch

    assert cluster.decide(asked) == Decision(
        response=answered(error_code=ErrorCode.INVALID_REQUEST)
    )


def test_a_leader_that_leaves_itself_out_is_replaced(cluster: Any) -> None:
    assert cluster.decide(request(cluster, [2])) == Decision(
        records=(mr.PartitionChangeRecord(partition_id=0, topic_id=T, isr=[2], leader=2),),
        response=answered(error_code=ErrorCode.NEW_LEADER_ELECTED),
    )


def test_a_leader_stays_if_those_it_names_cannot_lead(cluster: Any) -> None:
    places = [cluster.image.brokers[i].log_dirs[0] for i in (1, 2, 3)]
    places[1] = b"a directory gone"
    cluster.replay(mr.PartitionChangeRecord(partition_id=0, topic_id=T, directories=places))

    assert cluster.decide(request(cluster, [2], partition_epoch=1)) == Decision(
        response=answered(error_code=ErrorCode.INELIGIBLE_REPLICA)
    )


def test_a_fenced_or_restarted_broker_may_not_join(cluster: Any) -> None:
    asked = request(cluster, [1, 3])
    cluster.replay(mr.FenceBrokerRecord(id=3, epoch=cluster.image.brokers[3].epoch))
    assert cluster.decide(asked).response == answered(error_code=ErrorCode.INELIGIBLE_REPLICA)

    cluster.add_broker(3)
    assert cluster.decide(asked).response == answered(error_code=ErrorCode.INELIGIBLE_REPLICA)
    assert cluster.decide(request(cluster, [1, 3])).response.topics[0].partitions[0].isr == [1, 3]


def test_a_leader_that_has_recovered_says_so(cluster: Any) -> None:
    cluster.replay(
        mr.PartitionChangeRecord(partition_id=0, topic_id=T, isr=[1], leader_recovery_state=1)
    )

    too_early = request(cluster, [1, 2], partition_epoch=1, leader_recovery_state=1)
    assert cluster.decide(too_early).response == answered(error_code=ErrorCode.INVALID_REQUEST)

    assert cluster.decide(request(cluster, [1], partition_epoch=1)) == Decision(
        records=(mr.PartitionChangeRecord(partition_id=0, topic_id=T, leader_recovery_state=0),),
        response=answered(leader_id=1, isr=[1], partition_epoch=2),
    )


def test_a_topic_that_is_gone_is_unknown_by_id_or_by_name(cluster: Any) -> None:
    def ask(**topic: Any) -> int:
        asked = request(cluster, [1])
        asked.topics = [RequestTopicData(partitions=[RequestPartitionData()], **topic)]
        return int(cluster.decide(asked).response.topics[0].partitions[0].error_code)

    assert ask(topic_id=b"x" * 16) == ErrorCode.UNKNOWN_TOPIC_ID
    assert ask(topic_name="x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_old_registration_changes_nothing(cluster: Any) -> None:
    asked = request(cluster, [1])
    asked.broker_epoch = 77

    assert cluster.decide(asked) == Decision(
        response=AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    )


def test_who_joins_the_isr_is_no_longer_only_eligible(cluster: Any) -> None:
    cluster.replay(
        mr.PartitionChangeRecord(partition_id=0, topic_id=T, eligible_leader_replicas=[3])
    )

    decision = cluster.decide(request(cluster, [1, 2, 3], partition_epoch=1))

    assert decision.records == (
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=T, isr=[1, 2, 3], eligible_leader_replicas=[]
        ),
    )


def reassigned(cluster: Any, *, replicas: list[int], adding: list[int], removing: list[int]) -> Any:
    cluster.replay(
        mr.PartitionChangeRecord(
            partition_id=0,
            topic_id=T,
            replicas=replicas,
            adding_replicas=adding,
            removing_replicas=removing,
            isr=[1],
        )
    )
    return cluster


def test_an_isr_with_all_new_replicas_ends_a_reassignment(cluster: Any) -> None:
    reassigned(cluster, replicas=[1, 3, 2], adding=[3], removing=[2])

    decision = cluster.decide(request(cluster, [1, 2, 3], partition_epoch=1))
    cluster.replay(*decision.records)

    partition = cluster.image.topics_by_id[T].partitions[0]
    assert (partition.replicas, partition.isr) == ((1, 3), (1, 3))
    assert (partition.adding, partition.removing) == ((), ())
    assert partition.leader_epoch == 1, "who was removed is fenced by a new epoch"
    assert decision.response == answered(leader_id=1, leader_epoch=1, isr=[1, 3], partition_epoch=2)


def test_a_leader_that_is_moved_away_is_told_that_another_was_elected(cluster: Any) -> None:
    reassigned(cluster, replicas=[3, 2, 1], adding=[3], removing=[1])

    decision = cluster.decide(request(cluster, [1, 2, 3], partition_epoch=1))
    cluster.replay(*decision.records)

    partition = cluster.image.topics_by_id[T].partitions[0]
    assert (partition.replicas, partition.isr, partition.leader) == ((3, 2), (2, 3), 3)
    assert decision.response == answered(error_code=ErrorCode.NEW_LEADER_ELECTED)


def test_a_reassignment_goes_on_until_every_new_replica_is_in_sync(cluster: Any) -> None:
    reassigned(cluster, replicas=[2, 3, 1], adding=[3], removing=[1])

    cluster.do(request(cluster, [1, 2], partition_epoch=1))

    partition = cluster.image.topics_by_id[T].partitions[0]
    assert (partition.replicas, partition.isr) == ((2, 3, 1), (1, 2))
    assert (partition.adding, partition.removing) == ((3,), (1,))


def test_a_partition_that_is_named_twice_changes_once(cluster: Any) -> None:
    asked = request(cluster, [1])
    asked.topics[0].partitions.append(asked.topics[0].partitions[0])

    decision = cluster.decide(asked)

    assert len(decision.records) == 1
    codes = [p.error_code for p in decision.response.topics[0].partitions]
    assert codes == [0, ErrorCode.INVALID_REQUEST]


def test_nothing_could_be_done_is_said_by_its_code() -> None:
    assert decider.refuse(AlterPartitionRequest(), StorageFailed("full")) == AlterPartitionResponse(
        error_code=56
    )
