"""Names of a segment's files, and walking over the batches in one."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Protocol

from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, BatchHeader, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.storage.syscalls import Disk

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
STRAY = ".stray"
"""Set aside by recovery: nobody reads it or removes it but the operator."""

PLACE = struct.Struct(">qi4xb6xi")
"""Base offset, length, magic and last offset delta: enough to find the next batch."""
SMALLEST_LENGTH = HEADER_SIZE - LOG_OVERHEAD
WINDOW = 4096


class Readable(Protocol):
    """A `File` or a `PrivateFile`."""

    def read(self, position: int, length: int) -> bytes: ...


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


def free_suffix(disk: Disk, directory: str, base_offset: int, suffix: str) -> str:
    """`suffix`; with a number if a segment of that offset has left the log with it before.

    The earlier file may still be read: compaction can replace a segment twice in a minute.
    """
    found, number = suffix, 0
    path = segment_path(directory, base_offset, LOG)
    while disk.exists(path + found):
        number += 1
        found = f".{number}{suffix}"
    return found


def parse_offset(name: str, suffix: str) -> int | None:
    """The offset in a file name like `00000000000000000042.log`; None if it is another file."""
    stem = name[: -len(suffix)]
    if not name.endswith(suffix) or len(stem) != 20 or not stem.isdecimal():
        return None
    return int(stem)


def scan_headers(file: Readable, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch from `position` to `end`.

    Ends early, without an error, at bytes that cannot be a batch.
    """
    start = position
    window = b""
    while position + HEADER_SIZE <= end:
        at = position - start
        if at + HEADER_SIZE > len(window):
            window = file.read(position, WINDOW)
            start, at = position, 0
            if len(window) < HEADER_SIZE:
                return
        header = read_header(window, at)
        size = header.batch_length + LOG_OVERHEAD
        if header.magic != MAGIC or size < HEADER_SIZE or position + size > end:
            return
        yield position, header
        position += size
