"""The two sparse indexes of a segment, in memory as they are in their files.

`<base>.index`: 8 bytes an entry, big-endian: offset relative to the base (int32), position (int32).
The offset is the *last* one of the batch at that position.
`<base>.timeindex`: 12 bytes an entry: timestamp (int64), relative offset (int32).  All batches up
to the one that holds this offset have no greater timestamp; entries grow in both fields.

An entry is made for the first batch after every `index.interval.bytes`.  Neither file is needed for
correctness: both can be made again from the log.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import lt
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
MAX_RELATIVE_OFFSET = 0x7FFF_FFFF
_POSITION_MASK = 0xFFFF_FFFF
_TIME = struct.Struct(">qi")
_LITTLE = sys.byteorder == "little"


def _position_of(entry: int) -> int:
    return entry & _POSITION_MASK


class OffsetIndex:
    """Where to start looking for an offset.  The first `saved` entries are in the file."""

    __slots__ = ("_entries", "saved")

    def __init__(self) -> None:
        self._entries = array("q")  # offset in the upper half, position in the lower: sorted
        self.saved = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((entry >> 32, entry & _POSITION_MASK) for entry in self._entries)

    @property
    def size_bytes(self) -> int:
        return len(self._entries) * OFFSET_ENTRY_BYTES

    def add(self, relative_offset: int, position: int) -> None:
        self._entries.append(relative_offset << 32 | position)

    def floor(self, relative_offset: int) -> int:
        """Position of a batch at or before the one that holds the offset; 0 if none is known."""
        at = bisect_right(self._entries, relative_offset << 32 | _POSITION_MASK)
        return self._entries[at - 1] & _POSITION_MASK if at else 0

    def offset_from(self, position: int) -> int | None:
        """A relative offset that no batch before `position` has, and not much more than that."""
        at = bisect_left(self._entries, position, key=_position_of)
        return self._entries[at] >> 32 if at < len(self._entries) else None

    def last(self) -> tuple[int, int] | None:
        """(relative offset, position) of the last entry."""
        if not self._entries:
            return None
        return self._entries[-1] >> 32, self._entries[-1] & _POSITION_MASK

    def cut(self, count: int) -> None:
        """Keep the first `count` entries."""
        del self._entries[count:]
        self.saved = min(self.saved, count)

    def cut_from_position(self, position: int) -> None:
        """Forget batches at `position` and after."""
        count = len(self._entries)
        while count and self._entries[count - 1] & _POSITION_MASK >= position:
            count -= 1
        self.cut(count)

    def encode(self, start: int = 0) -> bytes:
        entries = self._entries[start:]
        if _LITTLE:
            entries.byteswap()
        return entries.tobytes()

    @classmethod
    def decode(cls, data: bytes, log_size: int) -> OffsetIndex | None:
        """An index from its file, or None if the file cannot be right.

        What a crash leaves at the end (zeros of a preallocated file, half an entry) is cut.
        """
        index = cls()
        entries = index._entries
        entries.frombytes(data[: len(data) - len(data) % OFFSET_ENTRY_BYTES])
        if _LITTLE:
            entries.byteswap()
        if entries and entries[0] < 0:
            return None
        if not all(map(lt, entries, islice(entries, 1, None))):
            good = 1
            while entries[good - 1] < entries[good]:
                good += 1
            del entries[good:]
        if len(entries) == 1 and entries[0] == 0:
            del entries[:]
        if entries and entries[-1] & _POSITION_MASK >= log_size:
            return None
        index.saved = len(entries) if len(entries) * OFFSET_ENTRY_BYTES == len(data) else 0
        return index


class TimeIndex:
    """Where to start looking for a timestamp.  The first `saved` entries are in the file."""

    __slots__ = ("_data", "last_timestamp", "saved")

    def __init__(self) -> None:
        self._data = bytearray()
        self.last_timestamp = -1
        self.saved = 0

    def __len__(self) -> int:
        return len(self._data) // TIME_ENTRY_BYTES

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return _TIME.iter_unpack(self._data)

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    def add(self, timestamp: int, relative_offset: int) -> None:
        """Note the greatest timestamp so far; only a greater one than the last makes an entry."""
        if timestamp > self.last_timestamp:
            self._data += _TIME.pack(timestamp, relative_offset)
            self.last_timestamp = timestamp

    def entry(self, number: int) -> tuple[int, int]:
        timestamp, relative_offset = _TIME.unpack_from(self._data, number * TIME_ENTRY_BYTES)
        return timestamp, relative_offset

    def last(self) -> tuple[int, int] | None:
        return self.entry(len(self) - 1) if self._data else None

    def floor(self, timestamp: int) -> int:
        """Up to this relative offset everything is as old as `timestamp` or older; 0 if none."""
        at = bisect_right(range(len(self)), timestamp, key=lambda i: self.entry(i)[0])
        return self.entry(at - 1)[1] if at else 0

    def cut(self, count: int) -> None:
        """Keep the first `count` entries."""
        del self._data[count * TIME_ENTRY_BYTES :]
        self.saved = min(self.saved, count)
        last = self.last()
        self.last_timestamp = last[0] if last else -1

    def cut_from_offset(self, relative_offset: int) -> None:
        """Forget entries for `relative_offset` and after."""
        self.cut(
            bisect_right(range(len(self)), relative_offset - 1, key=lambda i: self.entry(i)[1])
        )

    def encode(self, start: int = 0) -> bytes:
        return bytes(self._data[start * TIME_ENTRY_BYTES :])

    @classmethod
    def decode(cls, data: bytes) -> TimeIndex:
        """An index from its file; from the first entry that cannot be right, all is cut."""
        index = cls()
        whole = data[: len(data) - len(data) % TIME_ENTRY_BYTES]
        good = 0
        last = (-1, -1)
        for entry in _TIME.iter_unpack(whole):
            if entry[0] <= last[0] or entry[1] < last[1]:
                break
            last = entry
            good += 1
        index._data += whole[: good * TIME_ENTRY_BYTES]
        index.last_timestamp = last[0]
        index.saved = good if good * TIME_ENTRY_BYTES == len(data) else 0
        return index


class Unloadable(Protocol):
    """Something that keeps indexes in memory which it can load again."""

    def unload(self) -> None: ...


class IndexCache:
    """Indexes of closed segments in memory: at most `limit_bytes`, least recently used go first."""

    def __init__(self, limit_bytes: int = 32 << 20) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._owners: dict[Unloadable, int] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def used(self, owner: Unloadable, size: int) -> None:
        """`owner` holds `size` bytes of index and needed them just now."""
        size += 200
        self.used_bytes += size - self._owners.pop(owner, 0)
        self._owners[owner] = size
        while self.used_bytes > self.limit_bytes and len(self._owners) > 1:
            oldest = next(iter(self._owners))
            self.used_bytes -= self._owners.pop(oldest)
            oldest.unload()

    def forget(self, owner: Unloadable) -> None:
        self.used_bytes -= self._owners.pop(owner, 0)
