"""What a log remembers of its idempotent and transactional producers.

Sequence numbers of a producer must follow each other, except that an exact repeat of one of its
last five batches is answered with what the first one got.  A producer of which nothing is
remembered (new, expired, or all its records deleted) may start at any number.

Every change is written down in `undo` until `commit`, so that a failed write can be taken back.
Pure: no disk, no clock.  The file format is in producer_snapshot.py.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.base.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)

BATCHES_KEPT = 5
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_COORDINATOR_EPOCH = -1
NO_OFFSET = -1
MAX_SEQUENCE = 0x7FFF_FFFF


class AppendedBatch(NamedTuple):
    """One of the last batches of a producer.  `offset_delta`: last offset minus first."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """One producer id.  `transaction_start` is the first offset of its open transaction, or -1."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "transaction_start",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = -1
        self.transaction_start = NO_OFFSET
        self.batches: tuple[AppendedBatch, ...] = ()

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def state(self) -> tuple[int, int, int, int, tuple[AppendedBatch, ...]]:
        """All that can change, in the order of `restore`."""
        return (
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.transaction_start,
            self.batches,
        )

    def restore(self, state: tuple[int, int, int, int, tuple[AppendedBatch, ...]]) -> None:
        (
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.transaction_start,
            self.batches,
        ) = state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProducerEntry):
            return NotImplemented
        return self.producer_id == other.producer_id and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"ProducerEntry({self.producer_id}, {self.state()})"


