"""Lag, rates and the time until a group has caught up."""

from __future__ import annotations

import math

import pytest

from barnabas.cli.groups_rows import (
    GroupLook,
    History,
    Look,
    Position,
    lag_document,
    lag_lines,
    lag_rows,
    rate_text,
    time_text,
)


def look(time_s: float, **groups: dict[tuple[str, int], tuple[int | None, int | None]]) -> Look:
    """Groups with (committed, end) of their partitions."""
    return Look(
        time_s=time_s,
        groups=[
            GroupLook(
                group_id=name,
                state="Stable",
                members=1,
                positions={
                    place: Position(committed=committed, end=end)
                    for place, (committed, end) in places.items()
                },
            )
            for name, places in groups.items()
        ],
    )


def test_groups_furthest_behind_come_first_with_a_row_for_each_topic() -> None:
    rows = lag_rows(
        look(
            0,
            near={("a", 0): (9, 10)},
            far={("b", 0): (0, 50), ("a", 1): (5, 10), ("a", 0): (0, 10)},
        ),
        None,
    )

    assert [(row.group_id, row.topic, row.partitions, row.lag) for row in rows] == [
        ("far", None, 3, 65),
        ("far", "a", 2, 15),
        ("far", "b", 1, 50),
        ("near", None, 1, 1),
        ("near", "a", 1, 1),
    ]


def test_what_nobody_committed_has_no_lag_and_a_group_without_partitions_has_none() -> None:
    rows = lag_rows(look(0, new={("a", 0): (None, 10)}, idle={}), None)

    assert {row.group_id: row.lag for row in rows} == {"idle": 0, "new": None}


def test_rates_are_those_between_two_looks() -> None:
    before = look(10, g={("a", 0): (100, 1000), ("a", 1): (0, 0)})
    after = look(20, g={("a", 0): (400, 1100), ("a", 1): (0, 50)})

    total, _ = lag_rows(after, before)

    assert total.pace is not None
    assert (total.pace.read, total.pace.written) == (30, 15)
    assert total.lag == 750
    assert total.catch_up_s == 50


@pytest.mark.parametrize(
    ("committed", "end", "expected"),
    [
        ((0, 0), (100, 100), math.inf),  # nobody reads
        ((0, 10), (100, 200), math.inf),  # it grows faster than it is read
        ((0, 100), (100, 100), 0.0),
        ((50, 20), (100, 100), math.inf),  # set back: that is not reading
    ],
)
def test_who_does_not_gain_never_catches_up(
    committed: tuple[int, int], end: tuple[int, int], expected: float
) -> None:
    before = look(0, g={("a", 0): (committed[0], end[0])})
    total, _ = lag_rows(look(1, g={("a", 0): (committed[1], end[1])}), before)

    assert total.catch_up_s == expected


def test_a_partition_that_is_new_says_nothing_of_rates() -> None:
    before = look(0, g={("a", 0): (0, 10)})
    total, *_ = lag_rows(look(1, g={("a", 0): (5, 10), ("a", 1): (700, 900)}), before)

    assert total.pace is not None
    assert (total.pace.read, total.pace.written) == (5, 0)


def test_a_look_is_measured_against_the_oldest_of_the_window() -> None:
    history = History(window_s=30)
    times = [0, 10, 20, 30, 40, 50]
    looks = [look(each) for each in times]

    measured = [history.add(each) for each in looks]

    assert [None if each is None else each.time_s for each in measured] == [None, 0, 0, 0, 10, 20]
    assert len(history.looks) == 4


def test_a_group_of_one_topic_has_one_line_and_rates_come_with_a_second_look() -> None:
    first = look(0, one={("a", 0): (0, 10)}, two={("a", 0): (0, 5), ("b", 0): (0, 2)})

    assert lag_lines(lag_rows(first, None)) == [
        "GROUP  TOPIC    STATE   MEMBERS  PARTITIONS  LAG",
        "one    a        Stable        1           1   10",
        "two    (total)  Stable        1           2    7",
        "two    a        Stable        1           1    5",
        "two    b        Stable        1           1    2",
    ]
    heading, line = lag_lines(lag_rows(look(5, one={("a", 0): (5, 10)}), first))
    assert heading.split()[-3:] == ["READ/S", "WRITTEN/S", "CAUGHT-UP-IN"]
    assert line.split()[-5:] == ["5", "1.0", "0", "5", "s"]


def test_programs_get_numbers_and_null_for_what_is_never() -> None:
    before = look(0, g={("a", 0): (0, 10)})

    (group,) = lag_document(lag_rows(look(1, g={("a", 0): (0, 20)}), before))

    numbers = {
        "partitions": 1,
        "lag": 20,
        "read_per_second": 0.0,
        "written_per_second": 10.0,
        "seconds_to_catch_up": None,
    }
    assert group == {
        "group": "g",
        "state": "Stable",
        "members": 1,
        **numbers,
        "topics": [{"topic": "a", **numbers}],
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "now"),
        (0.2, "1 s"),
        (59.1, "1 min 0 s"),
        (61, "1 min 1 s"),
        (3600, "1 h 0 min"),
        (90_061, "1 d 1 h"),
        (math.inf, "never"),
    ],
)
def test_times_are_told_in_two_units(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text


def test_small_rates_have_a_decimal() -> None:
    assert [rate_text(rate) for rate in (0.0, 0.25, 9.9, 10.4, 123456.0)] == [
        *("0", "0.2", "9.9", "10", "123456")
    ]
