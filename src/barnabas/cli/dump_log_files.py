"""Reading log files for `kafka-dump-log`: batch by batch, so that a file may be of any size.

Files are only read, with descriptors of their own: a broker may be writing them.  What looks wrong
is noted in `Findings` and told at the end; what makes a file unreadable from some place on is
`DamagedError`, and ends that file alone.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from barnabas.base.errors import ApiError, InvalidRecord
from barnabas.cli.deserializers import DeserializeError
from barnabas.cli.dump_log_decoders import Parser
from barnabas.cli.dump_log_lines import batch_line, record_lines
from barnabas.records.batch import Record, decode_body, record_body
from barnabas.records.crc import crc32c
from barnabas.records.header import (
    CRC_START,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    read_header,
)

CHUNK = 1 << 20
UP_TO_MAGIC = 17
"""Bytes that show how long a batch is and in which format."""
SMALLEST_RECORD = 14
"""What the oldest format needed for a record."""
LARGEST_BODY = 1 << 30
"""Of the decompressed records of a batch."""

BOOTSTRAP = "bootstrap.checkpoint"

Tick = Callable[[int], None]
"""Told how many bytes of a file are done."""

_PLACE = struct.Struct(">qi4xb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for."""

    deep: bool = False
    parser: Parser | None = None
    """None if keys and values are not to be printed."""
    skip_metadata: bool = False
    sanity_only: bool = False
    verify_only: bool = False
    max_message_size: int = 5 << 20
    max_bytes: int | None = None


class DamagedError(Exception):
    """From here on the file makes no sense; one line that says why."""


class Batch(NamedTuple):
    position: int
    header: BatchHeader
    data: bytes
    """All of it, or nothing if only the header was asked for."""
    is_valid: bool


@dataclass(slots=True)
class Findings:
    """What is wrong, or looks it, by file.  Pairs as Apache Kafka's tool tells them."""

    index_mismatches: dict[str, dict[int, int]] = field(default_factory=dict)
    time_mismatches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    out_of_order: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    not_found: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    gaps: dict[str, array[int]] = field(default_factory=dict)
    """Offsets that do not follow each other, two and two.  In a compacted log all is well."""
    damage: dict[str, list[str]] = field(default_factory=dict)

    def note_gap(self, path: str, before: int, after: int) -> None:
        self.gaps.setdefault(path, array("q")).extend((before, after))

    def note_damage(self, path: str, what: str) -> None:
        self.damage.setdefault(path, []).append(what)

    def bad_files(self) -> list[str]:
        """Files that are not as a broker writes them."""
        noted = (
            self.damage,
            self.index_mismatches,
            self.time_mismatches,
            self.out_of_order,
            self.not_found,
        )
        return list(dict.fromkeys(path for found in noted for path in found))

    def reason(self, path: str) -> str:
        """What is wrong with a file, in a few words."""
        name = os.path.basename(path)
        told = self.damage.get(path)
        if told is None:
            return f"{name} does not fit its log"
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        return f"{name}: {told[0]}{more}"

    def lines(self) -> Iterator[str]:
        """As Apache Kafka's tool tells them, after all files."""
        for path, offsets in self.index_mismatches.items():
            yield f"Mismatches in :{path}"
            for indexed, logged in sorted(offsets.items(), reverse=True):
                yield f"  Index offset: {indexed}, log offset: {logged}"
        for path, times in self.time_mismatches.items():
            yield f"Found timestamp mismatch in :{path}"
            for indexed, logged in times:
                yield f"  Index timestamp: {indexed}, log timestamp: {logged}"
        for path, times in self.out_of_order.items():
            yield f"Found out of order timestamp in :{path}"
            for indexed, before in times:
                yield f"  Index timestamp: {indexed}, Previously indexed timestamp: {before}"
        for path, missing in self.not_found.items():
            yield f"The following indexed offsets are not found in :{path}"
            for indexed, logged in missing:
                yield f"Indexed offset: {indexed}, found log offset: {logged}"
        for path, pairs in self.gaps.items():
            yield f"Non-consecutive offsets in {path}"
            for at in range(0, len(pairs), 2):
                yield f"  {pairs[at]} is followed by {pairs[at + 1]}"


