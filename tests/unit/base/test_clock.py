from __future__ import annotations

import time

from barnabas.base.clock import SYSTEM_CLOCK


def test_wall_time_is_whole_milliseconds_since_1970() -> None:
    before = time.time_ns() // 1_000_000
    now = SYSTEM_CLOCK.now_ms()

    assert isinstance(now, int)
    assert before <= now <= time.time_ns() // 1_000_000


def test_monotonic_time_never_goes_back() -> None:
    readings = [SYSTEM_CLOCK.monotonic() for _ in range(100)]

    assert readings == sorted(readings)
