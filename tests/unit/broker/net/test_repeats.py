"""Lines that would repeat."""

from __future__ import annotations

from barnabas.broker.net.repeats import Repeats


def test_a_line_is_said_once_and_later_with_how_often_it_was_so() -> None:
    repeats = Repeats(every_s=60)
    assert [repeats.times("a", now) for now in (0, 1, 59)] == [1, 0, 0]
    assert repeats.times("b", 59) == 1
    assert repeats.times("a", 60) == 3
    assert repeats.times("a", 61) == 0
    assert repeats.times("a", 200) == 2


def test_of_lines_that_differ_only_so_many_are_said_in_that_time() -> None:
    repeats = Repeats(every_s=60, lines_max=3)
    said = [repeats.times(number, number) for number in range(1000)]
    assert said[:4] == [1, 1, 1, 0]
    assert sum(said) <= 3 * (1000 // 60 + 1)
    assert sum(said) >= 3 * (1000 // 60)
    assert len(repeats._lines) == 3
