"""Opening a log from what is on the disk.

After a clean stop the files are trusted: the end is found from the tail of the last index, all else
is loaded when it is needed.  Otherwise every batch from the recovery point on is checked (format,
CRC, growing offsets); indexes, leader epochs, producer states and aborted transactions are made
again on the way.  Missing or damaged index, snapshot and checkpoint files never keep a log from
opening.

A segment ends before its first batch that is not right.  If something is missing between it and the
next one, the disk kept what was written later and lost what was written earlier.  A replica must
not have such a hole: it would never ask its leader for what is missing, and could become leader
itself.  So the log ends at the hole, and the segments after it are set aside, to be copied anew; in
the only copy of a partition, the only one in sync, they stay: perhaps nobody else has them.

Holes that compaction made are none.  They are below the recovery point, since what compaction
writes is durable before it is in the log, or else below the cleaner's checkpoint; and a log that is
compacted may have them anywhere.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, crc_is_valid, read_header
from barnabas.storage import txn_index
from barnabas.storage.epochs import EpochCache
from barnabas.storage.flushing import EPOCH_FILE
from barnabas.storage.index import MAX_RELATIVE_OFFSET, OFFSET_ENTRY_BYTES
from barnabas.storage.leftovers import finish_swaps
from barnabas.storage.log import Log
from barnabas.storage.log_state import LogParts
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.replay import apply_batch, rebuild_producers
from barnabas.storage.segment import Segment
from barnabas.storage.segment_files import (
    INDEX,
    LOG,
    SNAPSHOT,
    STRAY,
    TIME_INDEX,
    TXN_INDEX,
    free_suffix,
    parse_offset,
    segment_path,
)
from barnabas.storage.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.records.batch import BatchHeader
    from barnabas.storage.config import LogConfig
    from barnabas.storage.fs import FilePool
    from barnabas.storage.index import IndexCache

_CHUNK = 1 << 20
_ANYWHERE = 1 << 63
_logger = logging.getLogger(__name__)


def open_log(
    *,
    pool: FilePool,
    cache: IndexCache,
    topic: str,
    partition: int,
    topic_id: bytes,
    directory: str,
    config: LogConfig,
    now_ms: int,
    is_clean: bool = False,
    recovery_point: int = 0,
    start_offset: int = 0,
    high_watermark: int = 0,
    compacted_to: int = 0,
    is_only_copy: bool = False,
    producer_expiration_ms: int = 24 * 3600 * 1000,
) -> Log:
    """The log in `directory`, which exists; a new log if the directory is empty.

    `recovery_point`, `start_offset`, `high_watermark` and `compacted_to` are what the checkpoints
    say.  `is_only_copy`: no other replica is in sync.
    """
    names = finish_swaps(pool, directory, pool.list_names(directory))
    segments, is_new = _find_segments(
        pool, cache, directory, names, config=config, start_offset=start_offset, now_ms=now_ms
    )
    snapshots = _find_snapshots(pool, directory, names, segments)
    epochs = _load_epochs(pool, directory, names, segments)
    producers = ProducerStates()
    if is_new:
        end = recovery_point = start_offset
        producers.load([], end)
    else:
        found = _Found(
            pool,
            segments,
            snapshots,
            epochs,
            producers,
            holes_below=_ANYWHERE if config.is_compacted else max(recovery_point, compacted_to),
            is_only_copy=is_only_copy,
        )
        end, recovery_point = found.load(is_clean=is_clean, recovery_point=recovery_point)
    producers.expire(now_ms, producer_expiration_ms)
    start_offset = max(start_offset, segments.first.base_offset)
    epochs.cut_end(end)
    epochs.cut_start(start_offset)
    parts = LogParts(
        pool=pool,
        cache=cache,
        topic=topic,
        partition=partition,
        topic_id=topic_id,
        directory=directory,
        config=config,
        segments=segments,
        producers=producers,
        epochs=epochs,
        snapshots=snapshots,
        start_offset=min(start_offset, end),
        end_offset=end,
        high_watermark=max(min(high_watermark, end), min(start_offset, end)),
        recovery_point=min(recovery_point, end),
    )
    log = Log(parts)
    if start_offset > end:  # a crash lost what the checkpoint says was deleted anyhow
        log.reset_to(start_offset, now_ms=now_ms)
    producers.replicated_to(log.high_watermark)
    return log


def _find_segments(
    pool: FilePool,
    cache: IndexCache,
    directory: str,
    names: set[str],
    *,
    config: LogConfig,
    start_offset: int,
    now_ms: int,
) -> tuple[Segments, bool]:
    """The segments, and whether there were none, so that one had to be made."""
    found: list[Segment] = []
    for name in sorted(name for name in names if name.endswith(LOG)):
        base = parse_offset(name, LOG)
        if base is None:
            continue
        size, _ = pool.size_and_mtime_ms(f"{directory}/{name}")
        found.append(
            Segment(
                pool,
                cache,
                directory,
                base,
                size_bytes=size,
                index_interval=config.index_interval_bytes,
                created_ms=now_ms,
                has_aborted=name[: -len(LOG)] + TXN_INDEX in names,
            )
        )
    bases = {segment.base_offset for segment in found}
    for name in names:
        for kind in (INDEX, TIME_INDEX, TXN_INDEX):
            base = parse_offset(name, kind)
            if base is not None and base not in bases:
                _logger.warning("%s/%s has no log: removed.", directory, name)
                pool.remove(f"{directory}/{name}")
    if found:
        return Segments(found), False
    new = Segment.create(
        pool,
        cache,
        directory,
        start_offset,
        index_interval=config.index_interval_bytes,
        now_ms=now_ms,
    )
    return Segments([new]), True


def _find_snapshots(
    pool: FilePool, directory: str, names: set[str], segments: Segments
) -> list[int]:
    """Offsets of the snapshots; those of no segment go, but for one after the last segment."""
    offsets = sorted(
        offset
        for name in names
        if name.endswith(SNAPSHOT) and (offset := parse_offset(name, SNAPSHOT)) is not None
    )
    bases = {segment.base_offset for segment in segments}
    last_base = segments.active.base_offset
    kept = [offset for offset in offsets if offset in bases or offset == offsets[-1] > last_base]
    for offset in offsets:
        if offset not in kept:
            pool.remove(segment_path(directory, offset, SNAPSHOT))
    return kept


def _load_epochs(pool: FilePool, directory: str, names: set[str], segments: Segments) -> EpochCache:
    data = pool.read_bytes(f"{directory}/{EPOCH_FILE}") if EPOCH_FILE in names else None
    epochs = None if data is None else EpochCache.decode(data)
    if epochs is None:
        epochs = EpochCache()
        for segment in segments:
            for _, header in segment.headers():
                if header.leader_epoch > epochs.latest:
                    epochs.assign(header.leader_epoch, header.base_offset)
        if data is not None:
            _logger.warning("%s/%s was damaged: built again.", directory, EPOCH_FILE)
    return epochs


class _Found:
    """What is on the disk of a log that is being opened."""

    def __init__(
        self,
        pool: FilePool,
        segments: Segments,
        snapshots: list[int],
        epochs: EpochCache,
        producers: ProducerStates,
        *,
        holes_below: int,
        is_only_copy: bool,
    ) -> None:
        """`holes_below`: up to there compaction may have removed what is missing."""
        self.pool = pool
        self.segments = segments
        self.snapshots = snapshots
        self.epochs = epochs
        self.producers = producers
        self._holes_below = holes_below
        self._is_only_copy = is_only_copy

    def load(self, *, is_clean: bool, recovery_point: int) -> tuple[int, int]:
        """(end of the log, recovery point), with all else brought to that end."""
        damaged = self._first_damaged()
        try:
            if is_clean and damaged is None:
                end = self._trusted_end()
                if end is not None:
                    self._rebuild_producers(end)
                    return end, end
            recovery_point = min(recovery_point, self.segments.active.base_offset)
            if damaged is not None:
                recovery_point = min(recovery_point, damaged)
            end = self._recover(recovery_point)
        except CorruptMessage as error:
            _logger.warning("%s Everything is checked again.", error)
            recovery_point = self.segments.first.base_offset
            end = self._recover(recovery_point)
        return end, min(recovery_point, end)

    def _rebuild_producers(self, end_offset: int) -> None:
        rebuild_producers(
            self.producers, self.pool, self.segments, self.snapshots, end_offset=end_offset
        )

    def _trusted_end(self) -> int | None:
        """The end of a log that was closed cleanly; None if it does not look like that."""
        segment = self.segments.active
        tail = self.pool.read_tail(segment.path(INDEX), OFFSET_ENTRY_BYTES, OFFSET_ENTRY_BYTES)
        position = int.from_bytes(tail[4:8], "big") if tail else 0
        if position >= segment.size_bytes:
            position = 0
        end, stop = segment.base_offset, 0
        for at, header in segment.headers(position):
            end, stop = header.next_offset, at + header.size_bytes
        if stop != segment.size_bytes:
            _logger.warning("%s was not closed cleanly.", segment.file.path)
            return None
        return end

    def _first_damaged(self) -> int | None:
        """The first segment whose aborted transactions cannot be read: only recovery finds them.

        An index that is damaged is made again when it is needed.
        """
        for segment in self.segments:
            if segment.has_aborted_file:
                data = self.pool.read_bytes(segment.path(TXN_INDEX)) or b""
                found = txn_index.decode(data, segment.base_offset)
                if not found or len(found) * txn_index.ENTRY_BYTES != len(data):
                    _logger.warning("%s is damaged.", segment.path(TXN_INDEX))
                    return segment.base_offset
        return None

    def _recover(self, recovery_point: int) -> int:
        """Check everything from the recovery point on; the offset where the log ends."""
        segments = self.segments
        suspects = segments.from_offset(recovery_point)
        end = suspects[0].base_offset
        self._rebuild_producers(end)
        for number, segment in enumerate(suspects):
            good, end = self._recover_segment(segment, end)
            torn = segment.file.size - good
            if torn:
                _logger.warning(
                    "%s: %d bytes after the last whole batch were cut.", segment.file.path, torn
                )
                segment.file.truncate(good)
            later = suspects[number + 1 :]
            if later and self._is_lost(end, later[0].base_offset, torn=torn > 0):
                self._miss(end, later)
                if not self._is_only_copy:
                    break
        for segment in segments.from_offset(suspects[0].base_offset):
            if segment.is_closed:
                segment.close_indexes()
            else:
                segment.save_aborted()
        for offset in [each for each in self.snapshots if each > end]:
            self.pool.remove(segment_path(segments.first.directory, offset, SNAPSHOT))
            self.snapshots.remove(offset)
        self.producers.commit(end)
        return end

    def _is_lost(self, end: int, next_base: int, *, torn: bool) -> bool:
        """Whether batches are missing between two segments that were there before the crash."""
        return torn or (end < next_base and next_base > self._holes_below)

    def _miss(self, end: int, later: list[Segment]) -> None:
        """Say that there is a hole at `end`, and set `later` aside if others have copies."""
        directory, next_base = later[0].directory, later[0].base_offset
        if self._is_only_copy:
            _logger.warning(
                "%s: what was from offset %d to %d is lost; this is the only copy, so that what "
                "follows is kept.",
                directory,
                end,
                next_base - 1,
            )
            return
        self.segments.remove(later)
        for segment in later:
            segment.close()
            segment.rename_to(free_suffix(self.pool, segment.directory, segment.base_offset, STRAY))
        self.pool.sync_directory(directory)  # they must not come back beside what is copied anew
        _logger.warning(
            "%s: the log ends at offset %d, where something is lost; what follows (%d segments, "
            "from offset %d on) is set aside in files that end in %s, to be copied again.",
            directory,
            end,
            len(later),
            next_base,
            STRAY,
        )

    def _recover_segment(self, segment: Segment, expected: int) -> tuple[int, int]:
        """Check each batch and note it; (bytes that are good, offset after the last good one)."""
        segment.start_over()
        position = 0
        expected = max(expected, segment.base_offset)
        for batch, header in _sound_batches(segment, expected):
            if header.leader_epoch > self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                apply_batch(self.producers, header, batch, segment)
            segment.add(header.last_offset, header.size_bytes, header.max_timestamp)
            expected = header.next_offset
            position += header.size_bytes
        return position, expected


def _sound_batches(segment: Segment, expected: int) -> Iterator[tuple[memoryview, BatchHeader]]:
    """The batches of a segment, up to the first that is not right in every respect."""
    file, file_size = segment.file, segment.file.size
    position = start = 0
    window = memoryview(b"")
    while position + HEADER_SIZE <= file_size:
        at = position - start
        if at + HEADER_SIZE > len(window):
            window = memoryview(file.read(position, _CHUNK))
            start, at = position, 0
        header = read_header(window, at)
        size = header.batch_length + LOG_OVERHEAD
        if (
            header.magic != MAGIC
            or size < HEADER_SIZE
            or position + size > file_size
            or header.base_offset < expected
            or header.last_offset_delta < 0
            or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return
        if at + size > len(window):
            window = memoryview(file.read(position, max(size, _CHUNK)))
            start, at = position, 0
        batch = window[at : at + size]
        if not crc_is_valid(batch, header):
            return
        yield batch, header
        expected = header.next_offset
        position += size
