"""What the load tools share: numbers of librdkafka for `--print-metrics`, and a quiet process."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

INTERVAL_MS = 500
GIVE_UP_POLLS = 20


@contextmanager
def no_collections() -> Iterator[None]:
    """Without looking for garbage in circles: of millions of messages none is in one."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass(slots=True)
class Statistics:
    """Keeps the latest; filled while a client is polled, on the thread that polls."""

    latest: dict[str, Any] = field(default_factory=dict)
    count: int = 0

    def __call__(self, text: str) -> None:
        self.latest = json.loads(text)
        self.count += 1

    def config(self) -> dict[str, Any]:
        """What makes a client tell."""
        return {"statistics.interval.ms": str(INTERVAL_MS), "stats_cb": self}

    def fresh(self, poll: Callable[[float], object]) -> dict[str, Any]:
        """Numbers that were told after this call, or the latest if none come."""
        before = self.count
        for _ in range(GIVE_UP_POLLS):
            poll(INTERVAL_MS / 1000)
            if self.count > before:
                break
        return self.latest
