"""A leader's judgement of a client's batch: the codes Apache Kafka gives, and what it changes."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.records.batch import (
    HEADER_SIZE,
    Record,
    batch_crc,
    build_batch,
    crc_is_valid,
    decode_records,
    encode_batch,
    encode_record,
    read_header,
)
from barnabas.records.compression import Codec, compress
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker
from barnabas.records.validate import (
    InvalidRecords,
    TakesLong,
    ValidationRules,
    check_header,
    is_laborious,
    validate_batch,
)

NOW = 1_700_000_000_000
HOUR = 3_600_000
PLAIN = ValidationRules()
COMPACT = ValidationRules(compact=True)
RECORDS = [Record(timestamp=NOW, key=b"k%d" % i, value=b"v%d" % i) for i in range(3)]
GOOD = encode_batch(RECORDS)
HEADER = read_header(GOOD)
BODY = bytes(GOOD[HEADER_SIZE:])
TINIEST = bytes.fromhex("0c 00 00 00 01 01 00")
"""A record with nothing in it."""
MOST = {"count": 2**31 - 1, "last_offset_delta": 2**31 - 2}


def altered(body: bytes = BODY, **fields: int) -> bytearray:
    return build_batch(HEADER._replace(**fields), body)


def with_payload(codec: int, payload: bytes) -> bytearray:
    """A batch whose payload is not compressed here, whatever its attributes say."""
    batch = bytearray(HEADER_SIZE) + payload
    header = HEADER._replace(attributes=codec, batch_length=len(batch) - 12, crc=0)
    struct.pack_into(">qiibIhiqqqhii", batch, 0, *header)
    struct.pack_into(">I", batch, 17, batch_crc(batch))
    return batch


def spoilt(position: int, value: int, batch: bytearray = GOOD) -> bytearray:
    copy = bytearray(batch)
    copy[position] = value
    return copy


def code_of(batch: bytes | bytearray, rules: ValidationRules = PLAIN, **options: Any) -> ErrorCode:
    try:
        validate_batch(memoryview(bytearray(batch)), rules, now_ms=NOW, **options)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (GOOD, "NONE"),
        (altered(leader_epoch=5), "NONE"),
        (altered(base_offset=7), "INVALID_RECORD"),
        (altered(base_offset=-1), "INVALID_RECORD"),
        (GOOD + GOOD, "INVALID_RECORD"),
        (b"", "INVALID_RECORD"),
        (GOOD[:-1], "INVALID_RECORD"),
        (GOOD[:10], "INVALID_RECORD"),
        (GOOD[:20], "INVALID_RECORD"),
        (GOOD + b"x", "NONE"),
        (GOOD + b"x" * 20, "CORRUPT_MESSAGE"),
        (GOOD + bytes(70), "CORRUPT_MESSAGE"),
        (spoilt(len(GOOD) - 1, 0xEE), "CORRUPT_MESSAGE"),
        (spoilt(60, 9), "CORRUPT_MESSAGE"),  # a damaged count is damage, not a bad batch
        (spoilt(16, 0), "INVALID_RECORD"),
        (spoilt(16, 1), "INVALID_RECORD"),
        (spoilt(16, 3), "CORRUPT_MESSAGE"),
        (struct.pack(">qi", 0, 48) + GOOD[12:], "CORRUPT_MESSAGE"),
        (struct.pack(">qi", 0, -1) + GOOD[12:], "CORRUPT_MESSAGE"),
        (altered(last_offset_delta=5), "INVALID_RECORD"),
        (altered(last_offset_delta=1), "INVALID_RECORD"),
        (altered(last_offset_delta=-1), "INVALID_RECORD"),
        (altered(b"", count=0, last_offset_delta=0), "INVALID_RECORD"),
        (altered(b"", count=0, last_offset_delta=-1), "INVALID_RECORD"),
        (altered(count=-1), "INVALID_RECORD"),
        (altered(**MOST), "INVALID_RECORD"),
        (altered(TINIEST * 3, count=4, last_offset_delta=3), "INVALID_RECORD"),
        (altered(TINIEST * 3, count=3, last_offset_delta=2), "NONE"),
        (altered(attributes=int(Codec.ZSTD), **MOST), "INVALID_RECORD"),
        (altered(attributes=0x20), "INVALID_RECORD"),
        (altered(attributes=-0x8000 | 0x20), "INVALID_RECORD"),
        (altered(producer_id=9, producer_epoch=0, base_sequence=-1), "INVALID_RECORD"),
        (altered(producer_id=9, producer_epoch=0, base_sequence=-5), "INVALID_RECORD"),
        (altered(producer_id=9, producer_epoch=0, base_sequence=0), "NONE"),
        (altered(base_sequence=5), "NONE"),
        (altered(attributes=0x80), "NONE"),
        (with_payload(5, BODY), "UNSUPPORTED_COMPRESSION_TYPE"),
        (encode_batch([RECORDS[0]._replace(timestamp=-1)]), "NONE"),
        (encode_batch([RECORDS[0]._replace(timestamp=5)]), "NONE"),
    ],
)
def test_each_fault_has_the_code_that_kafka_gives_it(batch: bytes, code: str) -> None:
    assert code_of(batch).name == code


def test_markers_are_refused_from_clients() -> None:
    marker = EndTxnMarker(ControlType.COMMIT, 0)
    batch = encode_end_txn_marker(marker, producer_id=1, producer_epoch=0, timestamp=NOW)

    assert code_of(batch) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_of_any_codec_stays_where_it_is(codec: Codec) -> None:
    data = memoryview(encode_batch(RECORDS, codec=codec))

    validated = validate_batch(data, PLAIN, now_ms=NOW)

    assert validated.data is data
    assert validated.header == read_header(data)
    assert validated.log_append_time == -1


def test_zstd_needs_a_client_that_knows_it() -> None:
    batch = encode_batch(RECORDS, codec=Codec.ZSTD)

    assert code_of(batch, zstd_allowed=False) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code_of(batch, zstd_allowed=True) is ErrorCode.NONE
    assert code_of(GOOD, zstd_allowed=False) is ErrorCode.NONE


def test_limits_are_inclusive() -> None:
    size = len(GOOD)

    assert code_of(GOOD, ValidationRules(max_message_bytes=size)) is ErrorCode.NONE
    too_large = ValidationRules(max_message_bytes=size - 1)
    assert code_of(GOOD, too_large) is ErrorCode.MESSAGE_TOO_LARGE
    tiny_segments = ValidationRules(segment_bytes=size - 1)
    assert code_of(GOOD, tiny_segments) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_batch_that_grows_in_conversion_is_measured_again() -> None:
    batch = encode_batch([Record(timestamp=NOW, value=bytes(5000))], codec=Codec.GZIP)
    rules = ValidationRules(max_message_bytes=1000, codec=Codec.NONE)

    assert code_of(batch, rules) is ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(batch, ValidationRules(max_message_bytes=1000)) is ErrorCode.NONE


@pytest.mark.parametrize("codec", list(Codec))
def test_keyless_records_of_a_compacted_topic_are_named(codec: Codec) -> None:
    records = [RECORDS[0], Record(timestamp=NOW, value=b"x"), Record(timestamp=NOW)]

    batch = encode_batch(records, codec=codec)
    with pytest.raises(InvalidRecords) as caught:
        validate_batch(memoryview(batch), COMPACT, now_ms=NOW)

    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in caught.value.record_errors] == [1, 2]
    assert code_of(encode_batch(RECORDS, codec=codec), COMPACT) is ErrorCode.NONE


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize(
    ("timestamp", "rules", "fine"),
    [
        (NOW + HOUR, PLAIN, True),
        (NOW + HOUR + 1, PLAIN, False),
        (NOW - HOUR, ValidationRules(before_max_ms=HOUR), True),
        (NOW - HOUR - 1, ValidationRules(before_max_ms=HOUR), False),
        (-1, ValidationRules(before_max_ms=HOUR), True),
        (NOW + HOUR + 1, ValidationRules(log_append_time=True), True),
    ],
)
def test_timestamps_too_far_off_are_named(
    codec: Codec, timestamp: int, rules: ValidationRules, fine: bool
) -> None:
    records = [RECORDS[0], RECORDS[1]._replace(timestamp=timestamp)]
    batch = memoryview(encode_batch(records, codec=codec))

    if fine:
        validate_batch(batch, rules, now_ms=NOW)
        return
    with pytest.raises(InvalidRecords) as caught:
        validate_batch(batch, rules, now_ms=NOW)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [1]


def test_the_first_bad_record_decides_the_code() -> None:
    late, keyless = RECORDS[0]._replace(timestamp=NOW + 2 * HOUR), Record(timestamp=NOW)

    assert code_of(encode_batch([late, keyless]), COMPACT) is ErrorCode.INVALID_TIMESTAMP
    assert code_of(encode_batch([keyless, late]), COMPACT) is ErrorCode.INVALID_RECORD
    both = keyless._replace(timestamp=NOW + 2 * HOUR)
    assert code_of(encode_batch([both]), COMPACT) is ErrorCode.INVALID_RECORD


def test_a_header_that_claims_a_later_time_than_its_records_is_corrected() -> None:
    data = memoryview(altered(max_timestamp=NOW + 2 * HOUR))

    validated = validate_batch(data, PLAIN, now_ms=NOW)

    assert validated.header.max_timestamp == NOW
    assert bytes(validated.data) == bytes(GOOD)


@pytest.mark.parametrize("codec", list(Codec))
def test_log_append_time_is_patched_into_the_header_only(codec: Codec) -> None:
    data = memoryview(encode_batch(RECORDS, codec=codec))
    body = bytes(data[HEADER_SIZE:])

    validated = validate_batch(data, ValidationRules(log_append_time=True), now_ms=NOW + 7)

    assert validated.log_append_time == NOW + 7
    assert bytes(validated.data[HEADER_SIZE:]) == body
    assert crc_is_valid(validated.data, validated.header)
    assert {r.timestamp for r in decode_records(validated.data)} == {NOW + 7}


def test_a_client_cannot_claim_log_append_time() -> None:
    validated = validate_batch(memoryview(altered(attributes=0x08)), PLAIN, now_ms=NOW)

    assert not validated.header.is_log_append_time
    assert bytes(validated.data) == bytes(GOOD)


@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("log_append_time", [False, True])
def test_conversion_changes_the_codec_and_nothing_else(
    source: Codec, target: Codec, log_append_time: bool
) -> None:
    batch = encode_batch(
        RECORDS, codec=source, producer_id=4, producer_epoch=2, base_sequence=8, transactional=True
    )
    before = read_header(batch)
    rules = ValidationRules(codec=target, log_append_time=log_append_time)

    data, header, append_time = validate_batch(memoryview(batch), rules, now_ms=NOW + 1)

    assert header == read_header(data)
    assert header.codec is target
    assert crc_is_valid(data, header)
    assert append_time == (NOW + 1 if log_append_time else -1)
    expected = [r._replace(offset=i, sequence=8 + i) for i, r in enumerate(RECORDS)]
    if log_append_time:
        expected = [r._replace(timestamp=NOW + 1) for r in expected]
    assert list(decode_records(data)) == expected
    same = ("last_offset_delta", "base_timestamp", "producer_id", "producer_epoch", "count")
    assert all(getattr(header, name) == getattr(before, name) for name in same)
    assert header.is_transactional


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("payload", [b"\x12garbage here", b""])
def test_what_does_not_decompress_is_invalid_once_someone_looks(
    codec: Codec, payload: bytes
) -> None:
    assert code_of(with_payload(codec, payload), COMPACT) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", list(Codec))
def test_misnumbered_or_left_over_records_are_invalid_once_someone_looks(codec: Codec) -> None:
    gaps = b"".join(encode_record(r, 0, 2 * i) for i, r in enumerate(RECORDS))

    assert code_of(altered(gaps, attributes=codec), COMPACT) is ErrorCode.INVALID_RECORD
    payload = bytes(compress(codec, BODY + b"\0"))
    assert code_of(with_payload(codec, payload), COMPACT) is ErrorCode.INVALID_RECORD


def test_a_decompression_bomb_is_refused() -> None:
    batch = encode_batch(
        [Record(timestamp=NOW, key=b"k", value=bytes(2_000_000))], codec=Codec.ZSTD
    )
    assert len(batch) < 1000

    rules = ValidationRules(compact=True, max_decompressed_bytes=1_000_000)
    assert code_of(batch, rules) is ErrorCode.INVALID_RECORD
    assert code_of(batch, COMPACT) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        (PLAIN, False),
        (COMPACT, True),
        (ValidationRules(codec=Codec.NONE), False),
        (ValidationRules(codec=Codec.GZIP), True),
        (ValidationRules(before_max_ms=HOUR), True),
        (ValidationRules(before_max_ms=HOUR, log_append_time=True), False),
    ],
)
def test_records_are_looked_at_only_where_the_header_cannot_answer(
    rules: ValidationRules, answer: bool
) -> None:
    assert check_header(HEADER, len(GOOD), rules, NOW) is answer


MANY = encode_batch([Record(timestamp=NOW, key=b"k", value=b"")] * 1001, codec=Codec.ZSTD)
LARGE = encode_batch([Record(timestamp=NOW, key=b"k", value=bytes(128 * 1024))])


@pytest.mark.parametrize("batch", [MANY, LARGE], ids=["many records", "many bytes"])
def test_much_work_is_left_to_those_who_have_time(batch: bytearray) -> None:
    data = memoryview(bytearray(batch))

    assert is_laborious(data, COMPACT, now_ms=NOW)
    with pytest.raises(TakesLong):
        validate_batch(data, COMPACT, now_ms=NOW, patient=False)
    assert validate_batch(data, COMPACT, now_ms=NOW).data == batch


@pytest.mark.parametrize(
    ("batch", "rules"),
    [
        pytest.param(MANY, PLAIN, id="the header suffices"),
        pytest.param(GOOD, COMPACT, id="few records"),
        pytest.param(LARGE, ValidationRules(compact=True, max_message_bytes=9), id="refused"),
        pytest.param(GOOD[:50], COMPACT, id="not even a header"),
    ],
)
def test_little_work_is_done_at_once(batch: bytearray, rules: ValidationRules) -> None:
    assert not is_laborious(memoryview(bytearray(batch)), rules, now_ms=NOW)
