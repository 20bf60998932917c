"""Where things are in a picture: seconds to the right, counts upwards.  Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from 0 to `most`, drawn from `low` to `high`."""

    most: float
    low: float
    high: float

    def __call__(self, value: float) -> float:
        part = value / self.most if self.most > 0 else 0.0
        return round(self.low + (self.high - self.low) * min(max(part, 0.0), 1.0), 1)


def ticks(most: float, *, about: int) -> list[float]:
    """Round numbers from 0 to `most`, not many more than `about`."""
    if most <= 0:
        return [0.0]
    rough = most / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough)
    return [step * number for number in range(int(most / step) + 1)]


def rows_of(places: Sequence[float], *, apart: float, rows: int) -> list[int]:
    """A row for each place, in order, so that neighbours do not cover each other.

    With more of them than rows the last row gets crowded: better than leaving one out.
    """
    last = [-math.inf] * rows
    chosen = []
    for place in places:
        row = next((each for each in range(rows) if place - last[each] >= apart), rows - 1)
        last[row] = place
        chosen.append(row)
    return chosen
