"""Promises of the records room, for whatever bytes and records there are."""

from __future__ import annotations

import struct
import warnings
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch as kio_read_batch

from barnabas.base.errors import ApiError
from barnabas.records.batch import (
    HEADER_SIZE,
    Record,
    batch_crc,
    crc_is_valid,
    decode_records,
    encode_batch,
    iter_headers,
    read_header,
    record_body,
)
from barnabas.records.compression import Codec, decompress
from barnabas.records.scan import scan_body
from barnabas.records.validate import ValidationRules, judge_batch, validate_batch

with warnings.catch_warnings():  # it reads its schemas with a function that Python deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch as PyBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as PyBuilder

NOW = 1_700_000_000_000

optional_bytes = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=20)), max_size=3)
records = st.lists(
    st.builds(
        Record,
        offset=st.just(-1),
        timestamp=st.integers(0, 1 << 45),
        key=optional_bytes,
        value=optional_bytes,
        headers=headers,
        sequence=st.just(-1),
    ),
    min_size=1,
    max_size=12,
)
codecs = st.sampled_from(Codec)


def as_seen(record: Any) -> tuple[object, ...]:
    """The same for our records and for those of the other libraries."""
    pairs = [(key, None if value is None else bytes(value)) for key, value in record.headers]
    return record.offset, record.timestamp, record.key, record.value, pairs


@given(given_records=records, codec=codecs, base_offset=st.integers(0, 1 << 60))
def test_records_survive_a_round_trip(
    given_records: list[Record], codec: Codec, base_offset: int
) -> None:
    batch = encode_batch(given_records, base_offset=base_offset, codec=codec)

    expected = [as_seen(r._replace(offset=base_offset + i)) for i, r in enumerate(given_records)]
    assert [as_seen(r) for r in decode_records(batch)] == expected
    assert [(p, h.size_bytes) for p, h in iter_headers(batch)] == [(0, len(batch))]
    assert crc_is_valid(batch, read_header(batch))


@given(given_records=records, gaps=st.data())
def test_offsets_may_have_gaps(given_records: list[Record], gaps: st.DataObject) -> None:
    size = len(given_records)
    offsets = gaps.draw(st.lists(st.integers(5, 500), min_size=size, max_size=size, unique=True))
    numbered = [r._replace(offset=o) for r, o in zip(given_records, sorted(offsets), strict=True)]

    batch = encode_batch(numbered, base_offset=5)

    assert [r.offset for r in decode_records(batch)] == sorted(offsets)
    assert read_header(batch).last_offset == max(offsets)


@given(given_records=records, codec=codecs)
def test_aiokafka_reads_what_we_write(given_records: list[Record], codec: Codec) -> None:
    batch = encode_batch(given_records, codec=codec, base_offset=3)

    theirs = AioBatch(bytes(batch))
    assert theirs.validate_crc()
    assert [as_seen(r) for r in theirs] == [as_seen(r) for r in decode_records(batch)]


@given(given_records=records, codec=codecs)
def test_we_read_what_aiokafka_writes(given_records: list[Record], codec: Codec) -> None:
    builder = AioBuilder(2, codec, False, -1, -1, -1, 1 << 20)
    for i, r in enumerate(given_records):
        builder.append(i, r.timestamp, r.key, r.value, list(r.headers))
    batch = bytes(builder.build())

    expected = [as_seen(r._replace(offset=i)) for i, r in enumerate(given_records)]
    assert [as_seen(r) for r in decode_records(batch)] == expected
    assert crc_is_valid(batch, read_header(batch))


@given(given_records=records, codec=st.sampled_from([Codec.NONE, Codec.GZIP]))
def test_kafka_python_reads_what_we_write(given_records: list[Record], codec: Codec) -> None:
    batch = encode_batch(given_records, codec=codec, base_offset=3)

    theirs = PyBatch(bytes(batch))
    assert theirs.validate_crc()
    assert [as_seen(r) for r in theirs] == [as_seen(r) for r in decode_records(batch)]


@given(given_records=records)
def test_we_write_the_bytes_that_kafka_python_writes(given_records: list[Record]) -> None:
    builder = PyBuilder(2, 0, False, 7, 1, 5, 1 << 20)
    for i, r in enumerate(given_records):
        builder.append(i, r.timestamp, r.key, r.value, list(r.headers))
    theirs = bytes(builder.build())

    ours = encode_batch(given_records, producer_id=7, producer_epoch=1, base_sequence=5)
    assert theirs[12:16] != bytes(ours[12:16]), "they write leader epoch 0, as brokers may ignore"
    assert bytes(ours[:12]) + theirs[12:16] + bytes(ours[16:]) == theirs


