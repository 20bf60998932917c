"""A frame in which only a few numbers are open."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, calcsize
from typing import Any

HEADER_BYTES = 8
"""Api key, version, correlation id."""
CORRELATION_ID = 1
"""Where it stands among the values of a form."""


class FrameForm:
    """Made of one such frame and the places of its numbers, each time the same kinds."""

    __slots__ = ("_fixed", "_frame", "_start", "_step")

    def __init__(self, data: bytes, places: Sequence[int], numbers: str) -> None:
        """`numbers` as `struct` names them: `qi` for an int64 with an int32 behind it."""
        starts = [HEADER_BYTES, *(place + calcsize(">" + numbers) for place in places)]
        fixed = [b - a for a, b in zip(starts, [*places, len(data)], strict=True)]
        self._frame = Struct(">4si" + numbers.join(f"{length}s" for length in fixed))
        self._step = 1 + len(numbers)
        values = self._frame.unpack(data)
        self._start, self._fixed = values[0], values[2 :: self._step]

    def values(self, frame: memoryview) -> tuple[Any, ...] | None:
        """Key and version, correlation id, then what is fixed with the numbers in between.

        None if the frame is not of this form.
        """
        if len(frame) != self._frame.size:
            return None
        values = self._frame.unpack(frame)
        if values[2 :: self._step] != self._fixed or values[0] != self._start:
            return None
        return values
