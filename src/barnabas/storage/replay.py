"""What batches that are in the log, or come from a leader, mean for producer states."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import decode_records
from barnabas.records.control import ControlType, control_type, end_txn_marker
from barnabas.storage import producer_snapshot
from barnabas.storage.producer_state import AppendedBatch
from barnabas.storage.segment_files import SNAPSHOT, segment_path
from barnabas.storage.txn_index import AbortedTransaction

if TYPE_CHECKING:
    from barnabas.records.batch import BatchHeader
    from barnabas.storage.fs import Buffer, FilePool
    from barnabas.storage.producer_state import ProducerStates
    from barnabas.storage.segment import Segment
    from barnabas.storage.segments import Segments


_logger = logging.getLogger(__name__)


def apply_batch(
    producers: ProducerStates, header: BatchHeader, batch: Buffer, segment: Segment | None
) -> None:
    """Apply one batch that has a producer id.  Nothing is refused: the leader did that.

    `batch` is needed of control batches only.  Where `segment` is given, it is told of an abort.
    """
    entry = producers.entry_for(header.producer_id)
    if not header.is_control:
        data = AppendedBatch(
            header.last_sequence,
            header.last_offset,
            header.last_offset_delta,
            header.max_timestamp,
        )
        producers.apply_data(
            entry, header.producer_epoch, data, is_transactional=header.is_transactional
        )
        return
    try:
        record = next(decode_records(batch, header), None)
        if record is None or not control_type(record.key).ends_transaction:
            return  # another kind of control batch, or compaction removed the marker from it
        marker = end_txn_marker(record)
    except (InvalidRecord, CorruptMessage) as error:
        _logger.warning("The marker at offset %d means nothing: %s", header.base_offset, error)
        return
    done = producers.apply_marker(
        entry,
        header.producer_epoch,
        marker.coordinator_epoch,
        header.base_offset,
        record.timestamp,
        is_aborted=marker.control_type is ControlType.ABORT,
    )
    if done is not None and done.is_aborted and segment is not None:
        segment.add_aborted(
            AbortedTransaction(
                done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset
            )
        )


def rebuild_producers(
    producers: ProducerStates,
    pool: FilePool,
    segments: Segments,
    snapshots: list[int],
    *,
    end_offset: int,
) -> None:
    """Producer states as of `end_offset`: from the last good snapshot and the batches after it."""
    directory = segments.first.directory
    producers.load([], segments.first.base_offset)
    for offset in [each for each in reversed(snapshots) if each <= end_offset]:
        path = segment_path(directory, offset, SNAPSHOT)
        entries = producer_snapshot.decode(pool.read_bytes(path) or b"")
        if entries is not None:
            producers.load(entries, offset)
            break
        _logger.warning("%s is damaged: removed.", path)
        pool.remove(path)
        snapshots.remove(offset)
    if producers.end_offset < end_offset:
        _replay(producers, segments, end_offset)
    producers.commit(end_offset)


def _replay(producers: ProducerStates, segments: Segments, end_offset: int) -> None:
    start = producers.end_offset
    for segment in segments.from_offset(start):
        place = segment.locate(max(start, segment.base_offset), segment.file.size)
        if place is None:
            continue
        stop = 0
        for position, header in segment.headers(place[0]):
            if header.base_offset >= end_offset:
                return
            if header.producer_id >= 0:
                batch = segment.read_batch(position, header) if header.is_control else b""
                apply_batch(producers, header, batch, None)
            stop = position + header.size_bytes
        if stop != segment.file.size:
            raise CorruptMessage(f"{segment.file.path} is damaged at {stop}.")