@given(given_records=records)
def test_kio_reads_what_we_write(given_records: list[Record]) -> None:
    small = [r._replace(timestamp=r.timestamp % NOW) for r in given_records]
    batch = encode_batch(small, base_offset=3)

    theirs, used = kio_read_batch(bytes(batch), 0)
    assert used == len(batch)
    assert [
        (r.offset, r.key, r.value, [(h.key, h.value) for h in r.headers]) for r in theirs.records
    ] == [
        (3 + i, r.key, r.value, [(k.encode(), v) for k, v in r.headers])
        for i, r in enumerate(small)
    ]


def forged(body: bytes, attributes: int, count: int) -> bytearray:
    """A batch of any content with a good CRC."""
    batch = bytearray(encode_batch([Record(timestamp=0)])[:HEADER_SIZE]) + body
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, 21, attributes)
    struct.pack_into(">i", batch, 57, count)
    struct.pack_into(">I", batch, 17, batch_crc(batch))
    return batch


@given(body=st.binary(max_size=200), attributes=st.integers(0, 7), count=st.integers(-2, 40))
def test_any_body_is_read_or_refused(body: bytes, attributes: int, count: int) -> None:
    try:
        assert len(list(decode_records(forged(body, attributes, count)))) == max(count, 0)
    except ApiError:
        pass


@given(body=st.binary(max_size=200), count=st.integers(0, 10))
def test_any_body_is_scanned_or_refused(body: bytes, count: int) -> None:
    header = read_header(encode_batch([Record(timestamp=0)]))._replace(count=count)
    try:
        spans = list(scan_body(body, header))
    except ApiError:
        return
    assert b"".join(body[span.start : span.end] for span in spans) == body


@given(given_records=records)
def test_scanning_and_decoding_agree(given_records: list[Record]) -> None:
    batch = encode_batch(given_records, base_offset=9)
    header = read_header(batch)

    spans = scan_body(record_body(batch, header), header)

    assert [
        (
            9 + span.offset_delta,
            header.base_timestamp + span.timestamp_delta,
            span.key,
            span.has_value,
        )
        for span in spans
    ] == [(r.offset, r.timestamp, r.key, r.value is not None) for r in decode_records(batch)]


@given(given_records=records, codec=codecs, data=st.data())
def test_damage_is_read_or_refused(
    given_records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    batch = encode_batch(given_records, codec=codec)
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(batch[: data.draw(st.integers(0, len(batch)))])
    try:
        for position, header in iter_headers(cut):
            list(decode_records(cut[position : position + header.size_bytes]))
    except ApiError:
        pass


@given(codec=codecs, data=st.binary(max_size=100), max_size=st.integers(0, 5000))
def test_decompression_is_bounded_and_refuses_nonsense(
    codec: Codec, data: bytes, max_size: int
) -> None:
    try:
        assert len(decompress(codec, data, max_size=max_size)) <= max_size
    except ApiError:
        pass


header_fields = st.fixed_dictionaries(
    {},
    optional={
        "base_offset": st.integers(-1, 1),
        "magic": st.integers(0, 3),
        "attributes": st.integers(-0x8000, 0x7FFF) | st.integers(0, 0x7F),
        "last_offset_delta": st.integers(-2, 3),
        "max_timestamp": st.integers(NOW - 10, NOW + 10),
        "producer_id": st.integers(-2, 2),
        "base_sequence": st.integers(-2, 2),
        "count": st.integers(-2, 4),
    },
)


@given(
    fields=header_fields,
    tail=st.sampled_from([b"", b"x", bytes(20)]) | st.binary(max_size=70),
    cut=st.integers(0, 80) | st.just(0),
    limit=st.integers(60, 200),
    codec=codecs,
    zstd_allowed=st.booleans(),
    log_append_time=st.booleans(),
)
def test_the_short_cut_never_changes_the_judgement(
    *,
    fields: dict[str, int],
    tail: bytes,
    cut: int,
    limit: int,
    codec: Codec,
    zstd_allowed: bool,
    log_append_time: bool,
) -> None:
    batch = encode_batch([Record(timestamp=NOW, value=b"v")], codec=codec)
    header = read_header(batch)._replace(**fields)
    struct.pack_into(">qiibIhiqqqhii", batch, 0, *header)
    struct.pack_into(">I", batch, 17, batch_crc(batch))
    data = bytes(batch + tail)[: len(batch) + len(tail) - cut]
    rules = ValidationRules(
        max_message_bytes=limit, after_max_ms=5, log_append_time=log_append_time
    )

    def outcome(judge: Any) -> object:
        try:
            validated = judge(
                memoryview(bytearray(data)), rules, now_ms=NOW, zstd_allowed=zstd_allowed
            )
        except ApiError as error:
            return error.code, error.message
        return bytes(validated.data), validated.header, validated.log_append_time

    assert outcome(validate_batch) == outcome(judge_batch)
