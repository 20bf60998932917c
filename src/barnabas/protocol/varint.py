"""Unsigned variable-length integers, as lengths, counts and tags of flexible versions use them."""

from collections.abc import Callable
from struct import Struct

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.types import Buffer

_ONE: Callable[[int], bytes] = Struct("B").pack
_TWO: Callable[[int, int], bytes] = Struct("BB").pack
_THREE: Callable[[int, int, int], bytes] = Struct("BBB").pack


def encode_uvarint(value: int) -> bytes:
    """Seven bits a byte, low ones first; the high bit says that more follow."""
    if value < 0x80:
        return _ONE(value)
    if value < 0x4000:
        return _TWO(value & 0x7F | 0x80, value >> 7)
    if value < 0x200000:
        return _THREE(value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14)
    if value > 0xFFFF_FFFF:
        raise OverflowError(f"{value} does not fit into 32 bits")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """The value at `pos` and the position after it.  IndexError at the end of the buffer."""
    first = buf[pos]
    if first < 0x80:
        return first, pos + 1
    return continue_uvarint(buf, pos + 1, first)


def continue_uvarint(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """The rest of a value whose first byte, which says that more follow, was read already."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFF_FFFF:
                break
            return value, pos
    raise DecodeError(f"variable-length integer before byte {pos} is longer than 32 bits")


def skip_tags(buf: Buffer, pos: int, count: int) -> int:
    """The position after `count` tagged fields that this version of the message does not know.

    `count` is the first byte of the count, already read.
    """
    if count > 0x7F:
        count, pos = continue_uvarint(buf, pos, count)
    end = len(buf)
    for _ in range(count):
        _, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        pos += size
        if pos > end:
            raise DecodeError(f"a tagged field ends {pos - end} bytes after the message")
    return pos
