"""Answers to produces that wait for the replicas: of one partition, in the order of their batches.

Lighter than the purgatory, which tries every request that waits whenever a partition moves: here
the high watermark lets go of as many as it has passed, and looks at no other.  Pure.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.base.errors import ErrorCode
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.replication.partition import Partition
    from barnabas.replication.purgatory import Purgatory

NEVER = float("inf")
REFUSED = Struct(">hqqq").pack(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)
"""Error code, base offset, log append time and log start offset of a produce that failed."""


class Answer(Protocol):
    """What a client will be told."""

    def give(self, code: ErrorCode) -> None:
        """Its batch is replicated (NONE), or why that is not known."""


class _Held(NamedTuple):
    last_offset: int
    deadline: float
    answer: Answer


NOTHING: deque[_Held] = deque(maxlen=0)
"""Stays empty."""


class HeldAnswers:
    """Those of one partition.  Loop thread only."""

    __slots__ = ("_held", "armed_at")

    def __init__(self) -> None:
        self._held: deque[_Held] = NOTHING
        self.armed_at = NEVER
        """When the owner will call `expire`; never later than the earliest deadline."""

    def __len__(self) -> int:
        return len(self._held)

    def add(self, last_offset: int, deadline: float, answer: Answer) -> None:
        """Hold an answer back until the high watermark is above `last_offset`."""
        if self._held is NOTHING:  # most partitions never hold anything
            self._held = deque()
        self._held.append(_Held(last_offset, deadline, answer))

    def release(self, high_watermark: int, code: ErrorCode) -> None:
        """Everything below the high watermark is replicated.

        A batch that was sent again may stand behind one of a higher offset; it waits for that too.
        """
        held = self._held
        while held and held[0].last_offset < high_watermark:
            held.popleft().answer.give(code)

    def refuse_from(self, offset: int, code: ErrorCode) -> None:
        """What was at `offset` and above is not in the log."""
        held, self._held = self._held, deque()
        for each in held:
            if each.last_offset >= offset:
                each.answer.give(code)
            else:
                self._held.append(each)

    def refuse_all(self, code: ErrorCode) -> None:
        self.refuse_from(-1, code)

    def expire(self, now: float) -> float:
        """Answer those whose time is up; when the next one's is."""
        held, self._held = self._held, deque()
        for each in held:
            if each.deadline <= now:
                each.answer.give(ErrorCode.REQUEST_TIMED_OUT)
            else:
                self._held.append(each)
        return min((each.deadline for each in self._held), default=NEVER)


def hold(
    produces: Purgatory, held: HeldAnswers, last_offset: int, deadline: float, answer: Answer
) -> None:
    """Give `answer` when its batch is on all in-sync replicas, or will not be in time.

    One entry in the purgatory stands for all that a partition holds.
    """
    held.add(last_offset, deadline, answer)
    if deadline < held.armed_at:
        _arm(produces, held, deadline)


def _arm(produces: Purgatory, held: HeldAnswers, deadline: float) -> None:
    held.armed_at = deadline

    def expire(expired: bool) -> bool:
        if expired and held.armed_at == deadline:
            held.armed_at = NEVER
            following = held.expire(deadline)
            if following < NEVER:
                _arm(produces, held, following)
        return expired

    produces.park(Parked(expire, (), deadline))


def release(partition: Partition) -> None:
    """Let go of what the high watermark has passed, or of everything if this is no leader."""
    log = partition.log
    if not partition.is_leader or log is None:
        partition.held.refuse_all(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    few = partition.will_have_too_few
    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if few else ErrorCode.NONE
    partition.held.release(log.high_watermark, code)


def refuse(unconfirmed: list[tuple[list[object], int, int]]) -> None:
    """Turn encoded success answers into KAFKA_STORAGE_ERROR."""
    for out, position, at in unconfirmed:
        answer = out[position]
        assert isinstance(answer, bytes)
        out[position] = answer[:at] + REFUSED + answer[at + len(REFUSED) :]
