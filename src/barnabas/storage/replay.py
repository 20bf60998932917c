"""What a batch that is already in the log, or comes from a leader, means for producer states."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import decode_records
from barnabas.records.control import ControlType, control_type, end_txn_marker
from barnabas.storage.producer_state import AppendedBatch
from barnabas.storage.txn_index import AbortedTransaction

if TYPE_CHECKING:
    from barnabas.records.batch import BatchHeader
    from barnabas.storage.fs import Buffer
    from barnabas.storage.producer_state import ProducerStates
    from barnabas.storage.segment import Segment


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
