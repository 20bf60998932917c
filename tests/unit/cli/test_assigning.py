from __future__ import annotations

import re

from barnabas.cli.assigning import BEGINNING, END, Assignment, Place


def test_all_partitions_of_the_topic_are_taken_once() -> None:
    wanted = Assignment(topic="t", offset=END)

    assert wanted.take({"t": [1, 0], "u": [0]}) == [Place("t", 0, END), Place("t", 1, END)]
    assert wanted.take({"t": [0, 1]}) == []


def test_what_comes_later_is_read_from_its_beginning() -> None:
    wanted = Assignment(topic="t", offset=END)
    wanted.take({"t": [0]})
    assert wanted.take({"t": [0, 1]}) == [Place("t", 1, BEGINNING)]

    late = Assignment(topic="t", offset=END)
    assert late.take({}) == []
    assert late.take({"t": [0]}) == [Place("t", 0, BEGINNING)]


def test_a_pattern_must_match_the_whole_name_and_spares_what_is_to_be_skipped() -> None:
    wanted = Assignment(
        pattern=re.compile("a.*|_.*"), skip=frozenset({"__offsets"}), offset=BEGINNING
    )

    places = wanted.take({"ab": [0], "ba": [0], "__offsets": [0], "_x": [0]})

    assert places == [Place("_x", 0, BEGINNING), Place("ab", 0, BEGINNING)]
    assert not wanted.is_complete


def test_a_single_partition_is_read_from_the_offset_asked_for_whenever_it_comes() -> None:
    wanted = Assignment(topic="t", partition=1, offset=42)

    assert wanted.take({"t": [0]}) == []
    assert not wanted.is_complete
    assert wanted.take({"t": [0, 1]}) == [Place("t", 1, 42)]
    assert wanted.is_complete


def test_partitions_that_are_known_start_where_they_are_told_to() -> None:
    wanted = Assignment(topic="t", offset=BEGINNING, starts={("t", 0): 7})

    assert wanted.take({"t": [0, 1]}) == [Place("t", 0, 7), Place("t", 1, BEGINNING)]
