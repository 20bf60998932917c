"""An event that joins a batch gives what a decision of its own would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from adder import Add, Adder, Rig
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import InvalidRequest, NotEnoughReplicas
from barnabas.coordinator.runtime import Producer
from barnabas.coordinator.runtime_writer import ENOUGH_RECORDS
from barnabas.records.batch import decode_records, read_header
from barnabas.records.compression import Codec

MINE = Producer(7, 1)


def records(rig: Rig) -> list[tuple[int, bytes | None, bytes | None]]:
    """All that was written, with its times."""
    return [
        (record.timestamp, record.key, record.value)
        for batch in rig.log.batches
        for record in decode_records(batch, read_header(batch))
    ]


def reloaded(rig: Rig) -> Adder:
    rig.runtime.unload(0)
    rig.runtime.load(0, rig.log.batches, epoch=4, now_ms=0)
    return rig.shard


def test_it_joins_a_batch_that_is_gathered() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1))

    replies = [rig.join(Add(2)), rig.join(Add(3))]

    assert rig.shard.joined == 2
    assert replies == [[], []], "nothing leaves before it is written"
    rig.end_turn()
    assert replies == [[3], [6]]
    assert len(rig.log.batches) == 1
    assert reloaded(rig).sum == 6


@pytest.mark.parametrize(
    "before",
    [
        [],
        [Add(1, producer=MINE)],
        [Add(1, effects=("a",))],
        [Add(0)],
    ],
    ids=["no batch", "a transaction's", "effects", "nothing written"],
)
def test_it_is_decided_on_where_no_batch_takes_it(before: list[Add]) -> None:
    rig = Rig(turns=True)
    for event in before:
        rig.send(event)

    replies = rig.join(Add(5))

    assert rig.shard.joined == 0
    rig.end_turn()
    assert replies == [rig.shard.sum]


def test_it_does_not_overtake_a_reply_that_rests_on_nothing() -> None:
    rig = Rig(turns=True)
    order: list[Any] = []
    for event in (Add(1, effects=("a",)), Add(0), Add(2)):
        rig.runtime.join(0, event, order.append, now_ms=0)
    rig.end_turn()

    assert order == [1, 1, 3]


def test_one_that_is_refused_waits_for_what_it_was_refused_by() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1))

    refused = rig.join(Add(2, fail=InvalidRequest("no")))

    assert refused == []
    rig.end_turn()
    assert refused == ["INVALID_REQUEST"]
    assert rig.shard.sum == 1


def test_what_is_due_comes_first() -> None:
    rig = Rig(turns=True)
    rig.shard.deadline = 50
    rig.send(Add(4))

    rig.join(Add(1), now_ms=49)
    assert rig.shard.joined == 1
    rig.join(Add(1), now_ms=50)

    assert rig.shard.joined == 1
    assert rig.shard.deadline is None, "it was met"
    assert rig.shard.sum == 4 + 1 + 1 + 1


def test_one_that_does_not_fit_begins_another_batch() -> None:
    rig = Rig(turns=True, max_batch_bytes=150)
    rig.send(Add(1))

    replies = rig.join(Add(2, size_bytes=100))

    assert rig.shard.joined == 0
    rig.end_turn()
    assert len(rig.log.batches) == 2
    assert replies == [3]


def test_an_append_that_fails_refuses_those_who_joined() -> None:
    rig = Rig(turns=True)
    told = [rig.send(Add(1)), rig.join(Add(2)), rig.join(Add(3))]
    assert rig.shard.joined == 2
    rig.log.fail = NotEnoughReplicas()

    rig.end_turn()

    assert told == [["COORDINATOR_NOT_AVAILABLE"]] * 3
    assert rig.reloads == [(0, 3)]


def test_a_batch_that_others_joined_can_be_compressed() -> None:
    rig = Rig(turns=True, codec=Codec.GZIP)
    rig.send(Add(1))
    replies = [rig.join(Add(2)), rig.join(Add(3))]
    rig.end_turn()

    assert read_header(rig.log.batches[0]).codec is Codec.GZIP
    assert replies == [[3], [6]]
    assert reloaded(rig).sum == 6


def test_a_deadline_that_one_sets_is_known() -> None:
    rig = Rig(turns=True, commit_timeout_ms=60_000)
    rig.send(Add(1))

    rig.join(Add(2, sets_deadline_ms=1_000), now_ms=10)

    assert rig.shard.joined == 1
    assert rig.runtime.due_ms == 1_000


def test_a_batch_with_enough_records_is_appended() -> None:
    rig = Rig(turns=True)
    rig.send(Add(1))
    replies = [rig.join(Add(1)) for _ in range(ENOUGH_RECORDS - 1)]

    assert len(rig.log.batches) == 1
    assert replies[-1] == [ENOUGH_RECORDS]


def _asked(rig: Rig) -> None:
    rig.send(Add(1), now_ms=1_000)


def _time_is_up(rig: Rig) -> None:
    """Nobody waits for the batch that a timer begins."""
    rig.shard.sum, rig.shard.deadline = 2, 1_000
    rig.runtime.due_ms = 1_000
    rig.runtime.tick(1_000)


def _waits_for_more(rig: Rig) -> None:
    """Who began the batch waits for something else, and a timer has run since."""
    rig.send(Add(1, wait=True), now_ms=1_000)
    rig.runtime.due_ms = 1_001
    rig.runtime.tick(1_001)


@pytest.mark.parametrize("begin", [_asked, _time_is_up, _waits_for_more])
def test_one_that_waits_for_too_long_is_told_so(begin: Callable[[Rig], None]) -> None:
    """Whoever began the batch that it joins."""
    rig = Rig(turns=True, commit_timeout_ms=500)
    rig.log.hold = True
    begin(rig)
    told = rig.join(Add(2), now_ms=1_100)
    assert rig.shard.joined == 1
    rig.end_turn()

    rig.runtime.tick(1_599)
    assert told == []
    assert rig.runtime.due_ms <= 1_600
    rig.runtime.tick(1_600)
    assert told == ["COORDINATOR_NOT_AVAILABLE"]


events = st.builds(
    Add,
    value=st.integers(0, 3),
    fail=st.sampled_from([None, None, None, InvalidRequest("no")]),
)


@given(st.lists(st.tuples(events, st.integers(0, 20), st.booleans()), max_size=30))
def test_joining_changes_nothing_but_the_cost(steps: list[tuple[Add, int, bool]]) -> None:
    """Same replies in the same order, same records with the same times, same shard."""
    rigs = Rig(turns=True), Rig(turns=True)
    told: tuple[list[Any], list[Any]] = ([], [])
    now_ms = 0
    for event, pause_ms, ends_turn in steps:
        now_ms += pause_ms
        rigs[0].runtime.schedule(0, event, told[0].append, now_ms=now_ms)
        rigs[1].runtime.join(0, event, told[1].append, now_ms=now_ms)
        if ends_turn:
            for rig in rigs:
                rig.end_turn()
    for rig in rigs:
        rig.end_turn()

    assert told[0] == told[1]
    assert records(rigs[0]) == records(rigs[1])
    assert rigs[0].shard.sum == rigs[1].shard.sum == reloaded(rigs[1]).sum
