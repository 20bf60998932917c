"""The states of a transaction."""

from __future__ import annotations

from pathlib import Path

import pytest
from transactions import A0, A1

from barnabas.coordinator.txn.diagram import mermaid
from barnabas.coordinator.txn.machine import (
    STATES_BY_LABEL,
    TRANSITIONS,
    Transaction,
    TransactionState,
    check_step,
    new_transaction,
)

S = TransactionState
DOCS = Path(__file__).parents[4] / "docs" / "internals" / "transactions.md"
NEW = new_transaction("t", producer_id=1, timeout_ms=1, now_ms=0)
OPEN = NEW.joined_by(frozenset((A0, A1)), client_version=2, now_ms=1)
ENDED = OPEN.prepared(
    commit=True, producer_epoch=1, last_producer_epoch=0, client_version=2, now_ms=2
)


def test_the_diagram_in_the_documentation_is_the_table() -> None:
    assert f"```mermaid\n{mermaid()}```" in DOCS.read_text()


def test_states_are_called_as_in_kafka() -> None:
    assert list(STATES_BY_LABEL) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_every_state_has_its_steps() -> None:
    assert set(TRANSITIONS) == set(S)


def test_a_settled_outcome_has_one_way_on() -> None:
    assert set(TRANSITIONS[S.PREPARE_COMMIT]) == {S.COMPLETE_COMMIT}
    assert set(TRANSITIONS[S.PREPARE_ABORT]) == {S.COMPLETE_ABORT}


def test_steps_of_the_table_are_taken() -> None:
    check_step(None, NEW)
    check_step(NEW, OPEN)
    check_step(OPEN, ENDED)
    check_step(ENDED, ENDED.completed(now_ms=3))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, OPEN),
        (NEW, ENDED),
        (ENDED, OPEN),
        (ENDED.completed(now_ms=3), NEW),  # an epoch lower
        (OPEN, NEW.joined_by(frozenset((A0,)), client_version=2, now_ms=1)),
        (
            NEW.joined_by(frozenset((A0,)), client_version=2, now_ms=1),
            ENDED,
        ),
        (
            NEW,
            new_transaction("t", producer_id=2, timeout_ms=1, now_ms=0).renewed(
                producer_epoch=1, last_producer_epoch=0, timeout_ms=1, now_ms=0
            ),
        ),
    ],
)
def test_no_other_step_is_taken(before: Transaction | None, after: Transaction) -> None:
    with pytest.raises(AssertionError):
        check_step(before, after)
