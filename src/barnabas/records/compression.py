"""The five codecs of the record format, each in the dialect that Kafka's clients write and read.

- gzip: one or more members.
- snappy: blocks of raw snappy behind xerial's 16-byte stream header; raw snappy is read as well.
- lz4: the frame format with *independent* blocks; Java's reader refuses linked ones.
- zstd: one or more frames.

Decompression writes into a buffer that never grows beyond `max_size`, so a few hostile kilobytes
cannot take the broker's memory.  cramjam is imported when a compressed batch is first opened.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from typing import Any

from barnabas.base.errors import CorruptMessage

Buffer = bytes | bytearray | memoryview

DEFAULT_MAX_SIZE = 128 * 1024 * 1024
"""Largest decompressed size of one batch unless the caller says otherwise."""

GZIP_DEFAULT_LEVEL = -1
LZ4_DEFAULT_LEVEL = 9
ZSTD_DEFAULT_LEVEL = 3

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible version
_XERIAL_BLOCK = 32 * 1024
_LZ4_HEADER = bytes.fromhex("04224d18 60 40 82")  # independent blocks of 64 KiB; header checksum
_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 0x8000_0000
_LZ4_HAS_SIZE = 0x08
_LZ4_STRONGEST = 12
_INT32 = struct.Struct(">i")
_UINT32_LE = struct.Struct("<I")


class Codec(enum.IntEnum):
    """A batch's compression, as numbered in the low three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def config_name(self) -> str:
        """What `compression.type` calls it."""
        return "uncompressed" if self is Codec.NONE else self.name.lower()

    @classmethod
    def from_config(cls, name: str) -> Codec | None:
        """The codec that a `compression.type` asks for; None for `producer`: left as it came."""
        return _BY_CONFIG_NAME[name]


_BY_CONFIG_NAME: dict[str, Codec | None] = {codec.config_name: codec for codec in Codec}
_BY_CONFIG_NAME["none"] = Codec.NONE
_BY_CONFIG_NAME["producer"] = None


def compress(codec: Codec, data: Buffer, level: int | None = None) -> Buffer:
    """`data` compressed at `level`, in Kafka's numbering of levels (None: the codec's default)."""
    import cramjam

    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            wanted = 6 if level is None or level == GZIP_DEFAULT_LEVEL else level
            return memoryview(cramjam.gzip.compress(data, level=wanted))
        case Codec.SNAPPY:
            return _compress_snappy(data)
        case Codec.LZ4:
            return _compress_lz4(data, LZ4_DEFAULT_LEVEL if level is None else level)
        case Codec.ZSTD:
            wanted = ZSTD_DEFAULT_LEVEL if level is None else level
            return memoryview(cramjam.zstd.compress(data, level=wanted))


def decompress(codec: Codec, data: Buffer, *, max_size: int = DEFAULT_MAX_SIZE) -> Buffer:
    """What was compressed.  CorruptMessage if it cannot be, or would be larger than `max_size`."""
    import cramjam

    match codec:
        case Codec.NONE:
            if len(data) > max_size:
                raise CorruptMessage(f"{len(data)} bytes of records; {max_size} are allowed.")
            return data
        case Codec.GZIP:
            return _inflate(cramjam.gzip.decompress_into, data, max_size)
        case Codec.SNAPPY:
            return _decompress_snappy(data, max_size)
        case Codec.LZ4:
            return _inflate(cramjam.lz4.decompress_into, data, max_size)
        case Codec.ZSTD:
            return _inflate(cramjam.zstd.decompress_into, data, max_size)


def _inflate(decompress_into: Callable[..., int], data: Buffer, max_size: int) -> Buffer:
    """Decompress into ever larger buffers, from a guess to `max_size`.

    The work done in the buffers that were too small is less than that in the one that fits.
    """
    from cramjam import DecompressionError

    size = min(max_size, max(4096, len(data) * 4))
    while True:
        output = bytearray(size)
        try:
            length = decompress_into(data, output)
        except DecompressionError as error:
            if "whole buffer" not in str(error):
                raise CorruptMessage(f"The batch's records do not decompress: {error}.") from error
            if size >= max_size:
                raise CorruptMessage(
                    f"The batch's records are larger than {max_size} bytes."
                ) from error
            size = min(max_size, size * 4)
        else:
            return memoryview(output)[:length]


def _compress_snappy(data: Buffer) -> bytes:
    from cramjam import snappy

    view = memoryview(data)
    parts: list[Any] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = snappy.compress_raw(view[start : start + _XERIAL_BLOCK])
        parts.append(_INT32.pack(len(block)))
        parts.append(memoryview(block))
    return b"".join(parts)


def _decompress_snappy(data: Buffer, max_size: int) -> Buffer:
    view = memoryview(data)
    if view[:8] != _XERIAL_MAGIC:
        return _decompress_snappy_block(view, max_size)
    end = len(view)
    if end < len(_XERIAL_HEADER):
        raise CorruptMessage("The snappy stream ends within its header.")
    blocks: list[Buffer] = []
    position = len(_XERIAL_HEADER)
    left = max_size
    while position < end:
        if view[position : position + 8] == _XERIAL_MAGIC:  # streams may follow each other
            position += len(_XERIAL_HEADER)
            continue
        if end - position < 4:
            raise CorruptMessage("The snappy stream ends within a block length.")
        (length,) = _INT32.unpack_from(view, position)
        position += 4
        if not 0 < length <= end - position:
            raise CorruptMessage(f"A snappy block of {length} bytes; {end - position} are left.")
        block = _decompress_snappy_block(view[position : position + length], left)
        left -= len(block)
        position += length
        blocks.append(block)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _decompress_snappy_block(block: memoryview, max_size: int) -> bytearray:
    from cramjam import DecompressionError, snappy

    try:
        size = snappy.decompress_raw_len(block)
        if size > max_size:
            raise CorruptMessage(f"The batch's records are {size} bytes; {max_size} are left.")
        output = bytearray(size)
        length = snappy.decompress_raw_into(block, output)
    except DecompressionError as error:
        raise CorruptMessage(f"The batch's records do not decompress: {error}.") from error
    assert length == size
    return output


def _compress_lz4(data: Buffer, level: int) -> bytes:
    """A frame of independent blocks, at Kafka's level.

    The default level means the fast compressor; any other one the thorough compressor, which
    cramjam has for whole frames only: each block is compressed as a frame and taken out of it.
    """
    from cramjam import lz4

    view = memoryview(data)
    parts: list[Any] = [_LZ4_HEADER]
    for start in range(0, len(view), _LZ4_BLOCK):
        plain = view[start : start + _LZ4_BLOCK]
        if level == LZ4_DEFAULT_LEVEL:
            block = memoryview(lz4.compress_block(plain, store_size=False))
        else:
            frame = memoryview(lz4.compress(plain, level=min(max(level, 3), _LZ4_STRONGEST)))
            position = 7 + (8 if frame[4] & _LZ4_HAS_SIZE else 0)
            (length,) = _UINT32_LE.unpack_from(frame, position)
            block = plain if length & _LZ4_STORED else frame[position + 4 : position + 4 + length]
        if len(block) < len(plain):
            parts.append(_UINT32_LE.pack(len(block)))
            parts.append(block)
        else:
            parts.append(_UINT32_LE.pack(len(plain) | _LZ4_STORED))
            parts.append(plain)
    parts.append(bytes(4))  # end mark
    return b"".join(parts)
