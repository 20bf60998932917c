"""One fetch request under KIP-227: what to read, then what to answer.

The session rules (which request is what, and which sessions live) are in `fetch_session.py`; here
is what one session remembers and what an answer to it contains.  Pure; owned by the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Protocol, TypeVar

from barnabas.base.errors import ErrorCode

NO_SESSION = 0

PartitionKey = tuple[str | bytes, int]
"""Topic (id, or name before version 13) and partition index."""


class AskedPartition(Protocol):
    """`FetchPartition` of the request, as far as sessions care."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


class AskedTopic(Protocol):
    """`FetchTopic` of the request."""

    topic: str
    topic_id: bytes

    @property
    def partitions(self) -> Sequence[AskedPartition]: ...


class ForgottenPartitions(Protocol):
    """`ForgottenTopic` of the request."""

    topic: str
    topic_id: bytes

    @property
    def partitions(self) -> Sequence[int]: ...


class _Epoch(Protocol):
    @property
    def epoch(self) -> int: ...


class ReadResult(Protocol):
    """`PartitionData` of the response, as far as sessions care."""

    @property
    def error_code(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def diverging_epoch(self) -> _Epoch: ...
    @property
    def preferred_read_replica(self) -> int: ...
    @property
    def records(self) -> Sized | None: ...


Result = TypeVar("Result", bound=ReadResult)


class SessionPartition:
    """What a reader wants of one partition, and what it was last told."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "is_checked",
        "key",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "memo",
        "told_high_watermark",
        "told_log_start",
    )

    key: PartitionKey
    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int
    """The reader's own, if it is a follower."""
    max_bytes: int
    told_high_watermark: int
    told_log_start: int
    is_checked: bool
    """Free for the fetch handler: the position was compared with the log; false when it moves."""
    memo: object
    """Free for the fetch handler: the partition it resolved `key` to, if it wants to keep it."""

    def __init__(self, key: PartitionKey, asked: AskedPartition) -> None:
        self.key = key
        self.told_high_watermark = -1
        self.told_log_start = -1
        self.memo = None
        self.ask(asked)

    @property
    def topic(self) -> str | bytes:
        return self.key[0]

    @property
    def partition(self) -> int:
        return self.key[1]

    def ask(self, asked: AskedPartition) -> None:
        """Read from here from now on."""
        self.fetch_offset = asked.fetch_offset
        self.current_leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch
        self.log_start_offset = asked.log_start_offset
        self.max_bytes = asked.partition_max_bytes
        self.is_checked = False

    def tell(self, result: ReadResult) -> bool:
        """Whether `result` is news to the reader; remembers it as told."""
        news = (
            result.high_watermark != self.told_high_watermark
            or result.log_start_offset != self.told_log_start
            or has_records(result)
            or result.error_code != 0
            or result.preferred_read_replica >= 0
            or result.diverging_epoch.epoch >= 0
        )
        # After an error, -1: the end of the error is news too, even if nothing else changed.
        self.told_high_watermark = -1 if result.error_code else result.high_watermark
        self.told_log_start = result.log_start_offset
        return news

    def __repr__(self) -> str:
        return f"SessionPartition({self.key!r}, fetch_offset={self.fetch_offset})"


def has_records(result: ReadResult) -> bool:
    """Whether the result carries record bytes (a buffer or a file slice of some length)."""
    records = result.records
    return records is not None and len(records) > 0


class Session:
    """One reader's partitions, in reading order."""

    __slots__ = (
        "created",
        "epoch",
        "in_all",
        "in_unprivileged",
        "last_used",
        "partitions",
        "privileged",
        "session_id",
        "size_filed",
        "uses_topic_ids",
    )

    def __init__(
        self,
        session_id: int,
        partitions: dict[PartitionKey, SessionPartition],
        *,
        privileged: bool,
        uses_topic_ids: bool,
        now: float,
    ) -> None:
        self.session_id = session_id
        self.partitions = partitions
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.created = self.last_used = now
        self.epoch = 1
        self.size_filed = -1
        self.in_all = self.in_unprivileged = False

    def update(
        self, topics: Iterable[AskedTopic], forgotten: Iterable[ForgottenPartitions]
    ) -> None:
        """Apply the changes of an incremental request."""
        merge(self.partitions, topics, by_id=self.uses_topic_ids)
        for gone in forgotten:
            name = gone.topic_id if self.uses_topic_ids else gone.topic
            for index in gone.partitions:
                self.partitions.pop((name, index), None)


def merge(
    partitions: dict[PartitionKey, SessionPartition], topics: Iterable[AskedTopic], *, by_id: bool
) -> None:
    """Note what is asked.  Known partitions keep their place; the last word on each counts."""
    for topic in topics:
        name = topic.topic_id if by_id else topic.topic
        for asked in topic.partitions:
            key = (name, asked.partition)
            known = partitions.get(key)
            if known is None:
                partitions[key] = SessionPartition(key, asked)
            else:
                known.ask(asked)


def asked_for(topics: Iterable[AskedTopic], *, by_id: bool) -> dict[PartitionKey, SessionPartition]:
    """The partitions of one request by itself, in its order."""
    asked: dict[PartitionKey, SessionPartition] = {}
    merge(asked, topics, by_id=by_id)
    return asked


Pairs = Sequence[tuple[SessionPartition, Result]]


class FetchContext:
    """One fetch request on its way: what to read, then what to answer.

    This class is the plain kind: no session, everything read is answered.
    """

    __slots__ = ("_partitions",)

    def __init__(self, partitions: dict[PartitionKey, SessionPartition]) -> None:
        self._partitions = partitions

    def partitions(self) -> Sequence[SessionPartition]:
        """What to read, in order.  Stable while the request waits for data."""
        return list(self._partitions.values())

    def finish(self, results: Pairs[Result]) -> tuple[int, ErrorCode, Pairs[Result]]:
        """Session id, error, and the results to send.  Called once, when the answer leaves."""
        return NO_SESSION, ErrorCode.NONE, results

    def finish_empty(self) -> tuple[int, ErrorCode]:
        """In place of `finish`, when nothing is sent whatever was read: session id and error."""
        session_id, error, _ = self.finish(())
        return session_id, error


class FullContext(FetchContext):
    """Everything is answered; then the session begins, if there is room for one."""

    __slots__ = ("_create",)

    def __init__(
        self,
        partitions: dict[PartitionKey, SessionPartition],
        create: Callable[[dict[PartitionKey, SessionPartition]], int],
    ) -> None:
        super().__init__(partitions)
        self._create = create

    def finish(self, results: Pairs[Result]) -> tuple[int, ErrorCode, Pairs[Result]]:
        order: dict[PartitionKey, SessionPartition] = {}
        for part, result in results:
            part.tell(result)
            order[part.key] = part
        for part in self._partitions.values():  # asked for but not read: still of the session
            order.setdefault(part.key, part)
        return self._create(order), ErrorCode.NONE, results

    def finish_empty(self) -> tuple[int, ErrorCode]:
        """A session begins with an answer that has everything: not with this one."""
        return NO_SESSION, ErrorCode.NONE


class IncrementalContext(FetchContext):
    """Only news is answered, and what gave data is read last next time."""

    __slots__ = ("_epoch", "_order", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._epoch = session.epoch
        self._order = list(session.partitions.values())

    def partitions(self) -> Sequence[SessionPartition]:
        return self._order

    def finish(self, results: Pairs[Result]) -> tuple[int, ErrorCode, Pairs[Result]]:
        session = self._session
        if session.epoch != self._epoch:  # the reader did not wait for this answer
            return session.session_id, ErrorCode.INVALID_FETCH_SESSION_EPOCH, ()
        partitions = session.partitions
        several = len(partitions) > 1
        news = []
        for pair in results:
            part, result = pair
            if part.tell(result):
                news.append(pair)
                if several and has_records(result):
                    partitions[part.key] = partitions.pop(part.key)
        return session.session_id, ErrorCode.NONE, news


class ErrorContext(FetchContext):
    """The request does not fit its session: nothing is read."""

    __slots__ = ("_error",)

    def __init__(self, error: ErrorCode) -> None:
        super().__init__({})
        self._error = error

    def finish(self, results: Pairs[Result]) -> tuple[int, ErrorCode, Pairs[Result]]:
        assert not results, "nothing was to be read"
        return NO_SESSION, self._error, ()
