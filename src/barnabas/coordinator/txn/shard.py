"""One partition of `__transaction_state` as a machine.

No clock, no socket, no disk.  Durable state is `transactions`, and only `replay` changes it; what
`decide` and `tick` return rests on it alone, so a decision that could not be written leaves nothing
behind.  Soft state is when to look for what is due.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import (
    ApiError,
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidRequest,
    TransactionalIdNotFound,
    UnsupportedVersion,
)
from barnabas.coordinator.runtime_timers import Deadlines
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision, Producer, Ticket
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn import joining, listing, starting
from barnabas.coordinator.txn.effects import markers_of
from barnabas.coordinator.txn.ending import (
    End,
    end_bumping_epoch,
    end_keeping_epoch,
    fence,
    take_id,
)
from barnabas.coordinator.txn.machine import (
    EPOCH_BUMPS,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
    check_step,
    new_transaction,
)
from barnabas.coordinator.txn.records import (
    FLEXIBLE,
    record_of,
    tombstone,
    transaction_of,
    transactional_id_of,
)
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from barnabas.protocol.messages.end_txn import EndTxnResponse
from barnabas.protocol.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from barnabas.coordinator.txn.settings import ProducerIdSource, TransactionSettings

log = logging.getLogger(__name__)


class TransactionShard:
    """The transactional ids of one partition.  Owned by a `Runtime`, on the loop thread."""

    def __init__(
        self,
        *,
        coordinator_epoch: int,
        settings: TransactionSettings,
        producer_ids: ProducerIdSource,
    ) -> None:
        """`coordinator_epoch` is the leader epoch in which this broker leads the partition."""
        self.coordinator_epoch = coordinator_epoch
        self.settings = settings
        """May be replaced at any time; the next decision heeds it."""
        self.transactions: dict[str, Transaction] = {}
        """In order of their last change, so that those which expire come first."""
        self._producer_ids = producer_ids
        self._open = Deadlines[str]()
        self._unfinished: tuple[str, ...] = ()
        self._is_loaded = False
        self._abort_at_ms = 0
        self._expire_at_ms = 0

    # Deciding

    def decide(self, event: ev.TransactionEvent, *, ticket: Ticket, now_ms: int) -> Decision:
        """Decide on `event`; every reply comes with this decision, so `ticket` is not kept."""
        match event:
            case ev.InitProducerId():
                return self._init_producer_id(event, now_ms)
            case ev.AddPartitions(verify_only=True):
                return self._verify_partitions(event)
            case ev.AddPartitions():
                return self._add_partitions(event, now_ms)
            case ev.AddOffsets():
                return self._add_offsets(event, now_ms)
            case ev.EndTxn():
                return self._end(event, now_ms)
            case ev.MarkersWritten():
                return self._complete(event, now_ms)
            case ev.DescribeTransaction():
                return Decision(reply=self._describe(event.transactional_id))
            case ev.ListTransactions():
                return Decision(
                    reply=listing.list_transactions(
                        self.transactions.values(),
                        event.request,
                        pattern=event.pattern,
                        now_ms=now_ms,
                    )
                )

    def _init_producer_id(self, event: ev.InitProducerId, now_ms: int) -> Decision:
        request = event.request
        transactional_id, timeout_ms = request.transactional_id, request.transaction_timeout_ms
        claim = starting.claim_of(request)
        if not transactional_id:
            raise InvalidRequest("A transactional id must not be empty.")
        starting.check_timeout(timeout_ms, self.settings.max_timeout_ms)
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            after = new_transaction(
                transactional_id,
                producer_id=take_id(self._producer_ids),
                timeout_ms=timeout_ms,
                now_ms=now_ms,
            )
        elif transaction.state.is_prepared:
            raise ConcurrentTransactions
        else:
            starting.check_claim(transaction, claim)
            if transaction.state is TransactionState.ONGOING:
                ended = self._fenced(transaction, now_ms)
                return self._prepare(ended, event.refuse(ConcurrentTransactions()), now_ms)
            after = starting.renew(
                transaction,
                claim,
                timeout_ms=timeout_ms,
                producer_ids=self._producer_ids,
                now_ms=now_ms,
            )
        response = InitProducerIdResponse(
            producer_id=after.producer_id, producer_epoch=after.producer_epoch
        )
        return self._written(after, reply=response)

    def _verify_partitions(self, event: ev.AddPartitions) -> Decision:
        producer = Producer(event.producer_id, event.producer_epoch)
        transaction = self._find(event.transactional_id)
        return Decision(reply=joining.verify(transaction, producer, event.partitions))

    def _add_partitions(self, event: ev.AddPartitions, now_ms: int) -> Decision:
        reply = dict.fromkeys(event.partitions, ErrorCode.NONE)
        after = joining.join(
            self._find(event.transactional_id),
            Producer(event.producer_id, event.producer_epoch),
            event.partitions,
            client_version=event.client_version,
            now_ms=now_ms,
        )
        if after is None:
            return Decision(reply=reply)
        self._check_level(event.client_version)
        return self._written(after, reply=reply)

    def _add_offsets(self, event: ev.AddOffsets, now_ms: int) -> Decision:
        request = event.request
        reply = AddOffsetsToTxnResponse()
        after = joining.join(
            self._find(request.transactional_id),
            Producer(request.producer_id, request.producer_epoch),
            frozenset((event.partition,)),
            client_version=0,  # clients of later versions do not ask
            now_ms=now_ms,
        )
        return Decision(reply=reply) if after is None else self._written(after, reply=reply)

    def _end(self, event: ev.EndTxn, now_ms: int) -> Decision:
        request = event.request
        transaction = self._find(request.transactional_id)
        end = End(
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            commit=request.committed,
        )
        if event.client_version < EPOCH_BUMPS:
            after = end_keeping_epoch(transaction, end, now_ms=now_ms)
            reply = EndTxnResponse()
        else:
            after = end_bumping_epoch(
                transaction, end, producer_ids=self._producer_ids, now_ms=now_ms
            )
            reply = _bumped_reply(transaction if after is None else after)
        if after is None:
            return Decision(reply=reply)
        self._check_level(event.client_version)
        return self._prepare(after, reply, now_ms)

    def _check_level(self, client_version: int) -> None:
        """Raise if the records that the cluster has agreed on cannot tell what the client does."""
        if client_version > 0 and self.settings.transaction_version < FLEXIBLE:
            raise UnsupportedVersion

    def _complete(self, event: ev.MarkersWritten, now_ms: int) -> Decision:
        transaction = self.transactions.get(event.transactional_id)
        if (
            transaction is None
            or not transaction.state.is_prepared
            or transaction.producer_id != event.producer_id
            or transaction.producer_epoch != event.producer_epoch
        ):
            return Decision(reply=ErrorCode.NONE)  # said twice
        return self._written(transaction.completed(now_ms=now_ms), reply=ErrorCode.NONE)

    def _describe(self, transactional_id: str) -> Any:
        if not transactional_id:
            raise InvalidRequest
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise TransactionalIdNotFound
        return listing.describe(transaction)

    def _find(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequest("A transactional id must not be empty.")
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise InvalidProducerIdMapping
        return transaction

    def _fenced(self, transaction: Transaction, now_ms: int) -> Transaction:
        return fence(
            transaction,
            transaction_version=self.settings.transaction_version,
            producer_ids=self._producer_ids,
            now_ms=now_ms,
        )

    def _written(self, after: Transaction, *, reply: Any) -> Decision:
        record = record_of(after, transaction_version=self.settings.transaction_version)
        return Decision(records=(record,), reply=reply, standalone=True)

    def _prepare(self, prepared: Transaction, reply: Any, now_ms: int) -> Decision:
        """Write down the outcome, and have the markers written; if there are none, it is done."""
        level = self.settings.transaction_version
        records = [record_of(prepared, transaction_version=level)]
        if prepared.partitions:
            effects = (markers_of(prepared, coordinator_epoch=self.coordinator_epoch),)
            return Decision(records=tuple(records), reply=reply, effects=effects, standalone=True)
        records.append(record_of(prepared.completed(now_ms=now_ms), transaction_version=level))
        return Decision(records=tuple(records), reply=reply, standalone=True)

    # Replaying

    def replay(self, record: CoordinatorRecord, *, producer: Producer | None = None) -> None:
        """Change what is known of one transactional id as `record` says."""
        transactional_id = transactional_id_of(record)
        before = self.transactions.pop(transactional_id, None)
        if record.value is None:
            assert not self._is_loaded or before is None or before.state.is_idle
            self._open.cancel(transactional_id)
            return
        try:
            after = transaction_of(record)
        except DecodeError as error:
            log.warning("%s: passed over %s", transactional_id, error)
            if before is not None:
                self.transactions[transactional_id] = before
            return
        if self._is_loaded:
            check_step(before, after)
        self.transactions[transactional_id] = after
        if after.state is TransactionState.ONGOING:
            self._open.set(transactional_id, after.deadline_ms)
        else:
            self._open.cancel(transactional_id)

    def replay_end_txn(self, producer: Producer, *, committed: bool) -> None:
        """Nobody writes to this topic in transactions."""
        log.warning("a transaction marker of producer %d in the transaction log", producer[0])

    def loaded(self, now_ms: int) -> None:
        """Transactions whose outcome is settled are finished as soon as `tick` is called."""
        self._is_loaded = True
        self._unfinished = tuple(
            transaction.transactional_id
            for transaction in self.transactions.values()
            if transaction.state.is_prepared
        )
        self._abort_at_ms = now_ms
        self._expire_at_ms = now_ms + self.settings.expiry_interval_ms

    # Time

    def next_deadline(self) -> int | None:
        """When `tick` has something to do, or earlier."""
        if self._unfinished:
            return 0
        due = self._open.next()
        if due is not None:
            due = max(due, self._abort_at_ms)
        if self.transactions and (due is None or self._expire_at_ms < due):
            due = self._expire_at_ms
        return due

    def tick(self, now_ms: int) -> Iterator[Decision]:
        """Finish what was prepared, abort what took too long, forget what is not used."""
        unfinished, self._unfinished = self._unfinished, ()
        if unfinished:
            yield self._resume(unfinished)
        if now_ms >= self._abort_at_ms:
            yield from self._abort_overdue(now_ms)
        if now_ms >= self._expire_at_ms:
            self._expire_at_ms = now_ms + self.settings.expiry_interval_ms
            expired = self._expired(now_ms)
            if expired:
                yield Decision(
                    records=tuple(map(tombstone, expired)), atomic=False, standalone=True
                )

    def _resume(self, transactional_ids: Iterable[str]) -> Decision:
        """The markers of transactions that an earlier coordinator has prepared."""
        found = (self.transactions[transactional_id] for transactional_id in transactional_ids)
        return Decision(
            effects=tuple(
                markers_of(transaction, coordinator_epoch=self.coordinator_epoch)
                for transaction in found
            )
        )

    def _abort_overdue(self, now_ms: int) -> Iterator[Decision]:
        while (transactional_id := self._open.pop(now_ms)) is not None:
            self._abort_at_ms = now_ms + self.settings.abort_interval_ms
            transaction = self.transactions[transactional_id]
            try:
                prepared = self._fenced(transaction, now_ms)
            except ApiError as error:
                log.warning("%s: not aborted yet: %s", transactional_id, error.message)
            else:
                log.info("%s: took too long, aborted", transactional_id)
                yield self._prepare(prepared, None, now_ms)
            if self.transactions.get(transactional_id) is transaction:  # not written: try again
                self._open.set(transactional_id, self._abort_at_ms)

    def _expired(self, now_ms: int) -> list[str]:
        expired = []
        oldest_kept = now_ms - self.settings.id_expiration_ms
        for transaction in self.transactions.values():
            if transaction.updated_ms > oldest_kept:
                break  # those after it were changed later
            if transaction.state.is_idle:
                expired.append(transaction.transactional_id)
        return expired

    def waiting(self) -> Iterable[Ticket]:
        return ()


def _bumped_reply(transaction: Transaction) -> EndTxnResponse:
    """Who the producer is from now on."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return EndTxnResponse(producer_id=transaction.next_producer_id, producer_epoch=0)
    return EndTxnResponse(
        producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch
    )
