"""The runtime with a shard that adds up numbers: what it promises whatever the shard does."""

from __future__ import annotations

from typing import Any

import pytest
from adder import Add, Rig, number

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    IllegalGeneration,
    MessageTooLarge,
    NotEnoughReplicas,
    NotLeader,
    StorageFailed,
)
from barnabas.coordinator.runtime import CoordinatorRecord, Producer, append_error
from barnabas.coordinator.runtime_codec import encode_records
from barnabas.protocol.messages.group_records import OffsetCommitKey
from barnabas.records.batch import read_header
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker


def test_a_reply_leaves_when_its_batch_is_committed_and_not_before() -> None:
    rig = Rig()
    rig.log.hold = True

    replies = rig.send(Add(5))

    assert rig.shard.sum == 5, "replayed at once"
    assert replies == []
    rig.log.commit()
    assert replies == [5]


def test_a_reply_that_rests_on_an_earlier_batch_waits_for_it() -> None:
    rig = Rig()
    rig.log.hold = True
    rig.send(Add(5))

    read = rig.send(Add(0))

    assert read == [], "it would tell of something that may never be"
    rig.log.commit()
    assert read == [5]


def test_replies_leave_in_the_order_of_their_requests() -> None:
    rig = Rig()
    rig.log.hold = True
    order: list[int] = []
    for value in (1, 2, 3):
        rig.runtime.schedule(0, Add(value), order.append, now_ms=0)
    first, second, third = rig.log.waiting

    second(None)
    assert order == []
    first(None)
    assert order == [1, 3]
    third(None)
    assert order == [1, 3, 6]


def test_a_parked_request_is_answered_by_a_later_decision_when_that_is_committed() -> None:
    rig = Rig()
    parked = rig.send(Add(wait=True))
    rig.log.hold = True

    rig.send(Add(2, release=True))

    assert parked == []
    rig.log.commit()
    assert parked == ["released at 0"]


def test_a_request_that_raises_is_refused_and_nothing_is_written() -> None:
    rig = Rig()

    assert rig.send(Add(1, fail=IllegalGeneration())) == ["ILLEGAL_GENERATION"]
    assert rig.send(Add(1, fail=KeyError("a bug"))) == ["UNKNOWN_SERVER_ERROR"]
    assert rig.log.batches == []


def test_requests_are_refused_while_loading_and_where_nobody_coordinates() -> None:
    rig = Rig()
    rig.runtime.begin_load(1, epoch=0)
    replies: list[str] = []

    rig.runtime.schedule(1, Add(1), replies.append, now_ms=0)
    rig.runtime.schedule(2, Add(1), replies.append, now_ms=0)

    assert replies == ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"]
    assert rig.runtime.is_loading(1)
    assert rig.runtime.partitions() == [0, 1]


def test_a_lost_batch_throws_the_shard_away_and_tells_everyone_who_waits() -> None:
    rig = Rig()
    rig.log.hold = True
    parked = rig.send(Add(wait=True))
    lost = rig.send(Add(5))
    later = rig.send(Add(6))

    rig.log.commit(NotEnoughReplicas())

    assert lost == ["COORDINATOR_NOT_AVAILABLE"]
    assert later == ["NOT_COORDINATOR"]
    assert parked == ["NOT_COORDINATOR"]
    assert rig.reloads == [(0, 3)]
    assert rig.send(Add(1)) == ["COORDINATOR_LOAD_IN_PROGRESS"]


def test_commits_of_a_shard_that_is_gone_are_ignored() -> None:
    rig = Rig()
    rig.log.hold = True
    replies = rig.send(Add(5))
    rig.runtime.unload(0)
    assert replies == ["NOT_COORDINATOR"]

    rig.log.commit()

    assert replies == ["NOT_COORDINATOR"]
    assert rig.reloads == []


