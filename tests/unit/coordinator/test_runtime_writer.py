"""What is decided in one loop turn is one batch, and is told, or lost, together."""

from __future__ import annotations

from typing import Any

from adder import Add, Rig

from barnabas.base.errors import NotEnoughReplicas, NotLeader, StorageFailed
from barnabas.coordinator.runtime import Producer
from barnabas.records.batch import decode_records, read_header

MINE, OTHER = Producer(7, 1), Producer(8, 0)


def counts(rig: Rig) -> list[int]:
    """How many records each batch has."""
    return [read_header(batch).count for batch in rig.log.batches]


def test_what_is_decided_in_one_turn_is_one_batch() -> None:
    rig = Rig(turns=True)

    replies = [rig.send(Add(value)) for value in (1, 2, 3)]

    assert rig.shard.sum == 6, "each saw the one before replayed"
    assert rig.log.batches == []
    assert len(rig.turn_ends) == 1
    rig.end_turn()
    assert counts(rig) == [3]
    assert replies == [[1], [3], [6]]


def test_what_is_gathered_can_be_appended_before_its_time() -> None:
    rig = Rig(turns=True)
    early = rig.send(Add(1))

    rig.runtime.flush()
    assert len(early) == 1
    late = rig.send(Add(2))
    rig.end_turn()

    assert len(late) == 1
    assert len(rig.log.batches) == 2
    assert rig.reloads == []


def test_the_next_turn_has_a_batch_of_its_own() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1))
    rig.end_turn()
    rig.send(Add(2))
    rig.end_turn()

    assert counts(rig) == [1, 1]


def test_one_commit_answers_everyone_in_the_order_of_asking() -> None:
    rig = Rig(turns=True)
    rig.log.hold = True
    order: list[int] = []
    for value in (1, 0, 2):
        rig.runtime.schedule(0, Add(value), order.append, now_ms=0)
    rig.end_turn()
    assert order == []

    rig.log.commit()

    assert order == [1, 1, 3], "the one who only asked waited for what it was told of"
    assert rig.log.waiting == []


def test_loading_what_was_gathered_gives_the_same_shard() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1), now_ms=10)
    rig.send(Add(1, many=3), now_ms=12)
    rig.send(Add(5, producer=MINE), now_ms=13)
    rig.send(Add(7), now_ms=11)
    rig.end_turn()
    before = rig.shard

    rig.runtime.load(0, rig.log.batches, epoch=4, now_ms=20)

    assert (rig.shard.sum, rig.shard.pending) == (before.sum, before.pending) == (11, 5)


def test_every_record_keeps_the_time_of_its_decision() -> None:
    rig = Rig(turns=True)
    for now_ms in (1_000, 1_003, 1_001):
        rig.send(Add(1), now_ms=now_ms)
    rig.end_turn()

    header = read_header(rig.log.batches[0])

    records = decode_records(rig.log.batches[0], header)
    assert [record.timestamp for record in records] == [1_000, 1_003, 1_001]
    assert header.max_timestamp == 1_003


def test_a_batch_that_is_full_does_not_wait_for_the_end_of_the_turn() -> None:
    rig = Rig(turns=True, max_batch_bytes=300)
    for _ in range(20):
        rig.send(Add(1))
    rig.end_turn()

    assert sum(counts(rig)) == 20
    assert len(rig.log.batches) > 1
    assert all(len(batch) <= 300 for batch in rig.log.batches)


def test_a_clean_up_shares_its_first_batch_and_spreads_over_the_next() -> None:
    rig = Rig(turns=True, max_batch_bytes=300)
    rig.log.hold = True
    first = rig.send(Add(1))
    spread = rig.send(Add(1, many=20))
    rig.end_turn()
    assert all(len(batch) <= 300 for batch in rig.log.batches)
    assert len(rig.log.waiting) > 2

    while rig.log.waiting:
        assert spread == []
        rig.log.commit()

    assert (first, spread) == ([1], [21])


def test_a_transaction_has_batches_of_its_own_which_are_appended_at_once() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1))
    rig.send(Add(2, producer=MINE))
    assert counts(rig) == [1, 1], "with what came before"
    rig.send(Add(3, producer=OTHER))
    rig.send(Add(4))
    rig.send(Add(5))
    rig.end_turn()

    owners = [read_header(batch).producer_id for batch in rig.log.batches]
    assert owners == [-1, 7, 8, -1]
    assert counts(rig) == [1, 1, 1, 2]


