"""Waiting for something that another process does: by looking again, up to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_AGAIN_S = 0.02


def eventually(condition: Callable[[], T], *, timeout_s: float = 30, what: str = "") -> T:
    """The first true value of `condition`; fails with its last value when time is up."""
    give_up = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > give_up:
            raise AssertionError(f"not after {timeout_s} s: {what or condition}, it is {found!r}")
        time.sleep(LOOK_AGAIN_S)
    return found
