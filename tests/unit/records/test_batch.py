"""Batches: golden bytes, patching in place, strictness about malformed ones."""

from __future__ import annotations

import struct

import pytest

from barnabas.base.errors import ApiError, CorruptMessage, InvalidRecord
from barnabas.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Record,
    add_sequence,
    build_batch,
    crc_is_valid,
    decode_records,
    encode_batch,
    iter_headers,
    read_header,
    set_max_timestamp,
    set_offset_and_epoch,
)
from barnabas.records.compression import Codec

RECORDS = [
    Record(timestamp=1_700_000_000_000, key=b"a", value=b"1"),
    Record(timestamp=1_700_000_000_005, key=None, value=None, headers=[("h", b"x"), ("n", None)]),
    Record(timestamp=1_699_999_999_000, key=b"", value=b"v" * 300),
]


def plain(records: list[Record], offset: int = 0) -> list[tuple[object, ...]]:
    return [
        (offset + i, r.timestamp, r.key, r.value, list(r.headers)) for i, r in enumerate(records)
    ]


def seen(batch: bytes | bytearray) -> list[tuple[object, ...]]:
    return [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in decode_records(batch)]


def raw_batch(body: bytes, count: int, **fields: int) -> bytearray:
    header = read_header(encode_batch([Record(timestamp=0, value=b"")]))
    return build_batch(header._replace(count=count, **fields), body)


def test_one_record_is_these_bytes() -> None:
    batch = encode_batch(
        [Record(timestamp=1000, key=b"k", value=b"val", headers=[("h", b"1")])],
        base_offset=7,
        producer_id=5,
        producer_epoch=1,
        base_sequence=3,
        leader_epoch=2,
    )

    body = bytes.fromhex("1c 00 00 00 02 6b 06 76616c 02 02 68 02 31")
    body = bytes([(len(body) - 1) * 2]) + body[1:]
    after_crc = struct.pack(">hiqqqhii", 0, 0, 1000, 1000, 5, 1, 3, 1) + body
    assert bytes(batch[21:]) == after_crc
    assert struct.unpack_from(">qiib", batch) == (7, len(batch) - 12, 2, 2)


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_encoded_is_decoded(codec: Codec) -> None:
    batch = encode_batch(RECORDS, base_offset=40, codec=codec)

    header = read_header(batch)
    assert seen(batch) == plain(RECORDS, 40)
    assert crc_is_valid(batch, header)
    assert (header.codec, header.count, header.last_offset) == (codec, 3, 42)
    assert header.max_timestamp == 1_700_000_000_005


def test_offset_and_epoch_are_not_under_the_crc() -> None:
    batch = encode_batch(RECORDS)
    set_offset_and_epoch(batch, 0, 1 << 40, 9)

    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 9)
    assert crc_is_valid(batch, header)


@pytest.mark.parametrize("position", [0, 13])
def test_log_append_time_gives_every_record_that_time(position: int) -> None:
    buffer = bytearray(position) + encode_batch(RECORDS) + b"behind"
    set_max_timestamp(buffer, position, 55, log_append_time=True)

    batch = bytes(buffer[position:-6])
    assert crc_is_valid(batch, read_header(batch))
    assert {r.timestamp for r in decode_records(batch)} == {55}
    set_max_timestamp(buffer, position, 1_700_000_000_005, log_append_time=False)
    assert bytes(buffer[position:-6]) == bytes(encode_batch(RECORDS))


def test_sequence_numbers_wrap_to_zero() -> None:
    batch = encode_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)

    assert [r.sequence for r in decode_records(batch)] == [2**31 - 2, 2**31 - 1, 0]
    assert read_header(batch).last_sequence == 0
    assert add_sequence(2**31 - 1, 1) == 0


def test_header_keys_that_are_not_text_survive() -> None:
    batch = raw_batch(bytes.fromhex("14 00 00 00 01 01 02 04 ff61 01"), 1)

    (record,) = decode_records(batch)
    assert bytes(encode_batch([record])[HEADER_SIZE:]) == bytes(batch[HEADER_SIZE:])


def test_walk_gives_each_whole_batch_and_stops_before_a_torn_one() -> None:
    first, second = encode_batch(RECORDS), encode_batch(RECORDS[:1], base_offset=3)
    buffer = bytes(first + second)

    assert [(p, h.base_offset) for p, h in iter_headers(buffer)] == [(0, 0), (len(first), 3)]
    for cut in range(1, len(second)):
        assert [p for p, _ in iter_headers(buffer[:-cut])] == [0]


@pytest.mark.parametrize(
    "fields", [{"batch_length": 48}, {"batch_length": -1}, {"magic": 1}, {"count": -1}]
)
def test_walk_refuses_what_cannot_be_a_batch(fields: dict[str, int]) -> None:
    header = read_header(encode_batch(RECORDS))._replace(**fields)
    buffer = struct.pack(">qiibIhiqqqhii", *header) + bytes(100)

    with pytest.raises(CorruptMessage):
        list(iter_headers(buffer))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"", 1),
        ("0c 00 00 00 01 01 00", 2),  # fewer than promised
        ("0c 00 00 00 01 01 00 00", 1),  # a byte is left
        ("0e 00 00 00 01 01 00", 1),  # the record is shorter than its length
        ("0a 00 00 00 01 01 00", 1),  # longer
        ("0d 00 00 00 01 01 00", 1),  # negative length
        ("0c 00 00 00 7e 01 00", 1),  # key beyond the batch
        ("14 00 00 00 feffffff0f 01 00", 1),  # key of 2 GiB
        ("0e 00 00 00 01 01 01 00", 1),  # -1 headers
        ("14 00 00 00 01 01 feffffff0f", 1),  # more headers than bytes
        ("10 00 00 00 01 01 02 01 01", 1),  # header key without a length
        ("ffffffffffff 00", 1),  # endless number
        ("22 00 ffffffffffffffffffff 01 00 01 01 00", 1),  # endless timestamp
    ],
)
def test_malformed_records_are_invalid(body: str | bytes, count: int) -> None:
    data = bytes.fromhex(body) if isinstance(body, str) else body

    with pytest.raises(InvalidRecord):
        list(decode_records(raw_batch(data, count)))


def test_decoding_a_fragment_is_corrupt() -> None:
    with pytest.raises(CorruptMessage):
        decode_records(bytes(60))


def test_every_flipped_bit_is_noticed_or_harmless() -> None:
    batch = bytes(encode_batch(RECORDS, codec=Codec.SNAPPY))
    for position in range(HEADER_SIZE, len(batch)):
        for bit in range(8):
            bad = bytearray(batch)
            bad[position] ^= 1 << bit
            assert not crc_is_valid(bad, read_header(bad))
            try:
                list(decode_records(bad))
            except ApiError:
                pass


def test_unknown_codec_is_corrupt() -> None:
    header = BatchHeader(0, 49, 0, 2, 0, 7, 0, 0, 0, -1, -1, -1, 1)

    with pytest.raises(CorruptMessage):
        _ = header.codec
