"""Compaction: which records of a log survive.  Pure: batches in, batches out, no disk, no clock.

Of each key the last record survives; offsets, order and what a batch says about itself do not
change.  Two passes over the log:

1. `map_batch` on the dirty part fills an `OffsetMap`: key -> offset of its last record.  When the
   map is full the pass ends early and the rest stays dirty.
2. `Compactor.filter` on everything up to there keeps, drops or rewrites each batch.

What else is kept, and for how long:
- A record without a value (a tombstone) is kept until its batch's delete horizon, so that readers
  learn of the deletion.  The horizon is set by the compaction that removes what the tombstone
  deletes: it stands in `base_timestamp`, and attribute bit 6 says so.
- Records of aborted transactions go.  A transaction's marker is kept as long as a batch of the
  transaction was seen, and then until a delete horizon of its own.
- The last batch of a producer that is still active is kept, if need be without its records,
  because sequence numbers are checked against it after a restart.  So is the last batch of the
  compacted part, so that its end offset is not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from heapq import heapify, heappop
from typing import NamedTuple

from barnabas.records.batch import build_batch, decode_records, record_body
from barnabas.records.control import ControlType, control_type
from barnabas.records.header import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
)
from barnabas.records.scan import RecordSpan, retimed, scan_body
from barnabas.storage.fs import Buffer
from barnabas.storage.txn_index import AbortedTransaction

_LONGEST_PLAIN_KEY = 32
_DIGEST_BYTES = _LONGEST_PLAIN_KEY + 1  # so that no key looks like another one's digest
_ENTRY_BYTES = 130
"""Of one entry apart from its key: dictionary slots at their emptiest, key object, offset."""


class OffsetMap:
    """Key -> offset of its last record in the dirty part, in about `limit_bytes` of memory.

    Every batch from `start_offset` up to `end_offset` is in it.  Short keys are kept as they are,
    longer ones as a digest.
    """

    __slots__ = ("_offsets", "end_offset", "limit_bytes", "start_offset", "used_bytes")

    def __init__(self, limit_bytes: int, start_offset: int) -> None:
        self._offsets: dict[bytes, int] = {}
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.start_offset = self.end_offset = start_offset

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        return self.used_bytes >= self.limit_bytes

    def put(self, key: bytes, offset: int) -> None:
        if len(key) > _LONGEST_PLAIN_KEY:
            key = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        if key not in self._offsets:
            self.used_bytes += _ENTRY_BYTES + len(key)
        self._offsets[key] = offset

    def last_offset_of(self, key: bytes) -> int:
        """-1 if the dirty part has no such key."""
        if len(key) > _LONGEST_PLAIN_KEY:
            key = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        return self._offsets.get(key, -1)


class Transactions:
    """Follows the transactions of a log, batch by batch."""

    __slots__ = ("_aborted", "_committed", "_kept", "_pending")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._pending = [(each.first_offset, each) for each in aborted]
        heapify(self._pending)
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}  # and: was a batch seen?
        self._committed: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def take_kept_aborted(self) -> list[AbortedTransaction]:
        """The aborted transactions, since last asked, whose marker was read and has to stay."""
        kept, self._kept = self._kept, []
        return kept

    def _begin_up_to(self, offset: int) -> None:
        pending = self._pending
        while pending and pending[0][0] <= offset:
            _, transaction = heappop(pending)
            self._aborted.setdefault(transaction.producer_id, (transaction, False))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a data batch belongs to a transaction that was aborted."""
        self._begin_up_to(header.last_offset)
        if not header.attributes & TRANSACTIONAL:
            return False
        found = self._aborted.get(header.producer_id)
        if found is None:
            self._committed.add(header.producer_id)
            return False
        self._aborted[header.producer_id] = found[0], True
        return True

    def is_needless(self, header: BatchHeader, batch: Buffer) -> bool:
        """Whether a control batch marks the end of nothing: no batch of its transaction is left."""
        self._begin_up_to(header.last_offset)
        record = next(decode_records(batch, header), None)
        if record is None:
            return True
        match control_type(record.key):
            case ControlType.ABORT:
                transaction, seen = self._aborted.pop(header.producer_id, (None, False))
                if transaction is not None and seen:
                    self._kept.append(transaction)
                return not seen
            case ControlType.COMMIT:
                seen = header.producer_id in self._committed
                self._committed.discard(header.producer_id)
                return not seen
            case _:
                return False


