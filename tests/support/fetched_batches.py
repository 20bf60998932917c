"""Batches as a fetch brings them, for tests of the pipelines' decoder; and rows to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from barnabas.pipelines.decode import decode
from barnabas.pipelines.fetching import Fetched
from barnabas.pipelines.offsets import OffsetRange
from barnabas.records.batch import Record, decode_records, iter_headers

EVERYTHING = OffsetRange("t", 3, 0, 1 << 62)


def fetched(
    *batches: bytes | bytearray, position: int = 0, aborted: Sequence[tuple[int, int]] = ()
) -> Fetched:
    records = memoryview(b"".join(batches))
    return Fetched(
        records=records,
        batches=list(iter_headers(records)),
        position=position,
        aborted=list(aborted),
    )


def rows(found: Fetched, span: OffsetRange = EVERYTHING, **options: bool) -> list[dict[str, Any]]:
    """Through Arrow, validated in full."""
    made: list[pa.RecordBatch] = list(decode(found, span, **options))
    for batch in made:
        batch.validate(full=True)
    return [row for batch in made for row in batch.to_pylist()]


def slow_rows(batch: bytes | bytearray) -> list[Record]:
    """As the records room reads them, one by one."""
    return list(decode_records(batch))
