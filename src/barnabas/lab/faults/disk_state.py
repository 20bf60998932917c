"""What the disk of a node is like: said by the lab, read by the node."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Felt = Literal["slow", "full"]
"""Which fault of a disk a node has met with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskState:
    """As it stands it is a good one."""

    slow_s: float = 0.0
    """How much longer each write and each flush takes."""
    full: bool = False

    @classmethod
    def together(cls, states: Iterable[DiskState]) -> DiskState:
        """A disk with all of these faults; without any, a good one."""
        listed = list(states)
        return cls(
            slow_s=sum(state.slow_s for state in listed), full=any(state.full for state in listed)
        )

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    def causes(self, felt: Felt) -> bool:
        """Whether this is why a node has felt that."""
        return self.full if felt == "full" else self.slow_s > 0

    @classmethod
    def of(cls, line: str) -> DiskState:
        return cls(**json.loads(line))
