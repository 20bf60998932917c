"""What a coordinator's shard and the runtime say to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.runtime_codec import BatchBuilder
    from barnabas.protocol.message import Message

Ticket: TypeAlias = int
"""Stands for a request that waits.  Given out by the runtime, used once."""

Committed: TypeAlias = "Callable[[Exception | None], None]"


@dataclass(slots=True)
class CoordinatorRecord:
    """One record of an internal topic.  `value` None is a tombstone: the key is forgotten.

    Nobody changes one; it is not frozen because there is one for every commit.
    """

    key: Message
    key_version: int
    value: Message | None
    value_version: int = 0
    wire: tuple[bytes, bytes | None] | None = field(default=None, compare=False, repr=False)
    """Key and value as bytes, if who made the record had a quicker way to them."""
    result: object = field(default=None, compare=False, repr=False)
    """What replaying it makes of whatever it is a record of, if who made it knows."""


class Producer(NamedTuple):
    """Whose transaction a batch belongs to."""

    producer_id: int
    producer_epoch: int


class Answer(NamedTuple):
    """The reply to a request that waited."""

    ticket: Ticket
    reply: Any


class Decision(NamedTuple):
    """What a shard makes of an event.

    The runtime replays `records` at once and appends them in one batch, maybe with those of other
    decisions; replies and effects leave when the batch, and everything before it, is committed.
    """

    records: tuple[CoordinatorRecord, ...] = ()
    reply: Any = None
    """To the request itself.  None: it waits until a later decision answers its ticket."""
    answers: tuple[Answer, ...] = ()
    """To requests that waited."""
    effects: tuple[Any, ...] = ()
    """What the shell is to do once the records are committed (send markers, for example)."""
    producer: Producer | None = None
    """The records belong to this producer's transaction."""
    atomic: bool = True
    """False: the records may be spread over several batches (a clean-up)."""
    standalone: bool = False
    """The shard changed nothing in the hope of these records: if the log takes none just now, this
    request fails and nothing else."""

    @property
    def is_nothing_yet(self) -> bool:
        """Who asked has to wait, and that is all."""
        return self.reply is None and not (self.records or self.answers or self.effects)

    @property
    def is_plain_reply(self) -> bool:
        """There is a reply and nothing else."""
        return self.reply is not None and not (self.records or self.answers or self.effects)


class Event(Protocol):
    """A request, or something that happened, for one shard."""

    def refuse(self, error: ApiError) -> Any:
        """The reply that tells of `error`."""


class Joining(Event, Protocol):
    """An event of which a shard mostly makes records and a reply, and nothing else.

    Then it can join a batch that is being gathered without a decision and records of its own.
    """

    def join(self, shard: Any, batch: BatchBuilder, room_bytes: int, now_ms: int) -> Any:
        """Add the records to `batch`, change the shard as replaying them would, return the reply.

        None, or ApiError, if there is not so much room in the batch, or if it needs a decision, as
        it does to be refused: nothing was changed.
        """


class Shard(Protocol):
    """One partition of an internal topic as a machine.  No clock, no socket, no disk.

    Durable state is what `replay` makes of records; only events that join a batch change it, too,
    as replaying their records would.  Soft state (timers, waiting requests) is changed by events
    and time, and is lost with the shard.
    """

    def decide(self, event: Any, *, ticket: Ticket, now_ms: int) -> Decision:
        """Decide on `event`.  ApiError: it is refused, and nothing was changed.

        A shard that keeps `ticket` returns no reply and answers it in a later decision.
        """

    def replay(self, record: CoordinatorRecord, *, producer: Producer | None) -> None:
        """Change durable state as `record` says; `producer` if it is part of a transaction."""

    def replay_end_txn(self, producer: Producer, *, committed: bool) -> None:
        """The transaction of `producer` ended in this partition."""

    def loaded(self, now_ms: int) -> None:
        """The log was replayed to its end: start timers for what is there."""

    def next_deadline(self) -> int | None:
        """When `tick` has something to do, or earlier.  Constant work."""

    def tick(self, now_ms: int) -> Iterable[Decision]:
        """Decide on what is due.  Each decision is replayed before the next one is asked for."""


class Appender(Protocol):
    """Port: the logs of the internal topic."""

    def check(self, partition: int) -> None:
        """Raise what `append` would raise now, if it would."""

    def append(self, partition: int, batch: bytearray, committed: Committed) -> None:
        """Append one batch and call `committed` when all in-sync replicas have it, or with why not.

        An exception raised here means that nothing was appended, and that `committed` is not
        called.  Batches of a partition are appended and committed in the order of the calls.
        """
