"""Fetched batches become the rows that are in them, and never others."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from fetched_batches import EVERYTHING, fetched, rows

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.pipelines.decode import SCHEMA, SCHEMA_WITH_HEADERS, decode
from barnabas.pipelines.source import COLUMNS, HEADERS_COLUMN
from barnabas.records.batch import HEADER_SIZE, Record, build_batch, encode_batch, read_header
from barnabas.records.compression import Codec
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker

NOW = 1_700_000_000_123


def batch(base: int, *values: bytes, **options: object) -> bytearray:
    records = [Record(timestamp=NOW + i, key=b"k", value=each) for i, each in enumerate(values)]
    return encode_batch(records, base_offset=base, **options)  # type: ignore[arg-type]


def marker(base: int, kind: ControlType, producer_id: int = 7) -> bytearray:
    return encode_end_txn_marker(
        EndTxnMarker(kind, 0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=NOW,
        base_offset=base,
    )


def offsets(*arguments: object, **options: object) -> list[int]:
    return [row["offset"] for row in rows(*arguments, **options)]  # type: ignore[arg-type]


def test_the_arrow_schema_is_the_declared_one() -> None:
    """That of Spark's connector, whose columns these are."""
    from pyspark.sql import types as t
    from pyspark.sql.pandas.types import to_arrow_schema

    declared = t.StructType(
        [
            t.StructField("key", t.BinaryType()),
            t.StructField("value", t.BinaryType()),
            t.StructField("topic", t.StringType()),
            t.StructField("partition", t.IntegerType()),
            t.StructField("offset", t.LongType()),
            t.StructField("timestamp", t.TimestampType()),
            t.StructField("timestampType", t.IntegerType()),
        ]
    )
    assert to_arrow_schema(declared, timezone="UTC").equals(SCHEMA)
    pair = t.StructType(
        [t.StructField("key", t.StringType()), t.StructField("value", t.BinaryType())]
    )
    declared.add("headers", t.ArrayType(pair))
    assert to_arrow_schema(declared, timezone="UTC").equals(SCHEMA_WITH_HEADERS)
    names = [column.split()[0] for column in (COLUMNS + HEADERS_COLUMN).split(", ")]
    assert names[:8] == declared.names


@pytest.mark.parametrize("codec", Codec)
def test_a_row_has_all_that_its_record_has(codec: Codec) -> None:
    record = Record(timestamp=NOW, key=b"key", value=b"value", headers=[("h", b"1"), ("h", None)])

    (row,) = rows(fetched(encode_batch([record], base_offset=5, codec=codec)), with_headers=True)

    assert row == {
        "key": b"key",
        "value": b"value",
        "topic": "t",
        "partition": 3,
        "offset": 5,
        "timestamp": datetime.datetime.fromtimestamp(NOW / 1000, datetime.UTC),
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
    }


def test_null_and_empty_are_not_the_same() -> None:
    records = [
        Record(timestamp=NOW),
        Record(timestamp=NOW, key=b"", value=b""),
        Record(timestamp=NOW, key=None, value=b"v", headers=[("", b"")]),
    ]

    found = rows(fetched(encode_batch(records)), with_headers=True)

    assert [(row["key"], row["value"], row["headers"]) for row in found] == [
        (None, None, None),
        (b"", b"", None),
        (None, b"v", [{"key": "", "value": b""}]),
    ]


def test_batches_of_all_codecs_follow_each_other() -> None:
    batches = [batch(10 * n, b"a" * 300, b"b", codec=codec) for n, codec in enumerate(Codec)]
    again = [batch(50 + 10 * n, b"c", codec=codec) for n, codec in enumerate(Codec)]

    assert offsets(fetched(*batches, *again)) == [
        *(10 * n + i for n in range(5) for i in (0, 1)),
        *(50 + 10 * n for n in range(5)),
    ]


def test_long_records_and_many_of_them() -> None:
    values = [bytes([i % 251]) * (i * 37 % 20_000) for i in range(500)] + [b"x" * 1_000_000]

    found = rows(fetched(batch(0, *values)))

    assert [row["value"] for row in found] == values


