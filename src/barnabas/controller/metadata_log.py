"""What was committed lately, as bytes: brokers follow the journal by reading here.

The controller keeps the last runs in memory, encoded once for all readers, whatever its journal is.
A reader names the offset it wants and the epoch of the record before it, as Kafka's followers do;
one that is too far behind is sent to a snapshot, and one that has read what this journal never had
is told so.  Pure; owned by the controller's thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.controller import journal_format as fmt

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

KEPT_BYTES = 8 * 1024 * 1024


class SnapshotId(NamedTuple):
    """A snapshot of everything below `end_offset`; `epoch` is that of the last record in it."""

    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Batches:
    """Whole runs from the wanted offset on; empty at the end of the log."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TooOld:
    """The log does not reach back so far: start from a snapshot."""


@dataclass(frozen=True, slots=True)
class Diverging:
    """The reader has something that is not in this log, which has `end_offset` and `epoch`."""

    end_offset: int
    epoch: int


class _Run(NamedTuple):
    last_offset: int
    epoch: int
    data: bytes


class MetadataLog:
    """Committed runs in order, the oldest forgotten when there are too many bytes.

    `end_offset` and `epoch` are those of what was there before the first run.
    """

    def __init__(self, *, end_offset: int, epoch: int, kept_bytes: int = KEPT_BYTES) -> None:
        self._start = SnapshotId(end_offset, epoch)
        self._runs: list[_Run] = []
        self._size = 0
        self._kept_bytes = kept_bytes

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._start.end_offset

    @property
    def end_offset(self) -> int:
        """The offset after the last committed record: the high watermark."""
        return self._runs[-1].last_offset + 1 if self._runs else self._start.end_offset

    @property
    def epoch(self) -> int:
        """Of the last committed record."""
        return self._runs[-1].epoch if self._runs else self._start.epoch

    def append(
        self, records: Sequence[Message], *, last_offset: int, epoch: int, now_ms: int
    ) -> None:
        """Add a run that is committed; its last record has `last_offset`.

        Offsets between it and the run before are those of records that only the journal needs.
        """
        assert last_offset - len(records) >= self.end_offset - 1, "a run follows the one before it"
        assert epoch >= self.epoch, f"epoch {epoch} after {self.epoch}"
        base = last_offset + 1 - len(records)
        data, end = fmt.encode_run(records, base_offset=base, epoch=epoch, now_ms=now_ms)
        if end != last_offset + 1:  # so large that it stands between two more records
            base -= end - last_offset - 1
            data, end = fmt.encode_run(records, base_offset=base, epoch=epoch, now_ms=now_ms)
        self._runs.append(_Run(last_offset, epoch, data))
        self._size += len(data)
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        if self._size <= self._kept_bytes:
            return
        gone = 0
        while self._size > self._kept_bytes // 2 and gone < len(self._runs) - 1:
            self._size -= len(self._runs[gone].data)
            gone += 1
        last = self._runs[gone - 1]
        self._start = SnapshotId(last.last_offset + 1, last.epoch)
        del self._runs[:gone]

    def read(self, offset: int, epoch: int, *, max_bytes: int) -> Batches | TooOld | Diverging:
        """The runs from `offset` on, at least one if there is one; `epoch` is that of the record
        before `offset`, or negative if the reader has none."""
        if offset > self.end_offset:
            return Diverging(self.end_offset, self.epoch)
        if offset < self.start_offset:
            return TooOld()
        first = bisect_left(self._runs, offset, key=lambda run: run.last_offset)
        before = self._runs[first - 1].epoch if first else self._start.epoch
        if epoch >= 0 and epoch != before:
            return Diverging(self.end_offset, self.epoch)
        parts: list[bytes] = []
        size = 0
        for run in self._runs[first:]:
            if parts and size + len(run.data) > max_bytes:
                break
            parts.append(run.data)
            size += len(run.data)
        return Batches(b"".join(parts))
