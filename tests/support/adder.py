"""A shard that adds up numbers, with a runtime around it and a log in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from barnabas.base.errors import ApiError
from barnabas.coordinator.runtime import Answer, CoordinatorRecord, Decision, Producer, Runtime
from barnabas.coordinator.runtime_codec import BatchBuilder, encode
from barnabas.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue

TYPES = {1: (OffsetCommitKey, OffsetCommitValue)}


def number(value: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=OffsetCommitKey(group="sum"),
        key_version=1,
        value=OffsetCommitValue(offset=value),
        value_version=3,
    )


@dataclass
class Add:
    """Add a number; `wait` parks the request, `fail` refuses it, `release` answers the parked."""

    value: int = 0
    wait: bool = False
    fail: Exception | None = None
    release: bool = False
    standalone: bool = False
    producer: Producer | None = None
    many: int = 0
    effects: tuple[str, ...] = ()

    size_bytes: int = 100
    sets_deadline_ms: int | None = None
    """For one that joins."""

    def refuse(self, error: ApiError) -> str:
        return error.code.name

    def join(self, shard: Adder, batch: BatchBuilder, room_bytes: int, now_ms: int) -> int | None:
        """For events that do nothing but add."""
        if self.fail is not None:
            raise self.fail
        if self.size_bytes > room_bytes:
            return None
        if self.value:
            batch.add(encode(number(self.value)), now_ms)
            shard.sum += self.value
        shard.joined += 1
        shard.deadline = self.sets_deadline_ms or shard.deadline
        return shard.sum


class Adder:
    """Durable: the sum.  Soft: tickets that wait, and a deadline."""

    def __init__(self) -> None:
        self.sum = 0
        self.pending = 0
        self.waiting: list[int] = []
        self.deadline: int | None = None
        self.was_loaded = False
        self.joined = 0
        """Events that went without a decision."""

    def decide(self, event: Add, *, ticket: int, now_ms: int) -> Decision:
        if event.fail is not None:
            raise event.fail
        answers: tuple[Answer, ...] = ()
        if event.release:
            answers = tuple(Answer(t, f"released at {self.sum}") for t in self.waiting)
            self.waiting = []
        if event.wait:
            self.waiting.append(ticket)
        count = event.many or (1 if event.value else 0)
        return Decision(
            records=tuple(number(event.value) for _ in range(count)),
            reply=None if event.wait else self.sum + event.value * count,
            answers=answers,
            producer=event.producer,
            standalone=event.standalone,
            atomic=not event.many,
            effects=event.effects,
        )

    def replay(self, record: CoordinatorRecord, *, producer: Producer | None) -> None:
        assert isinstance(record.value, OffsetCommitValue)
        if producer is None:
            self.sum += record.value.offset
        else:
            self.pending += record.value.offset

    def replay_end_txn(self, producer: Producer, *, committed: bool) -> None:
        self.sum += self.pending if committed else 0
        self.pending = 0

    def loaded(self, now_ms: int) -> None:
        self.was_loaded = True

    def next_deadline(self) -> int | None:
        return self.deadline

    def tick(self, now_ms: int) -> Iterable[Decision]:
        while self.deadline is not None and self.deadline <= now_ms:
            self.deadline = None if self.sum >= 2 else self.deadline + 10
            yield Decision(
                records=(number(1),),
                answers=tuple(Answer(t, f"time at {self.sum}") for t in self.waiting),
            )
            self.waiting = []


@dataclass
class Log:
    """Appends are committed at once, or with `hold` when told to."""

    batches: list[bytes] = field(default_factory=list)
    hold: bool = False
    refuse: Exception | None = None
    """What `check` and `append` raise; `fail`: what only `append` raises."""
    fail: Exception | None = None
    waiting: list[Callable[[Exception | None], None]] = field(default_factory=list)

    def check(self, partition: int) -> None:
        if self.refuse is not None:
            raise self.refuse

    def append(
        self, partition: int, batch: bytearray, committed: Callable[[Exception | None], None]
    ) -> None:
        self.check(partition)
        if self.fail is not None:
            raise self.fail
        self.batches.append(bytes(batch))
        if self.hold:
            self.waiting.append(committed)
        else:
            committed(None)

    def commit(self, error: Exception | None = None) -> None:
        self.waiting.pop(0)(error)


class Rig:
    """A runtime with one partition.  With `turns`, batches are gathered until `end_turn`."""

    def __init__(self, *, turns: bool = False, **options: Any) -> None:
        self.log = Log()
        self.turn_ends: list[Callable[[], None]] = []
        if turns:
            options["at_turn_end"] = self.turn_ends.append
        self.reloads: list[tuple[int, int]] = []
        self.effects: list[Any] = []
        self.runtime = Runtime(
            make_shard=lambda partition, epoch: Adder(),
            types=TYPES,
            appender=self.log,
            reload=lambda partition, epoch: self.reloads.append((partition, epoch)),
            effect=lambda partition, effect: self.effects.append((partition, effect)),
            **options,
        )
        self.runtime.load(0, (), epoch=3, now_ms=0)

    def send(self, event: Add, now_ms: int = 0) -> list[Any]:
        replies: list[Any] = []
        self.runtime.schedule(0, event, replies.append, now_ms=now_ms)
        return replies

    def join(self, event: Add, now_ms: int = 0) -> list[Any]:
        replies: list[Any] = []
        self.runtime.join(0, event, replies.append, now_ms=now_ms)
        return replies

    def end_turn(self) -> None:
        calls = list(self.turn_ends)
        self.turn_ends.clear()
        for call in calls:
            call()

    @property
    def shard(self) -> Adder:
        shard = self.runtime.shard(0)
        assert isinstance(shard, Adder)
        return shard
