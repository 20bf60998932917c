"""Records as spans."""

from __future__ import annotations

import pytest

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import (
    HEADER_SIZE,
    Record,
    decode_body,
    encode_batch,
    encode_record,
    read_header,
    record_body,
)
from barnabas.records.scan import retimed, scan_body

RECORDS = [
    Record(timestamp=1000, key=b"k", value=b"v"),
    Record(timestamp=100_000_000, key=None, value=None, headers=[("h", b"x")]),
    Record(timestamp=-5, key=b"k" * 100, value=b"v" * 20_000),
    Record(timestamp=1000, key=b"", value=b""),
]


def test_spans_are_the_records() -> None:
    batch = encode_batch(RECORDS, base_offset=3)
    header = read_header(batch)
    body = record_body(batch, header)

    spans = list(scan_body(body, header))

    assert b"".join(body[span.start : span.end] for span in spans) == body
    assert [span.key for span in spans] == [r.key for r in RECORDS]
    assert [span.has_value for span in spans] == [r.value is not None for r in RECORDS]
    assert [span.offset_delta for span in spans] == [0, 1, 2, 3]
    assert [1000 + span.timestamp_delta for span in spans] == [r.timestamp for r in RECORDS]


@pytest.mark.parametrize("shift", [0, 1, -70, 10_000, -(10**12)])
def test_another_base_timestamp_leaves_the_records_as_they_are(shift: int) -> None:
    batch = encode_batch(RECORDS)
    header = read_header(batch)
    body = record_body(batch, header)

    moved = b"".join(
        retimed(body, span, span.timestamp_delta - shift) for span in scan_body(body, header)
    )

    rebased = header._replace(base_timestamp=header.base_timestamp + shift)
    assert list(decode_body(moved, rebased)) == list(decode_body(body, header))


def test_attributes_survive_a_new_timestamp() -> None:
    body = bytearray(encode_record(Record(key=b"k", value=b"v"), 5, 0))
    body[1] = 0x5A
    header = read_header(encode_batch(RECORDS[:1]))

    (span,) = scan_body(bytes(body), header)
    assert retimed(bytes(body), span, 500)[1] == 0x5A


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("", 1),
        ("0c 00 00 00 01 01 00", 2),
        ("0c 00 00 00 01 01 00 00", 1),
        ("0d 00 00 00 01 01 00", 1),
        ("0e 00 00 00 01 01 00", 1),
        ("08 00 00 00 01 01", 1),
        ("0c 00 00 00 7e 01 00", 1),
        ("14 00 00 00 feffffff0f 01 00", 1),
        ("0c 00 00 00 01 7e 00", 1),
        ("ffffffffffff 00", 1),
        ("22 00 ffffffffffffffffffff 01 00 01 01 00", 1),
    ],
)
def test_malformed_records_are_invalid(body: str, count: int) -> None:
    header = read_header(encode_batch(RECORDS[:1])[:HEADER_SIZE])._replace(count=count)

    with pytest.raises(InvalidRecord):
        list(scan_body(bytes.fromhex(body), header))