def test_a_refused_append_reloads_the_shard_unless_the_decision_stands_alone() -> None:
    rig = Rig()
    rig.log.refuse = MessageTooLarge()

    assert rig.send(Add(1, standalone=True)) == ["MESSAGE_TOO_LARGE"]
    assert rig.reloads == []
    assert rig.shard.sum == 0
    assert rig.send(Add(1)) == ["MESSAGE_TOO_LARGE"]
    assert rig.reloads == [(0, 3)]


def test_a_port_that_breaks_is_an_unknown_error_to_the_client() -> None:
    rig = Rig()
    rig.log.refuse = ZeroDivisionError()

    assert rig.send(Add(1, standalone=True)) == ["UNKNOWN_SERVER_ERROR"]


def test_loading_replays_the_log_with_its_transactions() -> None:
    rig = Rig()
    mine, other = Producer(7, 0), Producer(8, 0)
    batches = [
        encode_records([number(1), number(2)], now_ms=0),
        encode_records([number(10)], now_ms=0, producer=mine),
        encode_end_txn_marker(
            EndTxnMarker(ControlType.COMMIT, 0), producer_id=7, producer_epoch=0, timestamp=0
        ),
        encode_records([number(100)], now_ms=0, producer=other),
        encode_end_txn_marker(
            EndTxnMarker(ControlType.ABORT, 0), producer_id=8, producer_epoch=0, timestamp=0
        ),
    ]

    assert rig.runtime.load(0, batches, epoch=4, now_ms=0)

    assert rig.shard.sum == 13
    assert rig.shard.was_loaded


def test_records_of_unknown_types_are_passed_over() -> None:
    rig = Rig()
    strange = CoordinatorRecord(
        key=OffsetCommitKey(), key_version=1, value=None, wire=(b"\0\x63what", b"?")
    )
    broken = CoordinatorRecord(
        key=OffsetCommitKey(), key_version=1, value=None, wire=(b"\0\1", b"")
    )

    rig.runtime.load(0, [encode_records([strange, broken, number(3)], now_ms=0)], now_ms=0)

    assert rig.shard.sum == 3


def test_a_log_that_cannot_be_read_leaves_the_partition_without_a_coordinator() -> None:
    rig = Rig()
    batch = encode_records([number(1)], now_ms=0)

    with pytest.raises(ApiError):
        rig.runtime.load(0, [bytes(batch[:-3])], epoch=4, now_ms=0)

    assert rig.send(Add(1)) == ["NOT_COORDINATOR"]


def test_a_load_that_was_overtaken_is_ignored() -> None:
    rig = Rig()
    rig.runtime.begin_load(0, epoch=4)
    rig.runtime.begin_load(0, epoch=5)

    assert not rig.runtime.feed(0, epoch=4, batches=[])
    assert not rig.runtime.finish_load(0, epoch=4, now_ms=0)
    assert rig.runtime.feed(0, epoch=5, batches=[])
    assert rig.runtime.finish_load(0, epoch=5, now_ms=0)


def test_an_unload_of_an_earlier_epoch_is_ignored() -> None:
    rig = Rig()

    rig.runtime.unload(0, epoch=2)
    assert rig.runtime.shard(0) is not None
    rig.runtime.unload(0, epoch=3)
    assert rig.runtime.shard(0) is None


def test_what_is_due_is_decided_step_by_step() -> None:
    rig = Rig()
    parked = rig.send(Add(wait=True))
    rig.shard.deadline = 100
    rig.send(Add(0), now_ms=50)
    assert rig.runtime.due_ms == 100

    rig.runtime.tick(99)
    assert parked == []
    rig.runtime.tick(200)

    assert parked == ["time at 0"]
    assert rig.shard.sum == 3, "each decision saw the one before replayed"


def test_a_deadline_that_is_already_past_is_met_at_once() -> None:
    rig = Rig()
    rig.shard.deadline = 10

    rig.send(Add(0), now_ms=10)

    assert rig.shard.sum == 1


