"""How long a tool goes on asking for what a broker refuses for a passing reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from barnabas.client.errors import RefusedError

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5

PASSING = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
        "UNSTABLE_OFFSET_COMMIT",
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_LEADER_FOR_PARTITION",  # the same, as librdkafka calls it
        "LEADER_NOT_AVAILABLE",
    }
)

Result = TypeVar("Result")


def passes(found: object) -> bool:
    """Whether this is a refusal, and the same request may well be answered a moment later."""
    return isinstance(found, RefusedError) and found.name in PASSING


@dataclass(slots=True, kw_only=True)
class Patience:
    """A time limit, and the pauses between attempts within it."""

    seconds: float
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def deadline(self) -> float:
        return self.monotonic() + self.seconds

    def wait(self, tried: int, deadline: float) -> bool:
        """Pauses before the next attempt; False, at once, if that would be after the deadline."""
        pause = min(FIRST_PAUSE_S * 2**tried, LONGEST_PAUSE_S)
        if self.monotonic() + pause >= deadline:
            return False
        self.sleep(pause)
        return True

    def until_settled(self, attempt: Callable[[], Result]) -> Result:
        """The result of the first attempt that is not refused for a passing reason."""
        deadline = self.deadline()
        tried = 0
        while True:
            try:
                return attempt()
            except RefusedError as error:
                if not passes(error) or not self.wait(tried, deadline):
                    raise
            tried += 1
