"""Unsigned variable-length integers."""

from __future__ import annotations

import pytest

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.varint import encode_uvarint, read_uvarint, skip_tags

EXAMPLES = {
    0: "00",
    1: "01",
    127: "7f",
    128: "8001",
    300: "ac02",
    16383: "ff7f",
    16384: "808001",
    2097151: "ffff7f",
    2097152: "80808001",
    0x0FFFFFFF: "ffffff7f",
    0x10000000: "8080808001",
    0x7FFFFFFF: "ffffffff07",
    0xFFFFFFFF: "ffffffff0f",
}


@pytest.mark.parametrize("value", EXAMPLES)
def test_examples(value: int) -> None:
    written = bytes.fromhex(EXAMPLES[value])

    assert encode_uvarint(value) == written
    assert read_uvarint(b"x" + written + b"y", 1) == (value, 1 + len(written))


def test_more_than_32_bits_are_not_written() -> None:
    with pytest.raises(OverflowError):
        encode_uvarint(1 << 32)


@pytest.mark.parametrize("written", ["ffffffff10", "ffffffff7f", "808080808001", "ffffffffff"])
def test_more_than_32_bits_are_not_read(written: str) -> None:
    with pytest.raises(DecodeError, match="longer than 32 bits"):
        read_uvarint(bytes.fromhex(written), 0)


def test_tags_are_skipped_by_their_sizes() -> None:
    data = bytes.fromhex("00 02 aabb  8101 00")

    assert skip_tags(data, 0, 2) == len(data)


def test_a_tag_beyond_the_end_is_refused() -> None:
    with pytest.raises(DecodeError, match="1 bytes after the message"):
        skip_tags(bytes.fromhex("00 03 aabb"), 0, 1)
