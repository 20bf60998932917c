"""Leaders and followers together: watermarks, in-sync sets, truncation, deleted records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from replica_set import Replica, ReplicaSet
from small_broker import LISTENER
from storage_logs import batch

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k00_produce import produce
from barnabas.broker.handlers.k02_list_offsets import list_offsets
from barnabas.broker.handlers.k21_delete_records import delete_records
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[ReplicaSet]:
    made = ReplicaSet(tmp_path)
    yield made
    made.close()


def call(broker: Replica, handler: Any, key: ApiKey, version: int, request: Any) -> list[Any]:
    """A list that the answer is put into when it comes."""
    ctx = RequestContext(
        api_key=key,
        api_version=version,
        correlation_id=1,
        client_id="c",
        listener=LISTENER,
        peer_host="127.0.0.1",
    )
    answers: list[Any] = []
    answer = handler(broker.broker, ctx, request)
    if isinstance(answer, Later):
        answer.when_done(answers.append)
    else:
        answers.append(answer)
    return answers


def send(broker: Replica, value: bytes = b"v") -> list[Any]:
    """With acks=all; the answers, none until it is known what becomes of it."""
    data = PartitionProduceData(index=0, records=batch(value))
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )
    answers = call(broker, produce, ApiKey.PRODUCE, 11, request)
    broker.replicas.write_dirty()
    return answers


def code(answers: list[Any]) -> str:
    (answer,) = answers
    return ErrorCode(answer.responses[0].partition_responses[0].error_code).name


def latest(broker: Replica, version: int = 10) -> tuple[int, str]:
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(timestamp=-1)])],
    )
    (answer,) = call(broker, list_offsets, ApiKey.LIST_OFFSETS, version, request)
    found = answer.topics[0].partitions[0]
    return found.offset, ErrorCode(found.error_code).name


def test_a_record_is_acknowledged_when_every_in_sync_replica_asks_for_what_follows(
    brokers: ReplicaSet,
) -> None:
    answers = send(brokers[1])
    brokers.fetch(2)
    brokers.fetch(2)
    brokers.fetch(3)
    assert answers == []

    brokers.fetch(3)

    assert code(answers) == "NONE"
    assert brokers[3].log.high_watermark == 1
    assert brokers[2].log.high_watermark == 0  # it hears with its next fetch
    brokers.fetch(2)
    assert brokers[2].log.high_watermark == 1


def test_who_lags_is_put_out_and_is_taken_back_when_it_has_caught_up(brokers: ReplicaSet) -> None:
    answers = send(brokers[1])
    brokers.fetch(2)
    brokers.fetch(2)
    brokers.pass_time(31)
    brokers.fetch(2)
    brokers.check_lag(1)
    assert answers == []

    assert brokers.answer_isr(1)
    brokers.tell_all()

    assert brokers.isr == (1, 2)
    assert code(answers) == "NONE"
    brokers.fetch(3)
    brokers.fetch(3)
    assert brokers.answer_isr(1)
    brokers.tell_all()
    assert set(brokers.isr) == {1, 2, 3}


def test_a_leader_whose_disk_is_full_wants_another_to_lead_as_long_as_one_is_in_sync(
    brokers: ReplicaSet,
) -> None:
    leader = brokers.brokers[1]
    leader.disk.room = 0
    for _ in "12":
        assert code(send(leader)) == "KAFKA_STORAGE_ERROR"
    assert leader.wanted == [leader.p], "asked once"
    assert leader.p.followers.pending_isr == (2, 3)

    brokers.change(isr=[1])
    brokers.tell_all()
    leader.wanted.clear()
    assert code(send(leader)) == "KAFKA_STORAGE_ERROR"
    assert leader.wanted == [], "nobody could take its place"


def test_too_few_replicas_after_the_append_are_told(tmp_path: Path) -> None:
    brokers = ReplicaSet(tmp_path, min_insync_replicas="2")
    try:
        answers = send(brokers[1])
        for node_id in (2, 2, 3):
            brokers.fetch(node_id)
        brokers.change(isr=[1])
        brokers.tell_all()
        brokers.fetch(3)

        assert answers == []  # the watermark stands still
        brokers[1].replicas.expire(brokers[1].clock.mono + 1)
        assert code(answers) == "REQUEST_TIMED_OUT"
        assert code(send(brokers[1])) == "NOT_ENOUGH_REPLICAS"
    finally:
        brokers.close()


def test_what_nobody_else_had_is_cut_off_by_the_next_leaders_records(brokers: ReplicaSet) -> None:
    brokers.append(1, b"a")
    brokers.settle()
    lost = send(brokers[1], b"lost")
    brokers.change(leader=2)
    brokers.tell(2)
    brokers.append(2, b"b", b"c")

    brokers.settle()

    assert code(lost) == "NOT_LEADER_OR_FOLLOWER"
    for node_id in (1, 2, 3):
        assert brokers[node_id].values() == [b"a", b"b", b"c"]
        assert brokers[node_id].log.high_watermark == 3


def test_logs_that_parted_in_several_epochs_are_made_equal(brokers: ReplicaSet) -> None:
    """Each of two deposed leaders has records of its own, in epochs that the other has not."""
    brokers.append(1, b"a")
    brokers.settle()
    for leader, value in ((2, b"only 2"), (1, b"only 1"), (2, b"only 2 again"), (3, b"kept")):
        brokers.change(leader=leader)
        while brokers.tell(leader):
            pass
        brokers.append(leader, value)

    brokers.settle()

    for node_id in (1, 2, 3):
        assert brokers[node_id].values() == [b"a", b"kept"]


def test_a_leader_whose_epoch_wrote_nothing_follows_the_next_one(brokers: ReplicaSet) -> None:
    brokers.append(1, b"a")
    brokers.settle()
    brokers.change(leader=2)
    brokers.tell(2)  # it began an epoch of which nobody has a record
    brokers.change(leader=3)
    brokers.settle()
    brokers.append(3, b"b")

    brokers.settle()

    assert brokers[2].values() == [b"a", b"b"]
    assert brokers[2].log.epochs.entries == brokers[3].log.epochs.entries


def test_a_follower_behind_deleted_records_begins_where_the_leader_does(
    brokers: ReplicaSet,
) -> None:
    brokers.change(isr=[1])
    brokers.tell_all()
    brokers.pass_time(31)  # the watermark does not wait any more for who may soon come back
    for number in range(5):
        brokers.append(1, b"%d" % number)
    brokers[1].log.delete_records_before(3)
    brokers.append(1, b"5")

    brokers.settle()

    for node_id in (2, 3):
        assert brokers[node_id].values() == [b"3", b"4", b"5"]
        assert brokers[node_id].log.start_offset == 3


def test_an_unclean_leader_wins_over_those_who_have_more(brokers: ReplicaSet) -> None:
    brokers.append(1, b"a")
    brokers.settle()
    brokers.change(isr=[1, 2])
    brokers.tell_all()
    brokers.pass_time(31)
    for value in (b"b", b"c"):
        brokers.append(1, value)
        brokers.fetch(2)
        brokers.fetch(2)
    assert brokers[1].log.high_watermark == 3

    brokers.change(leader=3, isr=[3])
    brokers.tell_all()
    brokers.append(3, b"d")
    brokers.settle()

    for node_id in (1, 2, 3):
        assert brokers[node_id].values() == [b"a", b"d"]


def test_followers_know_producers_and_aborted_transactions_as_the_leader_does(
    brokers: ReplicaSet,
) -> None:
    leader = brokers[1]
    data = batch(b"x", producer_id=9, epoch=0, sequence=0, transactional=True)
    leader.replicas.append(leader.p, data, acks=1, now_ms=leader.clock.now_ms())
    marker = encode_end_txn_marker(
        EndTxnMarker(ControlType.ABORT, 0),
        producer_id=9,
        producer_epoch=0,
        timestamp=leader.clock.now_ms(),
        base_offset=0,
        leader_epoch=0,
    )
    leader.replicas.append_internal(leader.p, memoryview(marker), now_ms=leader.clock.now_ms())
    leader.replicas.write_dirty()

    brokers.settle()

    for node_id in (2, 3):
        follower = brokers[node_id]
        assert follower.log.aborted_transactions(0, 2) == leader.log.aborted_transactions(0, 2)
        assert follower.log.aborted_transactions(0, 2)
        assert follower.log.producers.entries[9].producer_epoch == 0
    brokers.change(leader=2)
    brokers.tell_all()
    assert brokers[2].log.last_stable_offset == 2


def test_records_are_deleted_when_every_replica_that_is_alive_has_done_so(
    brokers: ReplicaSet,
) -> None:
    for number in range(4):
        brokers.append(1, b"%d" % number)
    brokers.settle()
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(offset=3)])],
        timeout_ms=1000,
    )

    answers = call(brokers[1], delete_records, ApiKey.DELETE_RECORDS, 2, request)
    for node_id in (2, 2, 3):
        brokers.fetch(node_id)
    assert answers == []
    brokers.fetch(3)

    (answer,) = answers
    (result,) = answer.topics[0].partitions
    assert (result.error_code, result.low_watermark) == (0, 3)
    assert brokers[2].log.start_offset == brokers[3].log.start_offset == 3


def test_records_that_a_replica_keeps_too_long_are_told_as_a_timeout(brokers: ReplicaSet) -> None:
    brokers.append(1, b"a")
    brokers.settle()
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(offset=-1)])],
        timeout_ms=1000,
    )

    answers = call(brokers[1], delete_records, ApiKey.DELETE_RECORDS, 2, request)
    brokers[1].replicas.expire(brokers[1].clock.mono + 1)

    (answer,) = answers
    (result,) = answer.topics[0].partitions
    assert ErrorCode(result.error_code) is ErrorCode.REQUEST_TIMED_OUT
    assert result.low_watermark == 0


def test_a_new_leader_does_not_tell_an_end_before_it_knows_what_was_acknowledged(
    brokers: ReplicaSet,
) -> None:
    answers = send(brokers[1])
    for node_id in (2, 2, 3, 3):
        brokers.fetch(node_id)
    assert code(answers) == "NONE"
    brokers.change(leader=2)
    brokers.tell_all()
    assert brokers[2].log.high_watermark == 0

    assert latest(brokers[2]) == (-1, "OFFSET_NOT_AVAILABLE")
    assert latest(brokers[2], version=4) == (-1, "LEADER_NOT_AVAILABLE")
    brokers.settle()
    assert latest(brokers[2]) == (1, "NONE")


def test_a_throttled_follower_that_is_not_in_sync_gets_no_more_than_its_rate(
    brokers: ReplicaSet,
) -> None:
    leader = brokers[1]
    brokers.change(isr=[1, 2])
    brokers.tell_all()
    for number in range(50):
        brokers.append(1, b"%d" % number)
    leader.p.is_throttled_leader = True
    leader.replicas.leader_throttle.set_rate(1000, leader.clock.mono)

    for _ in range(5):
        brokers.fetch(2)
        brokers.fetch(3)

    assert len(brokers[2].values()) == 50  # in sync: never slowed down
    few = len(brokers[3].values())
    brokers.fetch(3)
    assert len(brokers[3].values()) == few
    brokers.pass_time(1000)
    for _ in range(3):
        brokers.fetch(3)
    assert len(brokers[3].values()) == 50
