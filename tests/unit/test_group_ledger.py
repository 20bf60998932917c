"""The judge of the tests with many clients in one group must see each kind of fault itself."""

from __future__ import annotations

from typing import Any

import pytest
from group_ledger import Ledger, Line

T = "t"


def started(member: str, instance: str | None = None) -> Line:
    return {"m": member, "e": "started", "instance": instance}


def assigned(member: str, generation: int, *partitions: int) -> Line:
    return line(member, "assigned", g=generation, parts=[[T, index] for index in partitions])


def revoked(member: str, *partitions: int) -> Line:
    return line(member, "revoked", parts=[[T, index] for index in partitions])


def read(member: str, generation: int, first: int, after: int, partition: int = 0) -> Line:
    return {"m": member, "e": "records", "g": generation, "t": T, "p": partition} | {
        "from": first,
        "to": after,
    }


def commit(member: str, offset: int, partition: int = 0) -> list[Line]:
    offsets = [[T, partition, offset]]
    return [line(member, kind, offsets=offsets) for kind in ("committing", "committed")]


def line(member: str, kind: str, **fields: Any) -> Line:
    return {"m": member, "e": kind, **fields}


def faults(*lines: Line | list[Line]) -> list[str]:
    ledger = Ledger()
    for entry in lines:
        for one in entry if isinstance(entry, list) else [entry]:
            ledger.take(one)
    return ledger.faults


A, B = "a", "b"
BOTH = [started(A), started(B)]


def test_a_handover_in_order_has_no_fault() -> None:
    first = [assigned(A, 1, 0), read(A, 1, 0, 9), *commit(A, 9), revoked(A, 0)]

    assert faults(BOTH, first, assigned(B, 2, 0), read(B, 2, 9, 12)) == []


def test_after_a_crash_what_was_not_committed_may_come_again() -> None:
    first = [assigned(A, 1, 0), read(A, 1, 0, 5), *commit(A, 5), read(A, 1, 5, 9)]

    assert faults(BOTH, first, line(A, "killed"), assigned(B, 2, 0), read(B, 2, 5, 12)) == []


@pytest.mark.parametrize("start", [5, 9])
def test_a_commit_without_an_answer_counts_or_not(start: int) -> None:
    first = [assigned(A, 1, 0), read(A, 1, 0, 5), *commit(A, 5), read(A, 1, 5, 9), commit(A, 9)[0]]

    assert faults(BOTH, first, line(A, "killed"), assigned(B, 2, 0), read(B, 2, start, 12)) == []


def test_a_static_member_may_come_back_in_its_generation() -> None:
    members = [started(A, "x"), started(B, "x")]

    assert faults(members, assigned(A, 1, 0), line(A, "killed"), assigned(B, 1, 0)) == []


def test_what_a_replaced_static_member_still_reads_does_not_count() -> None:
    members = [started(A, "x"), started(B, "x")]
    zombie = [read(A, 1, 9, 12), commit(A, 12)[0]]

    assert faults(members, HELD, assigned(B, 1, 0), zombie, line(A, "ended")) == []
    assert faults(members, HELD, zombie, assigned(B, 1, 0), read(B, 1, 1, 3)) != []


def test_a_commit_that_is_taken_from_a_replaced_static_member_is_a_fault() -> None:
    members = [started(A, "x"), started(B, "x")]
    zombie = [read(A, 1, 9, 12), *commit(A, 12)]

    assert "a committed t-0, which b holds" in faults(members, HELD, assigned(B, 1, 0), zombie)[0]


def test_a_refused_last_commit_is_forgiven_only_where_that_is_said() -> None:
    refused = line(A, "refused", offsets=[[T, 0, 9]], error="IllegalGeneration")
    lines = [*BOTH, *HELD, commit(A, 9)[0], refused, revoked(A, 0)]
    strict, forgiving = Ledger(), Ledger()
    forgiving.forgives_refusals = True
    for one in [*lines, assigned(B, 2, 0), read(B, 2, 0, 12)]:
        strict.take(one)
        forgiving.take(one)

    assert "IllegalGeneration" in strict.faults[0]
    assert forgiving.faults == []


HELD = [assigned(A, 1, 0), read(A, 1, 0, 9)]
COMMITTED = [*HELD, *commit(A, 9)]


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([*HELD, assigned(B, 2, 0)], "which a holds"),
        ([*COMMITTED, revoked(A, 0), assigned(B, 1, 0)], "in generation 1"),
        ([*HELD, revoked(A, 0)], "gave up"),
        ([*HELD, revoked(B, 0)], "which a holds"),
        ([*COMMITTED, revoked(A, 0), assigned(B, 2, 0), read(B, 2, 10, 12)], "began"),
        ([*COMMITTED, revoked(A, 0), assigned(B, 2, 0), read(B, 2, 8, 12)], "again"),
        ([*COMMITTED, line(A, "killed"), assigned(B, 2, 0), read(B, 2, 8, 12)], "began"),
        ([*HELD, read(A, 1, 10, 11)], "jumped"),
        ([*HELD, read(A, 1, 8, 11)], "jumped"),
        ([*HELD, read(B, 1, 9, 11)], "which a holds"),
        ([*HELD, line(A, "killed"), assigned(B, 2, 0), read(B, 1, 0, 3)], "both read"),
        ([*HELD, *commit(A, 10)], "has not read"),
        (
            [*HELD, line(A, "lost", parts=[[T, 0]]), assigned(B, 2, 0), *commit(A, 9)],
            "which b holds",
        ),
        ([line(A, "sang")], "unknown"),
    ],
)
def test_every_broken_promise_is_a_fault(lines: list[Line], word: str) -> None:
    found = faults(BOTH, lines)

    assert any(word in fault for fault in found), found


def test_settled_is_one_generation_in_which_all_have_some_and_together_everything() -> None:
    wanted = {(T, 0), (T, 1)}
    ledger = Ledger()
    for one in [*BOTH, assigned(A, 3, 0), assigned(B, 2, 1)]:
        ledger.take(one)
    assert not ledger.is_settled(wanted), "generations differ"
    ledger.take(line(B, "generation", g=3))
    assert ledger.is_settled(wanted)
    assert not ledger.is_settled({*wanted, (T, 2)})
    ledger.take(started("c"))
    assert not ledger.is_settled(wanted), "one has nothing"


def test_what_was_not_read_or_not_committed_to_the_end_is_named() -> None:
    ledger = Ledger()
    for one in [*BOTH, assigned(A, 1, 0, 1), read(A, 1, 0, 5), *commit(A, 5), read(A, 1, 0, 4, 1)]:
        ledger.take(one)

    assert ledger.unread({(T, 0): 5, (T, 1): 4, (T, 2): 0}) == {(T, 1): (4, 0, 4)}
