from __future__ import annotations

import pytest

from barnabas.broker.quotas.bucket import Bucket


def test_what_comes_in_a_span_may_be_used_at_once_and_what_is_more_is_waited_for() -> None:
    bucket = Bucket(100.0, 10.0, now=5.0)

    bucket.spend(1000, 5.0)
    assert bucket.pause(5.0) == 0.0
    bucket.spend(250, 5.0)
    assert bucket.pause(5.0) == pytest.approx(2.5)
    assert bucket.pause(7.0) == pytest.approx(0.5)
    assert bucket.pause(8.0) == 0.0


def test_it_never_holds_more_than_a_span() -> None:
    bucket = Bucket(100.0, 1.0, now=0.0)

    assert bucket.is_full(0.0)
    bucket.spend(100, 1000.0)
    assert not bucket.is_full(1000.0)
    assert bucket.pause_before(1, 1000.0) == pytest.approx(0.01)
    assert bucket.is_full(1001.0)


def test_what_never_fits_waits_for_all_there_can_be() -> None:
    bucket = Bucket(100.0, 1.0, now=0.0)

    assert bucket.pause_before(5000, 0.0) == 0.0
    bucket.spend(60, 0.0)
    assert bucket.pause_before(5000, 0.0) == pytest.approx(0.6)


@pytest.mark.parametrize(("rate", "pause"), [(1000.0, 0.1), (2000.0, 0.0), (50.0, 21.0)])
def test_what_was_used_counts_at_the_new_rate(rate: float, pause: float) -> None:
    bucket = Bucket(100.0, 1.0, now=0.0)
    bucket.spend(1100, 0.0)

    bucket.set_rate(rate, 0.0)

    assert bucket.pause(0.0) == pytest.approx(pause)


def test_a_lower_rate_leaves_less_to_use_at_once() -> None:
    bucket = Bucket(1000.0, 1.0, now=0.0)

    bucket.set_rate(10.0, 0.0)
    bucket.spend(20, 0.0)

    assert bucket.pause(0.0) == pytest.approx(1.0)


def test_what_is_given_back_can_be_used_but_never_more_than_there_can_be() -> None:
    bucket = Bucket(10.0, 1.0, now=0.0)
    bucket.spend(15, 0.0)

    bucket.spend(-5, 0.0)
    assert bucket.pause(0.0) == 0.0
    bucket.spend(-500, 0.0)
    bucket.spend(11, 0.0)
    assert bucket.pause(0.0) == pytest.approx(0.1)


def test_time_that_goes_back_gives_nothing() -> None:
    bucket = Bucket(10.0, 1.0, now=100.0)
    bucket.spend(20, 100.0)

    assert bucket.pause(50.0) == pytest.approx(1.0)
    assert bucket.pause(100.5) == pytest.approx(0.5)


def test_nobody_is_told_to_wait_longer_than_can_be_told() -> None:
    bucket = Bucket(1e-9, 1.0, now=0.0)
    bucket.spend(1e9, 0.0)

    assert bucket.pause(0.0) * 1000 < 2**31
