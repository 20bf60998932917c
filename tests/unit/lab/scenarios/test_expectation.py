"""What an exercise predicts, and whether it came out so."""

from __future__ import annotations

import pytest

from barnabas.lab.scenarios.expectation import ANY, NONE, SOME, Count, Expectation, surprises


@pytest.mark.parametrize(
    ("said", "allowed", "refused"),
    [
        ("none", [0], [1, 7]),
        ("some", [1, 700], [0]),
        ("any", [0, 1, 700], []),
        (100, [100], [0, 99, 101]),
    ],
)
def test_a_count_allows_what_it_says(said: object, allowed: list[int], refused: list[int]) -> None:
    count = Count.read(said)

    assert all(count.allows(number) for number in allowed)
    assert not any(count.allows(number) for number in refused)


@pytest.mark.parametrize("said", ["many", -1, True, 1.5, None])
def test_what_is_no_count_is_refused(said: object) -> None:
    with pytest.raises(ValueError, match="is not a count"):
        Count.read(said)


def test_counts_are_said_as_they_are_written() -> None:
    assert [str(count) for count in (NONE, SOME, ANY, Count(100, 100))] == [
        "none",
        "some",
        "any",
        "100",
    ]


def test_nothing_is_expected_to_get_lost_unless_it_is_said() -> None:
    assert surprises(Expectation(), {}, {}) == []
    assert surprises(Expectation(), {"lost": 1}, {}) == ["lost: 1, predicted none"]
    assert surprises(Expectation(), {"duplicated": 2}, {}) == ["duplicated: 2, predicted none"]
    assert surprises(Expectation(), {"foreign": 2}, {}) == ["foreign: 2, predicted none"]
    assert surprises(Expectation(), {"reordered": 2}, {}) == []


def test_a_break_that_breaks_nothing_is_a_surprise() -> None:
    assert surprises(Expectation(lost=SOME), {"lost": 0}, {}) == ["lost: 0, predicted some"]


def test_a_sight_counts_only_if_it_was_looked_for_and_seen() -> None:
    expect = Expectation(sights={"leader-none": "a partition without a leader"})
    missing = ["not seen: a partition without a leader"]

    assert surprises(expect, {}, {}) == missing
    assert surprises(expect, {}, {"leader-none": False}) == missing
    assert surprises(expect, {}, {"leader-none": True}) == []


def test_what_cannot_be_looked_for_is_not_missed() -> None:
    expect = Expectation(sights={"removed": "a line in the coordinator's log"})

    assert surprises(expect, {}, {}, unseeable={"removed"}) == []
