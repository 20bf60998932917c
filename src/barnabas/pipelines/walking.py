"""Where the records of batches begin: the one thing that must be found record by record.

A record says how long it is, so that each leads to the next.  Three ways to go, all with the same
result: many batches are walked abreast, a record of each at a time; along a long batch, records of
the same length are found together, as far as they follow each other; what is left is walked step by
step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import read_varint

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

ABREAST_MIN = 48
"""Fewer batches are walked one after the other: a step costs the same however many there are."""
RUN_MIN = 16
LOOK_MAX = 8192
STEPS = 64
"""After a short run, so many records are walked step by step before the next one is looked for."""


def record_starts(
    data: memoryview | bytes, starts: Sequence[int], ends: Sequence[int], counts: Sequence[int]
) -> tuple[Int64s, Int64s]:
    """Where records begin (behind their lengths) and end, of batches whose bodies lie between
    `starts` and `ends`; InvalidRecord if they do not fill these exactly.
    """
    places = np.cumsum(np.array(counts, np.int64))
    begins = np.empty(int(places[-1]), np.int64)
    stops = np.empty_like(begins)
    at = np.array(starts, np.int64)
    try:
        done = _walk_abreast(np.frombuffer(data, np.uint8), at, np.array(counts), begins, stops)
        for i, count in enumerate(counts):
            if count > done:
                rows = slice(int(places[i]) - count + done, int(places[i]))
                _walk_along(data, int(at[i]), begins[rows], stops[rows])
    except IndexError:
        raise InvalidRecord("A record ends beyond its batch.") from None
    if (stops < begins).any():
        raise InvalidRecord("A record's length is negative.")
    if (stops[places - 1] != np.array(ends)).any():
        raise InvalidRecord("The records of a batch do not fill it.")
    return begins, stops


def _walk_abreast(data: Bytes, at: Int64s, counts: Int64s, begins: Int64s, stops: Int64s) -> int:
    """Moves `at` on while there are enough batches left; how many records of each it has seen."""
    order = np.argsort(-counts, kind="stable")
    longest_first = counts[order]
    slots = (np.cumsum(counts) - counts)[order]
    here = at[order]
    step = 0
    live = len(counts)
    while live >= ABREAST_MIN:
        size = data[here[:live]].astype(np.int64)
        more = data[here[:live] + 1].astype(np.int64)
        is_long = size > 127
        if (is_long & (more > 127)).any():
            break  # records of 8 KiB: there are not many of them
        size += np.where(is_long, (more - 1) << 7, 0)
        begin = here[:live] + 1 + is_long
        stop = begin + np.where(size & 1, -1, size >> 1)
        begins[slots[:live]] = begin
        stops[slots[:live]] = stop
        here[:live] = stop
        slots += 1
        step += 1
        live = int(np.searchsorted(-longest_first, -step))
    at[order] = here
    return step


def _walk_along(data: memoryview | bytes, at: int, begins: Int64s, stops: Int64s) -> None:
    """Fills both arrays from the record at `at` on."""
    array = np.frombuffer(data, np.uint8)
    done, count = 0, len(begins)
    while done < count:
        size, begin = _size_at(data, at)
        stride = begin - at + size
        run = _equal_run(array, at, begin - at, stride, count - done)
        if run >= RUN_MIN:
            begins[done : done + run] = begin + stride * np.arange(run)
            stops[done : done + run] = begins[done : done + run] + size
            at += run * stride
            done += run
        else:
            steps = min(STEPS, count - done)
            at = _walk_steps(data, at, begins[done : done + steps], stops[done : done + steps])
            done += steps


def _equal_run(array: Bytes, at: int, width: int, stride: int, most: int) -> int:
    """How many records, one behind the other, have a length that is written with the same bytes.

    Where that is so the next one begins a stride later: equal bytes are a proof, not a guess.
    """
    most = min(most, (len(array) - at) // stride) if stride > 0 else 0
    run, look = 0, 4 * RUN_MIN
    while run < most:
        look = min(look, most - run)
        first = at + run * stride
        same = np.ones(look, np.bool_)
        for i in range(width):
            column = array[first + i : first + i + (look - 1) * stride + 1 : stride]
            same &= column == array[at + i]
        if not same.all():
            return run + int(same.argmin())
        run += look
        look = min(2 * look, LOOK_MAX)
    return run


def _walk_steps(data: memoryview | bytes, at: int, begins: Int64s, stops: Int64s) -> int:
    found: list[int] = []
    ends: list[int] = []
    for _ in range(len(begins)):
        size = data[at]
        at += 1
        if size > 127:
            if (more := data[at]) < 128:
                size += (more - 1) << 7
                at += 1
            else:
                size, at = read_varint(data, at - 1)  # type: ignore[arg-type]
        found.append(at)
        at += -1 if size & 1 else size >> 1
        ends.append(at)
    begins[:] = found
    stops[:] = ends
    return at


def _size_at(data: memoryview | bytes, at: int) -> tuple[int, int]:
    """A record's length, -1 if it is a negative one, and where the record begins behind it."""
    size, begin = read_varint(data, at)  # type: ignore[arg-type]
    return -1 if size & 1 else size >> 1, begin
