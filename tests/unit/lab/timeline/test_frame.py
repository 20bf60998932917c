"""The live view as text, at the widths of terminals."""

from __future__ import annotations

import dataclasses
import re

import pytest
from lab_story import story

from barnabas.lab.timeline.frame import LEAST_COLUMNS, frame
from barnabas.lab.timeline.model import Kind, Mark, Timeline

COLOURS = re.compile(r"\x1b\[\d+m")


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("is_coloured", [False, True])
def test_no_line_is_wider_than_the_terminal(columns: int, is_coloured: bool) -> None:
    timeline = story()
    timeline.marks.append(Mark(7.0, Kind.STEP, "long " * 60))
    lines = frame(
        "3.2b  " + "title " * 40, timeline, columns=columns, now=10.0, is_coloured=is_coloured
    )

    widths = [len(COLOURS.sub("", line)) for line in lines]
    assert max(widths) == columns


@pytest.mark.parametrize("sent", [1, 3_000, 1_000_000, 10**15])
@pytest.mark.parametrize("failed", [0, 7, 1_000_000])
def test_counts_of_any_length_leave_a_frame_of_its_width(sent: int, failed: int) -> None:
    timeline = story()
    timeline.looks[-1] = dataclasses.replace(timeline.last, sent=sent, acked=sent, failed=failed)

    totals = frame("x", timeline, columns=LEAST_COLUMNS, now=10.0)[1]

    assert len(totals) == LEAST_COLUMNS
    assert f"sent {sent:,}" in totals


def test_the_lane_shows_who_led_when() -> None:
    lines = frame("x", story(), columns=80, now=10.0)
    lane = next(line for line in lines if line.startswith("   0 ")).partition("|")[2]

    assert re.fullmatch(r"\s?1+-+2+\|", lane)


def test_what_was_done_stands_above_the_lanes_at_its_time() -> None:
    lines = frame("x", story(), columns=148, now=10.0)
    head = next(line for line in lines if line.startswith("part "))
    lane = head.partition("|")[2]

    assert abs(lane.index("!") - len(lane) // 2) <= 2
    assert lane.index("*") > lane.index("!")


def test_the_row_has_leader_isr_acked_replicated_and_received() -> None:
    row = next(
        line for line in frame("x", story(), columns=80, now=10.0) if line.startswith("   0 ")
    )

    assert row.partition("|")[0].split() == ["0", "2", "2", "1,000", "900", "500"]


def test_a_partition_without_a_leader_says_so() -> None:
    timeline = story()
    del timeline.looks[6:]

    row = next(
        line for line in frame("x", timeline, columns=80, now=5.5) if line.startswith("   0 ")
    )
    assert row.split()[1] == "none"


def test_before_the_first_look_there_is_a_frame_too() -> None:
    assert frame("x", Timeline(), columns=80, now=0.0)


def test_colours_change_nothing_but_colours() -> None:
    plain = frame("x", story(), columns=80, now=10.0)
    coloured = frame("x", story(), columns=80, now=10.0, is_coloured=True)

    assert [COLOURS.sub("", line) for line in coloured] == plain
    assert coloured != plain
