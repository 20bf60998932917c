"""Transactions: producers, zombies, lost replies, late requests, timeouts and crashes in any order.

Producers of both protocols share transactional ids; partitions are the real producer states of
storage behind the real verification.  What must hold: epochs only grow, a settled outcome is not
reversed, nothing fenced is committed, every record ends as its producer was told, no transaction
hangs, and the log tells the whole state, compacted or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from transactions import (
    SETTINGS,
    Coordinator,
    Ids,
    add,
    compacted,
    end,
    init,
    loaded_shard,
    markers_written,
    stored,
)

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator import runtime_codec
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import (
    MAX_EPOCH,
    TRANSITIONS,
    TopicPartition,
    Transaction,
    TransactionState,
    new_transaction,
)
from barnabas.coordinator.txn.records import KEY_TYPES, record_of, transaction_of
from barnabas.coordinator.txn.verification import Guard, Verifications
from barnabas.storage.producer_state import AppendedBatch, ProducerStates

S = TransactionState
NAMES = ("t", "x")
PARTITIONS = (TopicPartition("a", 0), TopicPartition("b", 0))
TIMEOUT_MS = 10_000


@dataclass
class Written:
    """One record in a partition.  `outcome`: None while its transaction is open."""

    producer_id: int
    epoch: int
    outcome: bool | None = None


class Partition:
    """A leader's view of one partition."""

    def __init__(self) -> None:
        self.states = ProducerStates()
        self.questions = Verifications()
        self.written: list[Written] = []
        self.offset = 0

    def is_open(self, producer_id: int, epoch: int) -> bool:
        entry = self.states.entry_for(producer_id)
        return entry.transaction_start >= 0 and entry.producer_epoch == epoch

    def next_sequence(self, producer_id: int, epoch: int) -> int:
        entry = self.states.entry_for(producer_id)
        return entry.last_sequence + 1 if entry.producer_epoch == epoch else 0

    def append(self, producer_id: int, epoch: int, guard: Guard) -> Written | None:
        is_open = self.is_open(producer_id, epoch)
        sequence = self.next_sequence(producer_id, epoch)
        if self.questions.may_append(producer_id, epoch, 0, guard, is_open=is_open):
            return None
        entry = self.states.entry_for(producer_id)
        try:
            self.states.check(entry, epoch, sequence, is_transactional=True)
        except ApiError:
            return None
        batch = AppendedBatch(sequence, self.offset, 0, 0)
        self.states.apply_data(entry, epoch, batch, is_transactional=True)
        self.questions.settled(producer_id)
        self.offset += 1
        record = Written(producer_id, epoch)
        self.written.append(record)
        return record

    def mark(self, markers: WriteMarkers) -> bool:
        entry = self.states.entry_for(markers.producer_id)
        try:
            self.states.check_marker(
                entry,
                markers.producer_epoch,
                markers.coordinator_epoch,
                markers.transaction_version,
            )
        except ApiError:
            return False
        self.states.apply_marker(
            entry,
            markers.producer_epoch,
            markers.coordinator_epoch,
            self.offset,
            0,
            is_aborted=not markers.is_commit,
        )
        self.questions.settled(markers.producer_id)
        self.offset += 1
        for record in self.written:
            if record.producer_id == markers.producer_id and record.outcome is None:
                assert record.epoch <= markers.producer_epoch
                record.outcome = markers.is_commit
        return True


@dataclass
class Client:
    """A producer instance; more than one of an id means that all but one are zombies."""

    name: str
    is_new: bool
    """Of the second protocol."""
    producer_id: int = -1
    epoch: int = -1
    number: int = 0
    """Counts its transactions."""
    acknowledged: list[Written] = field(default_factory=list)

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer_id, self.epoch


@dataclass
class Question:
    """A batch whose transaction was verified, or the partition added, and that waits its turn."""

    client: Client
    partition: TopicPartition
    producer_id: int
    epoch: int
    number: int
    guard: Guard


