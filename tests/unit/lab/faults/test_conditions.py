"""Conditions say what they mean, and hold when the numbers do."""

from __future__ import annotations

import pytest

from barnabas.lab.faults.conditions import (
    acked,
    committed,
    refused,
    replicated,
    requests,
    sent,
)
from barnabas.lab.faults.traffic import Traffic


def traffic() -> Traffic:
    made = Traffic()
    made.sent.update({("t", 0): 12, ("t", 1): 5, ("u", 0): 100})
    made.acked.update({("t", 0): 10, ("t", 1): 4})
    made.refused.update({("t", 0): 2})
    made.positions.update({("t", 0, 2): 9, ("t", 0, 3): 7, ("t", 1, 2): 1})
    made.committed["g", "t", 0] = 6
    made.requests.update({("Produce", 1): 3, ("Produce", 2): 4})
    return made


@pytest.mark.parametrize(
    ("condition", "holds", "text"),
    [
        (acked("t", 0) >= 10, True, "acked t-0 >= 10"),
        (acked("t", 0) > 10, False, "acked t-0 > 10"),
        (acked("t") >= 14, True, "acked t >= 14"),
        (sent("t") <= 17, True, "sent t <= 17"),
        (refused("t", 0) < 2, False, "refused t-0 < 2"),
        (replicated("t", 0) >= 8, False, "replicated t-0 >= 8"),
        (replicated("t", 0, follower=2) >= 9, True, "replicated t-0 at 2 >= 9"),
        (replicated("t", 5) > 0, False, "replicated t-5 > 0"),
        (committed("g", "t", 0) >= 6, True, "committed by g t-0 >= 6"),
        (committed("other", "t", 0) >= 1, False, "committed by other t-0 >= 1"),
        (requests("Produce") >= 7, True, "Produce requests >= 7"),
        (requests("Produce", 2) >= 5, False, "Produce requests to 2 >= 5"),
    ],
)
def test_each_number_is_compared_with_what_passed(
    condition: object, holds: bool, text: str
) -> None:
    assert condition.holds(traffic()) is holds  # type: ignore[attr-defined]
    assert str(condition) == text


def test_conditions_are_put_together() -> None:
    both = (acked("t", 0) >= 10) & (replicated("t", 0) < 8)
    either = (acked("t", 0) > 10) | (sent("u") >= 100)

    assert both.holds(traffic())
    assert either.holds(traffic())
    assert not (~both).holds(traffic())
    assert (both | either).topics == {"t", "u"}
    assert str(~both) == "not (acked t-0 >= 10 and replicated t-0 < 8)"


def test_python_words_between_conditions_are_refused() -> None:
    with pytest.raises(TypeError, match="use & and"):
        bool((acked("t") >= 1) and (acked("t") >= 2))
