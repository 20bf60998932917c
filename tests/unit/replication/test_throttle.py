"""Throttles: how many bytes a second, and for whom."""

from __future__ import annotations

import pytest

from barnabas.replication.throttle import Throttle, is_throttled


def test_without_a_rate_nothing_is_waited_for() -> None:
    throttle = Throttle()
    throttle.spend(1 << 40, 0.0)

    assert throttle.pause(0.0) == 0


def test_over_a_long_time_no_more_than_the_rate_gets_through() -> None:
    throttle, now, sent = Throttle(), 0.0, 0
    throttle.set_rate(1000, now)
    while now < 100:
        pause = throttle.pause(now)
        if pause:
            now += pause
        else:
            throttle.spend(700, now)
            sent += 700

    assert 99_000 <= sent <= 102_500


def test_one_batch_may_be_more_than_a_second_allows_and_is_paid_for_afterwards() -> None:
    throttle = Throttle()
    throttle.set_rate(1000, 0.0)
    throttle.spend(5000, 0.0)

    assert throttle.pause(0.0) == pytest.approx(4.0, abs=0.01)
    assert throttle.pause(4.1) == 0


def test_what_is_not_used_is_not_saved_up() -> None:
    throttle = Throttle()
    throttle.set_rate(1000, 0.0)
    throttle.spend(1001, 3600.0)

    assert throttle.pause(3600.0) > 0


def test_a_rate_of_nothing_stops_and_no_rate_lets_go_again() -> None:
    throttle = Throttle()
    throttle.set_rate(0, 0.0)
    assert throttle.pause(1e6) > 0

    throttle.set_rate(None, 1e6)
    assert throttle.pause(1e6) == 0


@pytest.mark.parametrize(
    ("named", "throttled"),
    [((), False), (("*",), True), (("3:2",), True), (("3:1", "2:2"), False), (("3:22",), False)],
)
def test_whom_it_is_for(named: tuple[str, ...], throttled: bool) -> None:
    assert is_throttled(named, 3, 2) is throttled
