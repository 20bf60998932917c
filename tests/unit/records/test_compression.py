"""Codecs: what real clients wrote, both snappy dialects, bounds on memory, damaged data."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import crc_is_valid, decode_records, read_header
from barnabas.records.compression import Buffer, Codec, compress, decompress

FIXTURES = Path(__file__).parent / "fixtures"
"""One batch each, as found in the log of an Apache Kafka broker that the client wrote to."""
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
EMPTY, SHORT = b"", b"barnabas"
LONG = b"".join(b"line %d of a long text\n" % i for i in range(20_000))
NOISE = random.Random(7).randbytes(150_000)


@pytest.mark.parametrize("client", ["java", "librdkafka", "aiokafka"])
@pytest.mark.parametrize("codec", CODECS)
def test_what_clients_compress_is_read(client: str, codec: Codec) -> None:
    batch = (FIXTURES / f"{client}-{codec.config_name}.bin").read_bytes()

    header = read_header(batch)
    records = list(decode_records(batch))
    assert header.codec is codec
    assert header.size_bytes == len(batch)
    assert crc_is_valid(batch, header)
    assert [r.key for r in records] == [b"key-%d" % i for i in range(40)]
    assert [r.value for r in records] == [
        b"value-%d " % i + bytes([97 + i % 26]) * 1800 for i in range(40)
    ]


@pytest.mark.parametrize(
    "data", [EMPTY, SHORT, LONG, NOISE], ids=["empty", "short", "long", "noise"]
)
@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_compressed_is_decompressed(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, memoryview(data))

    assert bytes(decompress(codec, compressed)) == data
    assert bytes(decompress(codec, compressed, max_size=len(data))) == data


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (Codec.GZIP, [-1, 1, 6, 9]),
        (Codec.LZ4, [1, 9, 12, 17]),
        (Codec.ZSTD, [-131072, -1, 1, 3, 19, 22]),
        (Codec.SNAPPY, [None]),
    ],
)
def test_every_level_that_kafka_allows_works(codec: Codec, levels: list[int | None]) -> None:
    sizes = [len(compress(codec, LONG, level)) for level in levels]

    for level in levels:
        assert bytes(decompress(codec, compress(codec, LONG, level))) == LONG
    if codec is Codec.ZSTD:
        assert sizes[-1] < sizes[0], "a higher level compresses better"


def test_default_levels_are_those_of_kafka() -> None:
    assert bytes(compress(Codec.GZIP, LONG)) == bytes(compress(Codec.GZIP, LONG, 6))
    assert bytes(compress(Codec.ZSTD, LONG)) == bytes(compress(Codec.ZSTD, LONG, 3))
    assert bytes(compress(Codec.LZ4, LONG)) == bytes(compress(Codec.LZ4, LONG, 9))
    assert len(compress(Codec.LZ4, LONG, 5)) < len(compress(Codec.LZ4, LONG))


def test_lz4_blocks_are_independent() -> None:
    flags = compress(Codec.LZ4, LONG)[4]

    assert flags >> 6 == 1
    assert flags & 0x20


def test_snappy_is_framed_when_written_and_read_either_way() -> None:
    from cramjam import snappy

    framed = bytes(compress(Codec.SNAPPY, LONG))
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert bytes(decompress(Codec.SNAPPY, bytes(snappy.compress_raw(LONG)))) == LONG
    twice = framed + bytes(compress(Codec.SNAPPY, SHORT))
    assert bytes(decompress(Codec.SNAPPY, twice)) == LONG + SHORT


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4])
def test_streams_may_follow_each_other(codec: Codec) -> None:
    both = bytes(compress(codec, LONG)) + bytes(compress(codec, SHORT))

    assert bytes(decompress(codec, both)) == LONG + SHORT


@pytest.mark.parametrize("codec", list(Codec))
def test_nothing_larger_than_allowed_comes_out(codec: Codec) -> None:
    compressed = compress(codec, LONG)

    with pytest.raises(CorruptMessage):
        decompress(codec, compressed, max_size=len(LONG) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_truncated_data_is_corrupt(codec: Codec) -> None:
    compressed: Buffer = bytes(compress(codec, LONG))

    for keep in [0, 1, 7, 12, len(compressed) // 2, len(compressed) - 1]:
        if codec is Codec.SNAPPY and keep == 0:
            continue
        with pytest.raises(CorruptMessage):
            decompress(codec, compressed[:keep])


@pytest.mark.parametrize("codec", CODECS)
def test_damaged_data_is_corrupt_or_harmless(codec: Codec) -> None:
    compressed = bytes(compress(codec, SHORT * 50))

    for position in range(len(compressed)):
        damaged = bytearray(compressed)
        damaged[position] ^= 0xFF
        try:
            assert len(decompress(codec, damaged, max_size=1 << 20)) <= 1 << 20
        except CorruptMessage:
            pass


@pytest.mark.parametrize("blocks", ["00000000", "ffffffff", "00000005 0000", "7fffffff 00", "0000"])
def test_snappy_block_lengths_are_checked(blocks: str) -> None:
    header = bytes(compress(Codec.SNAPPY, b""))

    with pytest.raises(CorruptMessage):
        decompress(Codec.SNAPPY, header + bytes.fromhex(blocks))


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("producer", None),
        ("uncompressed", Codec.NONE),
        ("gzip", Codec.GZIP),
        ("snappy", Codec.SNAPPY),
        ("lz4", Codec.LZ4),
        ("zstd", Codec.ZSTD),
    ],
)
def test_settings_name_codecs_as_kafka_does(name: str, codec: Codec | None) -> None:
    assert Codec.from_config(name) is codec