def map_batch(
    offsets: OffsetMap, transactions: Transactions, header: BatchHeader, batch: Buffer
) -> None:
    """Enter the keys of a batch that ends in the dirty part."""
    assert header.last_offset >= offsets.end_offset, "batches come in order"
    if header.attributes & CONTROL:
        transactions.is_needless(header, batch)
    elif not transactions.is_aborted(header):
        base_offset, start_offset = header.base_offset, offsets.start_offset
        for span in scan_body(record_body(batch, header), header):
            offset = base_offset + span.offset_delta
            if span.key is not None and offset >= start_offset:
                offsets.put(span.key, offset)
    offsets.end_offset = header.next_offset


class LastRecord(NamedTuple):
    """Where an active producer left off.  `data_offset` is None if all it wrote are markers."""

    producer_epoch: int
    data_offset: int | None


class Compactor:
    """The second pass.  `filter` gets every batch of the log, in order, each exactly once."""

    __slots__ = (
        "_delete_retention_ms",
        "_last_records",
        "_now_ms",
        "_offsets",
        "_transactions",
        "_upper_bound",
    )

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: Transactions,
        *,
        last_records: Mapping[int, LastRecord],
        upper_bound: int,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        """`upper_bound`: where the part of the log that may be compacted ends."""
        self._offsets = offsets
        self._transactions = transactions
        self._last_records = last_records
        self._upper_bound = upper_bound
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms

    def filter(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """What is left of a batch: itself, a smaller one with the same offsets, or nothing."""
        horizon = header.delete_horizon
        expired = horizon is not None and horizon <= self._now_ms
        needs_horizon = False
        if header.attributes & CONTROL:
            needless = self._transactions.is_needless(header, batch)
            if not needless or (not expired and header.count):
                if horizon is not None or not needless:
                    return batch
                needs_horizon = True
                kept = [*scan_body(body := record_body(batch, header), header)]
                return self._rewrite(header, body, kept, needs_horizon)
        elif not self._transactions.is_aborted(header):
            if header.base_offset >= self._offsets.end_offset:
                return batch  # not mapped yet: still dirty after this compaction
            body = record_body(batch, header)
            spans = [*scan_body(body, header)]
            kept = self._survivors(header, spans, expired)
            if kept:
                needs_horizon = horizon is None and not all(span.has_value for span in kept)
                if len(kept) == len(spans) and not needs_horizon:
                    return batch
                return self._rewrite(header, body, kept, needs_horizon)
        return _without_records(header) if self._must_stay(header) else None

    def _survivors(
        self, header: BatchHeader, spans: list[RecordSpan], expired: bool
    ) -> list[RecordSpan]:
        """A record stays if it is the last of its key, and has a value or a horizon to wait for."""
        base_offset, last_offset_of = header.base_offset, self._offsets.last_offset_of
        return [
            span
            for span in spans
            if span.key is not None
            and base_offset + span.offset_delta >= last_offset_of(span.key)
            and (span.has_value or not expired)
        ]

    def _must_stay(self, header: BatchHeader) -> bool:
        """Whether the batch's header still tells something that nothing else does."""
        if header.next_offset == self._upper_bound:
            return True
        last = self._last_records.get(header.producer_id) if header.producer_id >= 0 else None
        if last is None:
            return False
        if last.data_offset is not None:
            return last.data_offset == header.last_offset
        return header.is_control and last.producer_epoch == header.producer_epoch

    def _rewrite(
        self, header: BatchHeader, body: bytes, kept: list[RecordSpan], needs_horizon: bool
    ) -> Buffer:
        """The same batch with the records in `kept` only; their bytes are copied as they are."""
        attributes, base_timestamp = header.attributes, header.base_timestamp
        if needs_horizon:
            attributes |= DELETE_HORIZON
            shift = base_timestamp - (base_timestamp := self._now_ms + self._delete_retention_ms)
            parts = [retimed(body, span, span.timestamp_delta + shift) for span in kept]
        else:
            parts = [body[span.start : span.end] for span in kept]
        max_timestamp = header.max_timestamp
        if not attributes & LOG_APPEND_TIME:
            max_timestamp = header.base_timestamp + max(span.timestamp_delta for span in kept)
        changed = header._replace(
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            count=len(kept),
        )
        return build_batch(changed, b"".join(parts))


def _without_records(header: BatchHeader) -> Buffer:
    """A batch that keeps its place and its producer's sequence number."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON)
    return build_batch(
        header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, count=0), b""
    )