class CompletedTransaction(NamedTuple):
    """A marker at `last_offset` ended the transaction that began at `first_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
    last_stable_offset: int
    """Where the next open transaction begins, or the offset after the marker."""


_Undo = tuple[ProducerEntry, tuple[int, int, int, int, tuple[AppendedBatch, ...]]]


class ProducerStates:
    """All producers of one log, and its open transactions."""

    __slots__ = ("_undo", "_unreplicated", "end_offset", "entries", "first_unstable_offset", "open")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.open: dict[int, int] = {}
        """Producer id -> first offset of its open transaction, in order of that offset."""
        self.first_unstable_offset = NO_OFFSET
        self.end_offset = 0
        """Everything below is included."""
        self._unreplicated: list[tuple[int, int]] = []  # (first, marker) of ended transactions
        self._undo: list[_Undo] = []

    # Checks: what a leader refuses.

    def find_duplicate(
        self, entry: ProducerEntry, epoch: int, first_sequence: int, offset_delta: int
    ) -> AppendedBatch | None:
        """The batch that this one repeats: same epoch, same first and last sequence number."""
        if entry.producer_epoch != epoch:
            return None
        last_sequence = (first_sequence + offset_delta) & MAX_SEQUENCE
        for batch in entry.batches:
            if batch.last_sequence == last_sequence and batch.offset_delta == offset_delta:
                return batch
        return None

    def check(
        self,
        entry: ProducerEntry,
        epoch: int,
        first_sequence: int,
        *,
        is_transactional: bool,
        zero_start: bool = False,
    ) -> None:
        """Raise unless a leader may append this batch of client data.

        `zero_start`: the producer follows the second transaction protocol, whose first batch must
        have sequence number 0 where nothing is known of the producer.
        """
        current = entry.producer_epoch
        if epoch < current:
            raise InvalidProducerEpoch(
                f"Producer {entry.producer_id} has epoch {epoch}, but epoch {current} was seen."
            )
        last = entry.last_sequence if epoch == current else NO_SEQUENCE
        anything_goes = current == NO_PRODUCER_EPOCH and not zero_start
        follows = first_sequence == last + 1 or (first_sequence == 0 and last == MAX_SEQUENCE)
        if not follows and not anything_goes:
            raise OutOfOrderSequenceNumber(
                f"Producer {entry.producer_id} (epoch {epoch}) sent sequence number "
                f"{first_sequence} after {last} (epoch {current})."
            )
        if entry.transaction_start != NO_OFFSET and not is_transactional:
            raise InvalidTxnState(
                f"Producer {entry.producer_id} sent a batch outside of its open transaction."
            )

    def check_marker(
        self, entry: ProducerEntry, epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> None:
        """Raise unless a leader may append this end marker.

        From transaction version 2 on the marker's epoch is one above the transaction's, so that a
        late marker cannot end a later transaction; only a repeat of the last marker may equal.
        """
        current = entry.producer_epoch
        stale = epoch < current
        if transaction_version >= 2 and epoch == current:
            stale = entry.transaction_start != NO_OFFSET
        if stale:
            raise InvalidProducerEpoch(
                f"A marker for producer {entry.producer_id} has epoch {epoch}, but epoch {current} "
                "was seen."
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"A marker for producer {entry.producer_id} came from coordinator epoch "
                f"{coordinator_epoch}, but {entry.coordinator_epoch} was seen."
            )

    # Changes: what an append, on a leader or a follower or found in recovery, means.

    def entry_for(self, producer_id: int) -> ProducerEntry:
        """What is known of a producer; a new entry is kept only once something is applied to it."""
        return self.entries.get(producer_id) or ProducerEntry(producer_id)

    def apply_data(
        self, entry: ProducerEntry, epoch: int, batch: AppendedBatch, *, is_transactional: bool
    ) -> None:
        self._undo.append((entry, entry.state()))
        if entry.producer_epoch == epoch:
            entry.batches = (*entry.batches[1 - BATCHES_KEPT :], batch)
        else:
            if entry.producer_epoch == NO_PRODUCER_EPOCH:
                self.entries[entry.producer_id] = entry
            entry.producer_epoch = epoch
            entry.batches = (batch,)
        entry.last_timestamp = batch.timestamp
        if is_transactional and entry.transaction_start == NO_OFFSET:
            entry.transaction_start = self.open[entry.producer_id] = batch.first_offset
            if self.first_unstable_offset == NO_OFFSET:
                self.first_unstable_offset = batch.first_offset

    def apply_marker(
        self,
        entry: ProducerEntry,
        epoch: int,
        coordinator_epoch: int,
        offset: int,
        timestamp: int,
        *,
        is_aborted: bool,
    ) -> CompletedTransaction | None:
        """None if the transaction wrote nothing to this log."""
        self._undo.append((entry, entry.state()))
        if entry.producer_epoch != epoch:
            if entry.producer_epoch == NO_PRODUCER_EPOCH:
                self.entries[entry.producer_id] = entry
            entry.producer_epoch = epoch
            entry.batches = ()
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        first_offset, entry.transaction_start = entry.transaction_start, NO_OFFSET
        if first_offset == NO_OFFSET:
            return None
        del self.open[entry.producer_id]
        stable = next(iter(self.open.values()), offset + 1)
        self._unreplicated.append((first_offset, offset))
        self._find_first_unstable()
        return CompletedTransaction(entry.producer_id, first_offset, offset, is_aborted, stable)

    # What did not happen.

    def commit(self, end_offset: int) -> None:
        """What was applied so far, all below `end_offset`, is written: it is not taken back."""
        self._undo.clear()
        self.end_offset = end_offset

    def roll_back(self) -> None:
        """Forget everything applied since `commit`."""
        if not self._undo:
            return
        for entry, state in reversed(self._undo):
            entry.restore(state)
            if entry.producer_epoch == NO_PRODUCER_EPOCH:
                self.entries.pop(entry.producer_id, None)
        self._undo.clear()
        self._reopen()
        self._unreplicated = [u for u in self._unreplicated if u[1] < self.end_offset]
        self._find_first_unstable()

    def _reopen(self) -> None:
        started = sorted(
            (entry.transaction_start, producer_id)
            for producer_id, entry in self.entries.items()
            if entry.transaction_start != NO_OFFSET
        )
        self.open = {producer_id: first for first, producer_id in started}

    def _find_first_unstable(self) -> None:
        offsets = [first for first, _ in self._unreplicated]
        offsets += [*self.open.values()][:1]
        self.first_unstable_offset = min(offsets, default=NO_OFFSET)

    # What time and the log's ends do.

    def replicated_to(self, high_watermark: int) -> None:
        """Transactions whose marker is below the high watermark are stable."""
        if self._unreplicated:
            self._unreplicated = [u for u in self._unreplicated if u[1] >= high_watermark]
            self._find_first_unstable()

    def started_at(self, log_start_offset: int) -> None:
        """Records below are gone.  Producers are still known, so that they can go on."""
        self.replicated_to(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that wrote nothing for so long and have no open transaction."""
        assert not self._undo, "producers must not expire while appends are queued"
        old = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.transaction_start == NO_OFFSET
            and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in old:
            del self.entries[producer_id]
        return len(old)

    def load(self, entries: list[ProducerEntry], end_offset: int) -> None:
        """Start from a snapshot that includes everything below `end_offset`."""
        self._undo.clear()
        self.entries = {entry.producer_id: entry for entry in entries}
        self._unreplicated.clear()
        self.end_offset = end_offset
        self._reopen()
        self._find_first_unstable()
