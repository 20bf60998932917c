"""The bar says how far work has got, on a terminal only, and leaves nothing behind."""

from __future__ import annotations

import io

import pytest

from barnabas.cli.progress import CLEAR, Progress, bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def test_a_bar_has_part_counts_rate_and_what_is_left() -> None:
    text = bar("moving", done=250, total=1000, unit="records", elapsed_s=10, columns=100)
    assert text == f"moving [{'#' * 7}{'.' * 23}]  25% 250/1,000 records, 25/s, 30 s left"


def test_without_a_total_there_is_a_count() -> None:
    assert bar("reading", done=12345, total=None, unit="records", elapsed_s=0, columns=80) == (
        "reading: 12,345 records"
    )


@pytest.mark.parametrize(("done", "part"), [(0, "0%"), (5, "100%"), (9, "100%")])
def test_the_part_is_between_nothing_and_all(done: int, part: str) -> None:
    text = bar("x", done=done, total=5, unit="u", elapsed_s=0, columns=80)
    assert f" {part} " in text


def test_no_work_is_all_done() -> None:
    assert "100%" in bar("x", done=0, total=0, unit="u", elapsed_s=0, columns=80)


@pytest.mark.parametrize("columns", [10, 25, 50, 79])
def test_a_bar_is_never_wider_than_the_terminal(columns: int) -> None:
    text = bar("moving", done=1, total=10**9, unit="records", elapsed_s=9999, columns=columns)
    assert len(text) <= columns


@pytest.mark.parametrize(
    ("seconds", "text"), [(30, "30 s"), (90, "1 min 30 s"), (3720, "1 h 2 min")]
)
def test_what_is_left_is_in_words(seconds: int, text: str) -> None:
    line = bar("x", done=1, total=2, unit="u", elapsed_s=seconds, columns=100)
    assert line.endswith(f", {text} left")


def test_nothing_is_written_where_nobody_looks() -> None:
    piped = io.StringIO()
    clock = Clock()
    with Progress("x", total=2, stream=piped, monotonic=clock) as progress:
        clock.now = 5
        progress.at(1)
    assert piped.getvalue() == ""


def test_a_dumb_terminal_gets_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    clock = Clock()
    progress = Progress("x", total=2, stream=terminal, monotonic=clock)
    clock.now = 5
    progress.at(1)
    assert terminal.getvalue() == ""


def test_the_line_is_drawn_over_itself_and_gone_at_the_end(terminal: Terminal) -> None:
    clock = Clock()
    with Progress("x", total=4, unit="u", stream=terminal, monotonic=clock) as progress:
        clock.now = 0.2
        progress.at(1)
        clock.now = 0.21
        progress.at(2)  # too soon to be worth it
        clock.now = 0.4
        progress.at(3, what="y")
    first, second, last = terminal.getvalue().split(CLEAR)[1:]
    assert ("1/4 u" in first, "y" in second, "3/4 u" in second, last) == (True, True, True, "")


def test_quick_work_shows_no_bar(terminal: Terminal) -> None:
    with Progress("x", total=2, stream=terminal, monotonic=Clock()) as progress:
        progress.at(1)
        progress.at(2)
    assert terminal.getvalue() == ""