def test_only_what_is_in_the_range_and_was_not_read_before() -> None:
    two = (batch(0, *[b"v"] * 10), batch(10, *[b"v"] * 10))

    assert offsets(fetched(*two, position=4), EVERYTHING._replace(end=12)) == list(range(4, 12))
    assert offsets(fetched(*two, position=20)) == []
    assert offsets(fetched(*two), EVERYTHING._replace(start=18)) == [18, 19]


def test_gaps_of_compaction_stay_gaps() -> None:
    kept = encode_batch(
        [Record(offset=3, timestamp=NOW, value=b"a"), Record(offset=9, timestamp=NOW, value=b"b")]
    )

    assert offsets(fetched(kept, batch(40, b"c"))) == [3, 9, 40]


def test_a_batch_that_compaction_emptied_has_no_rows() -> None:
    header = read_header(batch(0, b"a"))

    assert rows(fetched(build_batch(header._replace(count=0), b""), batch(1, b"b"))) != []
    assert offsets(fetched(build_batch(header._replace(count=0), b""))) == []


def test_the_time_of_appending_wins_where_the_topic_wants_it() -> None:
    late = encode_batch([Record(timestamp=NOW, value=b"v")] * 2, log_append_time=NOW + 5000)

    found = rows(fetched(batch(0, b"v"), late))

    assert [row["timestampType"] for row in found] == [0, 1, 1]
    assert [row["timestamp"].timestamp() * 1000 for row in found] == [NOW, NOW + 5000, NOW + 5000]


def test_markers_are_no_rows() -> None:
    written = batch(0, b"a", transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)

    assert offsets(fetched(written, marker(1, ControlType.COMMIT), batch(2, b"b"))) == [0, 2]


def test_aborted_transactions_are_left_out_up_to_their_marker() -> None:
    def written(base: int, producer_id: int) -> bytearray:
        return batch(
            base,
            b"v",
            transactional=True,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
        )

    found = fetched(
        written(0, 7),
        written(1, 8),
        marker(2, ControlType.ABORT, 7),
        written(3, 7),
        marker(4, ControlType.COMMIT, 7),
        marker(5, ControlType.COMMIT, 8),
        batch(6, b"plain"),
        written(7, 8),
        marker(8, ControlType.ABORT, 8),
        aborted=[(8, 7), (7, 0)],
    )

    assert offsets(found) == [1, 3, 6]


def test_headers_whose_keys_are_no_text_are_shown_as_java_shows_them() -> None:
    record = Record(timestamp=NOW, headers=[("a\udcffb", b"v"), ("plain", b"w")])

    (row,) = rows(fetched(encode_batch([record])), with_headers=True)

    assert [pair["key"] for pair in row["headers"]] == ["a\N{REPLACEMENT CHARACTER}b", "plain"]


def test_a_batch_with_another_checksum_is_refused() -> None:
    damaged = batch(0, b"value")
    damaged[-3] ^= 1

    with pytest.raises(CorruptMessage, match="checksum"):
        rows(fetched(damaged))
    assert len(rows(fetched(damaged), check_crcs=False)) == 1


@pytest.mark.parametrize("place", range(HEADER_SIZE, HEADER_SIZE + 9))
def test_records_that_are_out_of_place_are_errors_and_no_rows(place: int) -> None:
    """With a checksum that is right: only the structure is wrong."""
    damaged = batch(0, b"vvv", b"www")
    damaged[place] = 0xFF

    try:
        found = rows(fetched(damaged), check_crcs=False, with_headers=True)
    except InvalidRecord:
        return
    assert all(set(row["value"] or b"v") <= set(b"vwk\xff") for row in found)


def test_arrays_are_whole_arrow_arrays() -> None:
    (made,) = decode(fetched(batch(0, b"a", b"b")), EVERYTHING)

    assert isinstance(made, pa.RecordBatch)
    assert made.schema == SCHEMA
