"""What of a table a window can show."""

from __future__ import annotations

from barnabas.cli.screen import fit


def test_lines_are_cut_to_the_width_of_the_window() -> None:
    assert fit(["abcdef", "x"], columns=3, rows=5) == ["abc", "x"]


def test_lines_that_have_no_room_are_counted() -> None:
    shown = fit([str(number) for number in range(10)], columns=80, rows=4)

    assert shown == ["0", "1", "2", "... 7 more lines: make the window higher"]


def test_a_window_that_is_just_high_enough_shows_everything() -> None:
    assert fit(["a", "b"], columns=80, rows=2) == ["a", "b"]


def test_a_window_without_room_shows_nothing() -> None:
    assert fit(["a", "b"], columns=0, rows=1) == [""]
