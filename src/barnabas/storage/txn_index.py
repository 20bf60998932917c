"""`<base>.txnindex`: the aborted transactions whose marker is in a segment.

34 bytes an entry, big-endian: version (int16, 0), producer id, first offset of the transaction,
offset of its marker, last stable offset when the marker was written.  Entries are in order of the
marker.  Most segments have none, and then there is no file.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

ENTRY_BYTES = 34
_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0
assert _ENTRY.size == ENTRY_BYTES


class AbortedTransaction(NamedTuple):
    """Records of `producer_id` from `first_offset` to the marker at `last_offset` do not count."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(entry: AbortedTransaction) -> bytes:
    return _ENTRY.pack(_VERSION, *entry)


def decode(data: bytes, base_offset: int) -> list[AbortedTransaction] | None:
    """The entries of a file, or None if it cannot be right.  Half an entry at the end is cut."""
    entries: list[AbortedTransaction] = []
    last_offset = base_offset - 1
    for version, *fields in _ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_BYTES]):
        entry = AbortedTransaction(*fields)
        if version != _VERSION or entry.last_offset <= last_offset:
            return None
        last_offset = entry.last_offset
        entries.append(entry)
    return entries
