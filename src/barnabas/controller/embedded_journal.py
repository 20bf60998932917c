"""The journal of a cluster whose controller is one process: files in one directory.

The format is described in `journal_format`.  A run is durable (written and fsynced) before it is
reported as committed.  Everything is called on the owner's thread; with a worker, writing and
fsyncing happen there while the owner goes on, one commit or snapshot at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.base.ids import id_text
from barnabas.controller import journal_format as fmt
from barnabas.controller.journal import Done, Run, Snapshot, Worker
from barnabas.protocol.messages.metadata_records import AbortTransactionRecord

if TYPE_CHECKING:
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.protocol.message import Message
    from barnabas.records.control import ControlType

log = logging.getLogger(__name__)

DIRECTORY = "__cluster_metadata-0"
TOPIC_ID = bytes(15) + b"\x01"
SNAPSHOT_BYTES = 20 * 1024 * 1024
_EPOCHS = "leader-epoch-checkpoint"
_METADATA = "partition.metadata"


class EmbeddedJournal:
    """Opened for reading at once; the files are first changed by the first commit.

    Opening finds the newest whole snapshot and the end of the last whole batch after it.  Bytes
    after that are what a crash left of a write that was never reported as committed: the first
    commit cuts them off.
    """

    def __init__(
        self,
        files: JournalFiles,
        *,
        node_id: int,
        worker: Worker | None = None,
        snapshot_bytes: int = SNAPSHOT_BYTES,
    ) -> None:
        self._files = files
        self._node_id = node_id
        self._worker = worker
        self._snapshot_bytes = snapshot_bytes
        self._queue = bytearray()
        self._busy = False
        self._closed = False
        self._claimed = False
        self._cut: tuple[str, int] | None = None
        self._epochs: list[tuple[int, int]] = []  # (epoch, first offset), as the log has them
        self._carried: dict[ControlType, bytes] = {}
        self._in_transaction: bool | None = None  # None: not known before everything was read
        self._last_timestamp = 0
        self._open()
        self._next_offset = self._end_offset

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def end_offset(self) -> int:
        return self._end_offset

    @property
    def is_empty(self) -> bool:
        return self._end_offset == 0 and self._snapshot_id is None

    @property
    def snapshot_is_due(self) -> bool:
        return not self._busy and self._bytes_since_snapshot >= self._snapshot_bytes

    # Reading

    def _open(self) -> None:
        names = self._files.names()
        self._snapshot_id = self._newest_snapshot(names)
        start, self._last_epoch = self._snapshot_id or (0, 0)
        self._end_offset, self._size = start, 0
        self._segments = self._needed_segments(names, start)
        for base in self._segments:
            self._scan_segment(base, start)
        self._bytes_since_snapshot = self._size
        if self._end_offset < start or not self._segments:
            self._segments.append(start)
            self._end_offset, self._size = start, 0
        elif self._size and _index_name(self._segments[-1]) in names:
            # Apache Kafka wrote it and has indexed it: leave it as it is.
            self._segments.append(self._end_offset)
            self._size = 0
        self._epoch = self._last_epoch + 1

    def _newest_snapshot(self, names: list[str]) -> tuple[int, int] | None:
        for end_offset, epoch in fmt.snapshot_ids(names):
            name = fmt.snapshot_name(end_offset, epoch)
            if fmt.is_whole_snapshot(self._files.read(name)):
                return end_offset, epoch
            log.warning("%s is not a whole snapshot: ignored", name)
        return None

    def _needed_segments(self, names: list[str], start: int) -> list[int]:
        """Base offsets of the segments that hold offset `start` and what follows."""
        bases = fmt.segment_offsets(names)
        before = [base for base in bases if base <= start]
        if bases and not before:
            raise StorageFailed(
                f"the metadata journal starts at offset {bases[0]}, and no snapshot reaches it"
            )
        return before[-1:] + [base for base in bases if base > start]

    def _scan_segment(self, base: int, start: int) -> None:
        name = fmt.segment_name(base)
        if base != self._segments[0] and base != self._end_offset:
            raise StorageFailed(f"the metadata journal lacks offsets {self._end_offset} to {base}")
        data = self._files.read(name)
        found = fmt.scan(data, base_offset=base, check_from=start)
        if found.fault is not None:
            if base != self._segments[-1]:
                raise StorageFailed(f"{name} is damaged at byte {found.size}: {found.fault}")
            log.warning(
                "%s: the last %d bytes were never committed (%s): cut off",
                name,
                len(data) - found.size,
                found.fault,
            )
            self._cut = (name, found.size)
        for _, header in found.batches:
            if not self._epochs or header.leader_epoch > self._epochs[-1][0]:
                self._epochs.append((header.leader_epoch, header.base_offset))
            self._last_timestamp = max(self._last_timestamp, header.max_timestamp)
        self._end_offset, self._size = base, found.size
        if found.batches:
            self._end_offset = found.batches[-1][1].next_offset
            self._last_epoch = max(self._last_epoch, self._epochs[-1][0])

    def snapshot(self) -> Snapshot | None:
        if self._snapshot_id is None:
            return None
        end_offset, epoch = self._snapshot_id
        data = self._files.read(fmt.snapshot_name(end_offset, epoch))
        records, self._carried = fmt.decode_snapshot(data)
        return Snapshot(records=records, end_offset=end_offset, epoch=epoch)

    def read(self, offset: int) -> Iterator[Run]:
        reader = fmt.RunReader()
        for index, base in enumerate(self._segments):
            following = self._segments[index + 1 : index + 2]
            if (following and following[0] <= offset) or base >= self._end_offset:
                continue
            data = self._files.read(fmt.segment_name(base))
            for position, header in fmt.scan(data, base_offset=base, check_from=offset).batches:
                if offset <= header.last_offset and header.base_offset < self._end_offset:
                    batch = data[position : position + header.size_bytes]
                    yield from reader.read(batch, header)
        self._carried.update(reader.carried)
        if self._in_transaction is None:
            self._in_transaction = reader.in_transaction

    # Writing

    def append(self, records: Sequence[Message], *, now_ms: int) -> int:
        assert not self._busy, "one commit at a time"
        if not self._claimed and not self._queue:
            self._queue_claim(now_ms)
        self._queue_run(records, now_ms)
        return self._next_offset - 1

    def _queue_run(self, records: Sequence[Message], now_ms: int) -> None:
        data, self._next_offset = fmt.encode_run(
            records, base_offset=self._next_offset, epoch=self._epoch, now_ms=now_ms
        )
        self._queue += data
        self._last_timestamp = max(self._last_timestamp, now_ms)

    def _queue_claim(self, now_ms: int) -> None:
        """Say that a new writer has taken over, and end what the last one left unfinished."""
        self._queue += fmt.encode_leader_change(
            node_id=self._node_id,
            base_offset=self._next_offset,
            epoch=self._epoch,
            now_ms=now_ms,
        )
        self._next_offset += 1
        if self._in_transaction is None:
            for _ in self.read(self._snapshot_id[0] if self._snapshot_id else 0):
                pass
        if self._in_transaction:
            reason = AbortTransactionRecord(reason="The writer stopped before its end.")
            self._queue_run([reason], now_ms)

    def commit(self, done: Done) -> None:
        assert not self._busy, "one commit at a time"
        if not self._queue:
            done(None)
            return
        name, position, cut = fmt.segment_name(self._segments[-1]), self._size, self._cut
        data, end_offset = bytes(self._queue), self._next_offset
        epochs = None if self._claimed else [*self._epochs, (self._epoch, self._end_offset)]

        def write() -> None:
            if cut is not None:
                self._files.truncate(*cut)
            if epochs is not None:
                self._write_companions(epochs)
            try:
                self._files.append(name, data, position=position)
            except StorageFailed:
                self._files.truncate(name, position)
                raise

        def written(error: BaseException | None) -> None:
            self._queue.clear()
            self._cut = None
            if error is None:
                self._size += len(data)
                self._bytes_since_snapshot += len(data)
                self._end_offset = end_offset
                self._epochs = epochs or self._epochs
                self._claimed, self._in_transaction = True, False
            else:
                self._cut = cut or (name, position)
                self._next_offset = self._end_offset
            done(error)

        self._run(write, written)

    def _write_companions(self, epochs: list[tuple[int, int]]) -> None:
        """Small files beside the log, by which Apache Kafka knows it."""
        names = self._files.names()
        for name in names:
            if name.endswith(".part"):
                self._files.remove(name)
        lines = ["0", str(len(epochs)), *(f"{epoch} {offset}" for epoch, offset in epochs), ""]
        self._files.replace(_EPOCHS, "\n".join(lines).encode(), durable=False)
        if _METADATA not in names:
            content = f"version: 0\ntopic_id: {id_text(TOPIC_ID)}"
            self._files.replace(_METADATA, content.encode(), durable=False)

    def write_snapshot(self, records: Sequence[Message], *, now_ms: int, done: Done) -> None:
        assert not self._busy, "one commit or snapshot at a time"
        assert not self._queue, "a snapshot is of what is committed"
        end_offset = self._end_offset
        epoch = self._epoch if self._claimed else self._last_epoch
        if self._snapshot_id == (end_offset, epoch):
            done(None)
            return
        if self._size:
            self._segments.append(end_offset)
            self._size = 0
        carried = dict(self._carried)
        last_timestamp = self._last_timestamp

        def write() -> None:
            data = fmt.encode_snapshot(
                records, epoch=epoch, now_ms=now_ms, last_timestamp=last_timestamp, carried=carried
            )
            self._files.replace(fmt.snapshot_name(end_offset, epoch), data)
            self._files.append(fmt.segment_name(end_offset), b"", position=0)
            self._remove_before(end_offset, epoch)

        def written(error: BaseException | None) -> None:
            self._bytes_since_snapshot = 0  # after a failure too: try again when it has grown
            if error is None:
                self._snapshot_id = (end_offset, epoch)
                self._segments = [end_offset]
            done(error)

        self._run(write, written)

    def _remove_before(self, end_offset: int, epoch: int) -> None:
        """Delete what a snapshot that is safely on disk has replaced."""
        names = self._files.names()
        for base in fmt.segment_offsets(names):
            if base < end_offset:
                for suffix in ("", ".index", ".timeindex", ".txnindex", ".snapshot"):
                    name = fmt.segment_name(base)
                    self._files.remove(name if not suffix else name[: -len(".log")] + suffix)
        for found in fmt.snapshot_ids(names):
            if found < (end_offset, epoch):
                self._files.remove(fmt.snapshot_name(*found))

    def _run(self, work: Callable[[], None], done: Done) -> None:
        """Do it here, or have the worker do it; either way `done` is called on this thread."""

        def finished(error: BaseException | None) -> None:
            self._busy = False
            if not self._closed:
                done(error)

        self._busy = True
        if self._worker is not None:
            self._worker(work, finished)
            return
        try:
            work()
        except Exception as error:  # passed on, as a worker would
            finished(error)
        else:
            finished(None)

    def close(self) -> None:
        """No file is open between commits.  Of one that is under way the end is not reported."""
        self._closed = True


def _index_name(base: int) -> str:
    return fmt.segment_name(base).removesuffix(".log") + ".index"