def batches(file: BinaryIO, start: int, end: int, *, whole: bool) -> Iterator[Batch]:
    """The batches between two positions; an incomplete one at the end is left out.

    `whole` reads the records too; else only the checksum is computed, a piece at a time.
    """
    position = start
    file.seek(position)
    while (head := _read_head(file, position, end)) is not None:
        header = read_header(head)
        data = head + file.read(header.size_bytes - HEADER_SIZE) if whole else b""
        crc = crc32c(memoryview(data)[CRC_START:], 0) if whole else _crc_of_rest(file, head, header)
        yield Batch(position, header, data, crc == header.crc)
        position += header.size_bytes


def headers(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of the batches between two positions; nothing else is read."""
    position = start
    while position < end:
        file.seek(position)
        head = _read_head(file, position, end)
        if head is None:
            return
        header = read_header(head)
        yield position, header
        position += header.size_bytes


def _read_head(file: BinaryIO, position: int, end: int) -> bytes | None:
    """The header of the batch at which the file stands; None if no whole batch is left."""
    if end - position <= UP_TO_MAGIC:
        return None
    head = file.read(HEADER_SIZE)
    if len(head) < UP_TO_MAGIC:
        return None  # the file has become shorter
    offset, length, magic = _PLACE.unpack_from(head)
    if length < SMALLEST_RECORD:
        raise DamagedError(
            f"Found record size {length} smaller than minimum record overhead "
            f"({SMALLEST_RECORD}) at position {position}"
        )
    if length > end - position - LOG_OVERHEAD:
        return None
    if magic < MAGIC:
        raise DamagedError(
            f"the batch at position {position} is of format {magic}, older than Kafka 0.11"
        )
    if length < HEADER_SIZE - LOG_OVERHEAD:
        raise DamagedError(f"the batch of offset {offset} at position {position} has no header")
    return head


def _crc_of_rest(file: BinaryIO, head: bytes, header: BatchHeader) -> int:
    crc = crc32c(head[CRC_START:], 0)
    left = header.size_bytes - HEADER_SIZE
    while left > 0:
        piece = file.read(min(left, CHUNK))
        if not piece:
            break  # the file has become shorter: the checksum is wrong, as it should be
        crc = crc32c(piece, crc)
        left -= len(piece)
    return crc


def records_of(batch: Batch) -> Iterator[Record]:
    """The records of a batch that was read whole; `DamagedError` where they make no sense."""
    try:
        yield from decode_body(
            record_body(batch.data, batch.header, max_size=LARGEST_BODY), batch.header
        )
    except ApiError as error:
        raise DamagedError(f"the batch at position {batch.position}: {error}") from None


def log_lines(path: str, wishes: Wishes, findings: Findings, tick: Tick) -> Iterator[str]:
    """The batches of a segment or of a snapshot of the metadata, and their records if wished.

    Records that make no sense are noted; the batches after theirs are shown all the same.
    """
    yield _title(path)
    name = os.path.abspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        end = size if wishes.max_bytes is None else min(size, wishes.max_bytes)
        last_offset, valid = -1, 0
        for batch in batches(file, 0, end, whole=wishes.deep):
            tick(batch.position)
            yield batch_line(batch.header, position=batch.position, is_valid=batch.is_valid)
            if not batch.is_valid:
                findings.note_damage(
                    name, f"the checksum of the batch at position {batch.position} is wrong"
                )
            valid = batch.position + batch.header.size_bytes
            if wishes.deep:
                try:
                    line_of = record_lines(
                        batch.header, parser=wishes.parser, skip_metadata=wishes.skip_metadata
                    )
                    for record in records_of(batch):
                        if record.offset != last_offset + 1:
                            findings.note_gap(name, last_offset, record.offset)
                        last_offset = record.offset
                        yield line_of(record)
                except (DamagedError, InvalidRecord, DeserializeError) as error:
                    findings.note_damage(name, str(error))
        if valid < size and wishes.max_bytes is None:
            yield f"Found {size - valid} invalid bytes at the end of {os.path.basename(path)}"
            findings.note_damage(name, f"{size - valid} bytes at its end are no batch")


def _title(path: str) -> str:
    name = os.path.basename(path)
    stem, suffix = os.path.splitext(name)
    if suffix == ".checkpoint":
        if name == BOOTSTRAP:
            return "KRaft bootstrap snapshot"
        offset, _, epoch = stem.partition("-")
        if offset.isdigit() and epoch.isdigit():
            return f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    elif stem.isdigit():
        return f"Log starting offset: {int(stem)}"
    raise DamagedError("its name does not begin with an offset")
