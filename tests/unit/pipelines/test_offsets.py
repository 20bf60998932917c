"""Offsets in and out of JSON, and how ranges are shared out."""

from __future__ import annotations

import json

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.offsets import (
    EARLIEST,
    LATEST,
    AtEdge,
    AtOffsets,
    AtTime,
    AtTimes,
    OffsetRange,
    from_json,
    limited,
    moves,
    parse_assign,
    parse_offsets,
    parse_times,
    questions,
    ranges,
    split,
    to_json,
)

A, B = ("a", 0), ("a", 1)


def test_offsets_are_written_as_sparks_connector_writes_them() -> None:
    found = parse_offsets('{"a": {"0": 23, "1": -2}, "b": {"0": -1}}', "startingOffsets")

    assert found == {A: 23, B: -2, ("b", 0): -1}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("soon", "neither one of its words nor JSON"),
        ("[1]", "topics as its names"),
        ('{"a": 1}', "expected JSON such as"),
        ('{"a": {"x": 1}}', "a-x"),
        ('{"a": {"0": -3}}', "-3 is no offset"),
        ('{"a": {"0": true}}', "True is no offset"),
        ("{}", "no partitions"),
    ],
)
def test_what_is_no_offsets_is_said_in_a_line_that_names_the_option(text: str, part: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_offsets(text, "endingOffsets")

    assert str(caught.value).startswith("endingOffsets: ")
    assert part in str(caught.value)


def test_times_are_not_negative() -> None:
    assert parse_times('{"a": {"0": 1700000000000}}', "t") == {A: 1_700_000_000_000}
    with pytest.raises(PipelineError, match="no time"):
        parse_times('{"a": {"0": -1}}', "t")


def test_partitions_are_assigned_once_each() -> None:
    assert parse_assign('{"b": [1, 0, 1], "a": [0]}', "assign") == [("a", 0), ("b", 0), ("b", 1)]


@pytest.mark.parametrize("text", ['{"a": 0}', '{"a": [-1]}', '{"a": []}', '{"a": ["0"]}'])
def test_what_cannot_be_assigned_is_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="assign"):
        parse_assign(text, "assign")


def test_json_of_equal_offsets_is_equal_text() -> None:
    """Spark compares the texts to see whether there is anything new."""
    forward = {("b", 10): 1, ("b", 9): 2, ("a", 0): 3}
    backward = dict(reversed(forward.items()))

    assert json.dumps(to_json(forward)) == json.dumps(to_json(backward))
    assert list(to_json(forward)["b"]) == ["9", "10"]
    assert from_json(to_json(forward)) == forward


def test_a_bound_says_what_is_known_and_what_must_be_asked() -> None:
    assert questions(AtEdge(LATEST), [A, B], "o").edges == {A: LATEST, B: LATEST}
    assert questions(AtTime(5), [A], "o").times == {A: 5}
    assert questions(AtTimes({A: 7}), [A], "o").times == {A: 7}
    mixed = questions(AtOffsets({A: 3, B: EARLIEST}), [A, B], "o")
    assert (mixed.known, mixed.edges) == ({A: 3}, {B: EARLIEST})


@pytest.mark.parametrize("bound", [AtOffsets({A: 1}), AtTimes({A: 1}), AtOffsets({("c", 0): 1})])
def test_a_bound_names_exactly_what_is_read(bound: AtOffsets | AtTimes) -> None:
    with pytest.raises(PipelineError, match="every partition that is read needs a value"):
        questions(bound, [A, B], "startingOffsets")


def test_a_start_that_depends_on_the_moment_is_known() -> None:
    assert moves(AtEdge(LATEST))
    assert moves(AtOffsets({A: 3, B: LATEST}))
    assert moves(AtTime(1))
    assert not moves(AtEdge(EARLIEST))
    assert not moves(AtOffsets({A: 3, B: EARLIEST}))


def test_ranges_come_in_order_and_empty_ones_not_at_all() -> None:
    found = ranges({A: 5, B: 0, ("0", 0): 0}, {B: 10, A: 5, ("0", 0): 1})

    assert found == [OffsetRange("0", 0, 0, 1), OffsetRange("a", 1, 0, 10)]


def test_a_range_a_partition_unless_more_are_asked_for() -> None:
    whole = [OffsetRange("a", 0, 0, 10), OffsetRange("a", 1, 0, 90)]

    assert split(whole) == whole
    assert split(whole, min_partitions=2) == whole
    assert split([], min_partitions=5) == []


@pytest.mark.parametrize("wanted", [3, 7, 50, 100])
def test_as_many_tasks_as_asked_for_that_lose_and_repeat_nothing(wanted: int) -> None:
    whole = [OffsetRange("a", 0, 0, 10), OffsetRange("a", 1, 100, 190)]

    parts = split(whole, min_partitions=wanted)

    assert len(parts) == wanted
    read = [(part.place, offset) for part in parts for offset in range(part.start, part.end)]
    assert read == [(each.place, o) for each in whole for o in range(each.start, each.end)]


def test_longer_ranges_are_cut_more_often() -> None:
    parts = split([OffsetRange("a", 0, 0, 10), OffsetRange("a", 1, 0, 90)], min_partitions=10)

    assert max(part.size for part in parts) == 10


def test_a_range_is_not_cut_into_nothing() -> None:
    assert len(split([OffsetRange("a", 0, 0, 3)], min_partitions=10)) == 3


def test_no_task_gets_more_records_than_allowed() -> None:
    parts = split([OffsetRange("a", 0, 0, 101)], max_records=25)

    assert [part.size for part in parts] == [20, 20, 20, 20, 21]


def test_a_limit_is_shared_by_what_waits_and_starves_nobody() -> None:
    start = {A: 0, B: 0, ("a", 2): 7}
    end = {A: 1000, B: 1, ("a", 2): 7}

    assert limited(start, end, 100) == {A: 99, B: 1, ("a", 2): 7}
    assert limited(start, end, 5000) == end
