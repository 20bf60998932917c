"""What the disk of a node is like: said by the lab, read by the node."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskState:
    """As it stands it is a good one."""

    slow_s: float = 0.0
    """How much longer each write and each flush takes."""
    full: bool = False

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: str) -> DiskState:
        return cls(**json.loads(line))
