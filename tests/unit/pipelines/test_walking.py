"""Beginnings of records, found abreast, in runs and step by step: always the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from barnabas.base.errors import InvalidRecord
from barnabas.pipelines.walking import ABREAST_MIN, record_starts
from barnabas.records.batch import put_varint


def body(sizes: Sequence[int]) -> bytes:
    out = bytearray()
    for size in sizes:
        put_varint(out, size)
        out += bytes(size)
    return bytes(out)


def expected(sizes: Sequence[int], start: int) -> list[tuple[int, int]]:
    found = []
    at = start
    for size in sizes:
        at += len(body([size])) - size
        found.append((at, at + size))
        at += size
    return found


def walk(batches: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    bodies = [body(sizes) for sizes in batches]
    ends = list(np.cumsum([len(each) for each in bodies]))
    starts = [end - len(each) for end, each in zip(ends, bodies, strict=True)]
    begins, stops = record_starts(b"".join(bodies), starts, ends, [len(each) for each in batches])
    return list(zip(begins.tolist(), stops.tolist(), strict=True))


ONE_SIZE = [100] * 3000
GROWING = [6 + i // 10 for i in range(2000)]
WILD = [6 + i * i % 9000 for i in range(700)]
PIECES = [20] * 100 + [7, 9000, 8] + [63] * 70 + [64] * 300 + [8191, 8192, 6]


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([ONE_SIZE], id="one size"),
        pytest.param([GROWING], id="growing"),
        pytest.param([WILD], id="wild"),
        pytest.param([PIECES, ONE_SIZE, WILD], id="some batches"),
        pytest.param([[100] * 150] * ABREAST_MIN, id="abreast"),
        pytest.param([WILD[i : i + 1 + i] for i in range(2 * ABREAST_MIN)], id="abreast, uneven"),
        pytest.param([[10] * 40] * 60 + [ONE_SIZE, PIECES], id="abreast, then along"),
        pytest.param([[6]], id="one record"),
    ],
)
def test_every_record_is_found_where_it_is(batches: list[list[int]]) -> None:
    found, start = [], 0
    for sizes in batches:
        found += expected(sizes, start)
        start += len(body(sizes))

    assert walk(batches) == found


@pytest.mark.parametrize("count", [1, ABREAST_MIN])
def test_records_that_do_not_fill_their_batch_are_refused(count: int) -> None:
    data = body([20] * 30)
    starts = [len(data) * i for i in range(count)]
    ends = [start + len(data) for start in starts]

    for wrong in (29, 31):
        with pytest.raises(InvalidRecord):
            record_starts(data * count, starts, ends, [30] * (count - 1) + [wrong])


@pytest.mark.parametrize("count", [1, ABREAST_MIN])
def test_a_negative_length_is_refused(count: int) -> None:
    bad = bytearray()
    put_varint(bad, -1)
    data = body([5]) + bytes(bad) + body([5])
    starts = [len(data) * i for i in range(count)]
    ends = [start + len(data) for start in starts]

    with pytest.raises(InvalidRecord):
        record_starts(data * count, starts, ends, [3] * count)