def test_a_marker_goes_behind_what_was_gathered() -> None:
    rig = Rig(turns=True)
    ends: list[Any] = []
    rig.send(Add(2, producer=MINE))
    rig.send(Add(1))

    rig.runtime.end_transaction(
        0, MINE, committed=True, coordinator_epoch=2, now_ms=9, done=ends.append
    )

    assert [read_header(batch).is_control for batch in rig.log.batches] == [False, False, True]
    assert ends == [None]
    assert rig.shard.sum == 3


def test_an_append_that_fails_refuses_the_whole_batch_and_loads_the_shard_again() -> None:
    rig = Rig(turns=True)
    parked = rig.send(Add(wait=True))
    told = [rig.send(Add(1, standalone=True)), rig.send(Add(2)), rig.send(Add(0))]
    rig.log.fail = NotEnoughReplicas()

    rig.end_turn()

    assert told == [["COORDINATOR_NOT_AVAILABLE"]] * 3
    assert parked == ["NOT_COORDINATOR"]
    assert rig.reloads == [(0, 3)]
    assert rig.log.batches == []


def test_a_commit_that_fails_refuses_the_batch_and_what_was_gathered_since() -> None:
    rig = Rig(turns=True)
    rig.log.hold = True
    lost = [rig.send(Add(1)), rig.send(Add(2))]
    rig.end_turn()
    later = rig.send(Add(3))

    rig.log.commit(StorageFailed())
    rig.end_turn()

    assert lost == [["NOT_COORDINATOR"]] * 2
    assert later == ["NOT_COORDINATOR"]
    assert len(rig.log.batches) == 1, "what rested on a lost batch is not written"
    assert rig.reloads == [(0, 3)]


def test_a_log_that_takes_nothing_refuses_a_commit_and_harms_nothing_else() -> None:
    rig = Rig(turns=True)
    parked = rig.send(Add(wait=True))
    rig.log.refuse = NotEnoughReplicas()

    assert rig.send(Add(1, standalone=True)) == ["COORDINATOR_NOT_AVAILABLE"]

    assert rig.shard.sum == 0
    assert parked == []
    assert rig.reloads == []


def test_who_comes_behind_a_batch_that_cannot_be_appended_is_told_too() -> None:
    rig = Rig(turns=True)
    ends: list[Any] = []
    gathered = rig.send(Add(1))
    rig.log.fail = NotLeader()
    behind = rig.send(Add(2, producer=MINE))
    assert (gathered, behind) == (["NOT_COORDINATOR"], ["NOT_COORDINATOR"])
    rig.log.fail = None
    rig.runtime.load(0, rig.log.batches, epoch=3, now_ms=0)
    rig.send(Add(1))
    rig.log.fail = NotLeader()

    rig.runtime.end_transaction(
        0, MINE, committed=True, coordinator_epoch=2, now_ms=9, done=ends.append
    )

    assert [error.code.name for error in ends] == ["NOT_COORDINATOR"]
    assert rig.log.batches == []


def test_a_shard_that_is_unloaded_takes_what_it_gathered_with_it() -> None:
    rig = Rig(turns=True)
    replies = rig.send(Add(1))

    rig.runtime.unload(0)
    rig.end_turn()

    assert replies == ["NOT_COORDINATOR"]
    assert rig.log.batches == []


def test_a_batch_that_takes_too_long_is_told_to_everyone_in_it() -> None:
    rig = Rig(turns=True, commit_timeout_ms=500)
    rig.log.hold = True
    told = [rig.send(Add(5), now_ms=1_000), rig.send(Add(6), now_ms=1_002)]
    rig.end_turn()

    rig.runtime.tick(1_500)
    assert told == [[], []], "nobody is told before the time of the last is over"
    rig.runtime.tick(1_502)
    assert told == [["COORDINATOR_NOT_AVAILABLE"]] * 2

    rig.log.commit()
    assert rig.send(Add(0), now_ms=1_600) == [11], "it was not undone"


def test_effects_leave_between_the_replies_of_their_decisions() -> None:
    rig = Rig(turns=True)
    seen = rig.effects
    for event in (Add(1, effects=("a",)), Add(2), Add(0), Add(3, effects=("b",))):
        rig.runtime.schedule(0, event, seen.append, now_ms=0)

    rig.end_turn()

    assert seen == [1, (0, "a"), 3, 3, 6, (0, "b")]
    assert counts(rig) == [3]


def test_what_a_reply_leads_to_is_gathered_for_another_batch() -> None:
    rig = Rig(turns=True)
    second: list[Any] = []

    def again(_: object) -> None:
        rig.runtime.schedule(0, Add(2), second.append, now_ms=0)

    rig.runtime.schedule(0, Add(1), again, now_ms=0)
    rig.end_turn()
    assert second == []
    rig.end_turn()

    assert second == [3]
    assert counts(rig) == [1, 1]