def test_it_is_met_at_once_also_where_something_else_is_overdue() -> None:
    """Nothing may be decided on what should have been different by then."""
    rig = Rig()
    rig.runtime.due_ms = 5
    rig.shard.deadline = 10

    rig.send(Add(0), now_ms=10)

    assert rig.shard.sum == 1


def test_a_commit_that_takes_too_long_is_told_but_not_undone() -> None:
    rig = Rig(commit_timeout_ms=500)
    rig.log.hold = True
    replies = rig.send(Add(5), now_ms=1_000)
    assert rig.runtime.due_ms == 1_500

    rig.runtime.tick(1_500)

    assert replies == ["COORDINATOR_NOT_AVAILABLE"]
    rig.log.commit()
    assert replies == ["COORDINATOR_NOT_AVAILABLE"]
    rig.log.hold = False
    assert rig.send(Add(0), now_ms=1_600) == [5]


def test_a_clean_up_is_spread_over_batches_that_fit() -> None:
    rig = Rig(max_batch_bytes=300)

    assert rig.send(Add(1, many=20)) == [20]

    assert len(rig.log.batches) > 1
    assert all(len(batch) <= 300 for batch in rig.log.batches)
    assert sum(read_header(batch).count for batch in rig.log.batches) == 20


def test_effects_leave_with_the_commit() -> None:
    rig = Rig()
    rig.log.hold = True

    rig.send(Add(1, effects=("send markers",)))

    assert rig.effects == []
    rig.log.commit()
    assert rig.effects == [(0, "send markers")]


def test_the_end_of_a_transaction_takes_effect_and_is_answered_when_committed() -> None:
    rig = Rig()
    mine = Producer(7, 1)
    rig.send(Add(5, producer=mine))
    assert rig.shard.sum == 0
    rig.log.hold = True
    ends: list[object] = []

    rig.runtime.end_transaction(
        0, mine, committed=True, coordinator_epoch=2, now_ms=9, done=ends.append
    )

    assert rig.shard.sum == 5
    assert ends == []
    rig.log.commit()
    assert ends == [None]
    header = read_header(rig.log.batches[-1])
    assert (header.is_control, header.producer_id, header.producer_epoch) == (True, 7, 1)


def test_a_marker_that_cannot_be_written_changes_nothing() -> None:
    rig = Rig()
    mine = Producer(7, 1)
    rig.send(Add(5, producer=mine))
    rig.log.refuse = StorageFailed()
    ends: list[Any] = []

    rig.runtime.end_transaction(
        0, mine, committed=True, coordinator_epoch=2, now_ms=9, done=ends.append
    )
    rig.runtime.end_transaction(
        5, mine, committed=True, coordinator_epoch=2, now_ms=9, done=ends.append
    )

    assert [error.code.name for error in ends] == ["NOT_COORDINATOR", "NOT_COORDINATOR"]
    assert rig.shard.sum == 0


def test_broadcast_reaches_every_shard_that_serves() -> None:
    rig = Rig()
    rig.runtime.load(1, (), now_ms=0)
    rig.runtime.begin_load(2, epoch=0)

    rig.runtime.broadcast(Add(4), now_ms=0)

    assert [rig.runtime.shard(p) is None or rig.shard.sum for p in (0, 1, 2)] == [4, 4, True]


def test_a_callback_that_breaks_harms_nobody_else() -> None:
    rig = Rig()

    def broken(_: object) -> None:
        raise RuntimeError("the connection is gone")

    rig.runtime.schedule(0, Add(1), broken, now_ms=0)

    assert rig.send(Add(1)) == [2]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotLeader(), ErrorCode.NOT_COORDINATOR),
        (StorageFailed(), ErrorCode.NOT_COORDINATOR),
        (NotEnoughReplicas(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (TimeoutError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (MessageTooLarge(), ErrorCode.MESSAGE_TOO_LARGE),
        (KeyError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_clients_are_told_when_nothing_can_be_written(
    error: Exception, told: ErrorCode
) -> None:
    assert append_error(error).code is told