class Transactions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.coordinator = Coordinator()
        self.now_ms = 0
        self.partitions = {partition: Partition() for partition in PARTITIONS}
        self.clients: list[Client] = []
        self.questions: list[Question] = []
        self.past: list[ev.TransactionEvent] = []
        self.promised: list[tuple[Written, bool]] = []
        self.highest: dict[str, list[tuple[int, int]]] = {name: [] for name in NAMES}

    @initialize()
    def nearly_out_of_epochs(self) -> None:
        producer_id = self.coordinator.ids.take()
        assert producer_id is not None
        tired = new_transaction("x", producer_id=producer_id, timeout_ms=1, now_ms=0).renewed(
            producer_epoch=MAX_EPOCH - 4, last_producer_epoch=-1, timeout_ms=TIMEOUT_MS, now_ms=0
        )
        self.coordinator.log.append(stored(record_of(tired, transaction_version=2)))
        self.coordinator.restart()

    def send(self, event: ev.TransactionEvent) -> object:
        """Ask the coordinator, and check what must hold of any answer."""
        before = dict(self.coordinator.shard.transactions)
        written = len(self.coordinator.log)
        reply = self.coordinator.do(event, self.now_ms)
        if isinstance(event, ev.AddPartitions | ev.EndTxn) and len(self.coordinator.log) > written:
            request = event if isinstance(event, ev.AddPartitions) else event.request
            current = before[request.transactional_id]
            assert (request.producer_id, request.producer_epoch) == (
                current.producer_id,
                current.producer_epoch,
            ), "only the current producer changes anything"
        return reply

    # Producers

    @rule(name=st.sampled_from(NAMES), is_new=st.booleans())
    def start(self, name: str, is_new: bool) -> None:
        if len(self.clients) > 5:
            self.clients.pop(0)
        client = Client(name, is_new)
        self.clients.append(client)
        self.init(client, claims=False)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), claims=st.booleans())
    def init_again(self, data: st.DataObject, claims: bool) -> None:
        client = data.draw(st.sampled_from(self.clients))
        self.init(client, claims=claims and client.producer_id >= 0)

    def init(self, client: Client, *, claims: bool) -> None:
        event = init(client.name, timeout_ms=TIMEOUT_MS)
        if claims:
            event = init(
                client.name,
                producer_id=client.producer_id,
                epoch=client.epoch,
                timeout_ms=TIMEOUT_MS,
            )
        reply = self.send(event)
        self.past.append(event)
        if not reply.error_code:  # type: ignore[attr-defined]
            client.producer_id = reply.producer_id  # type: ignore[attr-defined]
            client.epoch = reply.producer_epoch  # type: ignore[attr-defined]
            client.number += 1
            client.acknowledged = []
            assert client.epoch < MAX_EPOCH

    @precondition(lambda self: any(client.producer_id >= 0 for client in self.clients))
    @rule(data=st.data(), where=st.sampled_from(PARTITIONS))
    def ask(self, data: st.DataObject, where: TopicPartition) -> None:
        """A batch arrives at a leader, which asks the coordinator."""
        client = data.draw(st.sampled_from([c for c in self.clients if c.producer_id >= 0]))
        if not client.is_new:  # it adds the partition itself, and the leader verifies
            added = self.send(add(*client.identity, where, name=client.name, client_version=0))
            if any(added.values()):  # type: ignore[attr-defined]
                return
        leader = self.partitions[where]
        is_open = leader.is_open(*client.identity)
        guard = leader.questions.begin(*client.identity, 0, is_open=is_open, now_ms=self.now_ms)
        event = add(*client.identity, where, name=client.name, verify_only=not client.is_new)
        if not is_open:
            codes = self.send(event)
            if client.is_new:
                self.past.append(event)
            if any(codes.values()):  # type: ignore[attr-defined]
                return
        self.questions.append(Question(client, where, *client.identity, client.number, guard))

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.questions) - 1))
        question = self.questions.pop(index)
        leader = self.partitions[question.partition]
        record = leader.append(question.producer_id, question.epoch, question.guard)
        if record is not None and question.client.number == question.number:
            question.client.acknowledged.append(record)

    @precondition(lambda self: any(client.producer_id >= 0 for client in self.clients))
    @rule(data=st.data(), commit=st.booleans(), reply_is_lost=st.booleans())
    def end(self, data: st.DataObject, commit: bool, reply_is_lost: bool) -> None:
        client = data.draw(st.sampled_from([c for c in self.clients if c.producer_id >= 0]))
        version = 5 if client.is_new else 4
        event = end(*client.identity, commit=commit, name=client.name, version=version)
        reply = self.send(event)
        if client.is_new:
            self.past.append(event)
        if reply_is_lost or reply.error_code:  # type: ignore[attr-defined]
            if not client.is_new:  # it cannot repeat safely, so this instance gives up
                client.acknowledged = []
            return
        self.promised += [(record, commit) for record in client.acknowledged]
        client.acknowledged = []
        client.number += 1
        if client.is_new:
            client.producer_id = reply.producer_id  # type: ignore[attr-defined]
            client.epoch = reply.producer_epoch  # type: ignore[attr-defined]

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def late_request(self, data: st.DataObject) -> None:
        """Bytes that were under way for a long time."""
        self.send(data.draw(st.sampled_from(self.past[-30:])))

    # The coordinator's own work

    @precondition(lambda self: self.coordinator.effects)
    @rule(data=st.data(), is_repeated=st.booleans())
    def write_markers(self, data: st.DataObject, is_repeated: bool) -> None:
        index = data.draw(st.integers(0, len(self.coordinator.effects) - 1))
        markers = self.coordinator.effects[index]
        if not is_repeated:
            del self.coordinator.effects[index]
        self.deliver(markers)

    def deliver(self, markers: WriteMarkers) -> None:
        written = [self.partitions[where].mark(markers) for where in markers.partitions]
        if all(written):
            event = markers_written(
                markers.producer_id, markers.producer_epoch, markers.transactional_id
            )
            assert self.send(event) is ErrorCode.NONE

    @rule(milliseconds=st.integers(1, 15_000))
    def time_passes(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        due = self.coordinator.shard.next_deadline()
        if due is not None and due <= self.now_ms:
            self.coordinator.tick(self.now_ms)

    @rule(compact=st.booleans())
    def crash(self, compact: bool) -> None:
        self.coordinator.effects.clear()
        self.coordinator.restart(now_ms=self.now_ms, compact=compact)
        self.coordinator.tick(self.now_ms)

    # What must hold

    @invariant()
    def the_log_tells_the_state(self) -> None:
        live = self.coordinator.shard.transactions
        for log in (self.coordinator.log, compacted(self.coordinator.log)):
            replayed = loaded_shard(log, ids=Ids(), now_ms=self.now_ms)
            assert replayed.transactions == live
            assert list(replayed.transactions) == list(live)

    @invariant()
    def nobody_shares_an_epoch(self) -> None:
        held = [client.identity for client in self.clients if client.producer_id >= 0]
        assert len(held) == len(set(held)), "a zombie was given the epoch of its successor"

    @invariant()
    def epochs_only_grow(self) -> None:
        for name, transaction in self.coordinator.shard.transactions.items():
            seen = self.highest[name]
            identity = (transaction.producer_id, transaction.producer_epoch)
            if seen and seen[-1][0] == identity[0]:
                assert identity[1] >= seen[-1][1]
                seen[-1] = identity
            else:
                assert identity[0] not in {producer_id for producer_id, _ in seen}
                seen.append(identity)

    @invariant()
    def every_step_is_one_of_the_table(self) -> None:
        steps: dict[str, Transaction] = {}
        for key, value in self.coordinator.log:
            record = runtime_codec.decode(KEY_TYPES, key, value)
            assert record is not None
            after = transaction_of(record)
            before = steps.get(after.transactional_id)
            if before is not None:
                assert after.state in TRANSITIONS[before.state]
                if before.state.is_prepared:
                    assert after.is_commit == before.is_commit, "a settled outcome is reversed"
            steps[after.transactional_id] = after

    def teardown(self) -> None:
        """Let everything come to rest, then look at every record."""
        for _ in range(3):
            self.now_ms += TIMEOUT_MS + SETTINGS.abort_interval_ms + 1
            self.coordinator.tick(self.now_ms)
            while self.coordinator.effects:
                self.deliver(self.coordinator.effects.pop())
        for transaction in self.coordinator.shard.transactions.values():
            assert transaction.state.is_idle, f"{transaction} does not come to rest"
        for partition in self.partitions.values():
            assert not partition.states.open, "a transaction hangs"
            assert all(record.outcome is not None for record in partition.written)
        for record, committed in self.promised:
            assert record.outcome is committed, f"{record} is not what its producer was told"
        super().teardown()


Transactions.TestCase.settings = settings(deadline=None, stateful_step_count=40, max_examples=100)
TestTransactions = Transactions.TestCase
