"""How a follower copies from one leader: what to ask next, what to make of the answer.

Pure: messages in, messages and actions out; time (monotonic seconds) is an argument.  One `Fetcher`
has all partitions that this broker follows on one other broker, in one fetch session (KIP-227): a
request names only the partitions whose position changed since the last.

A follower fetches from the end of its log and says which epoch its last record is of.  If the
leader's log says otherwise the answer tells where the two part (KIP-595): the follower cuts its log
there, and asks again until they agree.  Only then it appends.  So whatever an earlier leader wrote
and nobody else has is gone before anything is put behind it.

The caller carries the actions out and tells the new position with `moved`; a partition is not asked
for again before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

FULL = 0
"""The session epoch of a request that names everything."""
MAX_EPOCH = 2**31 - 1
FIRST_BACKOFF_S = 0.02
"""After a first failure: most pass as soon as the leader has seen the metadata that we have."""

Key = tuple[bytes, int]
"""Topic id and partition index."""

_SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """The settings that a follower fetches by."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 10 << 20
    partition_bytes: int = 1 << 20
    backoff_s: float = 1.0
    """The longest pause after repeated failures."""


class Fetched:
    """One partition that is followed, and how far it has got."""

    __slots__ = (
        "failures",
        "is_waiting",
        "key",
        "last_epoch",
        "leader_epoch",
        "offset",
        "pause_until",
        "start_offset",
    )

    def __init__(
        self, key: Key, *, leader_epoch: int, offset: int, last_epoch: int, start_offset: int
    ) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.offset = offset
        self.last_epoch = last_epoch
        self.start_offset = start_offset
        self.failures = 0
        self.pause_until = 0.0
        self.is_waiting = False
        """For the caller to carry an action out, or for new metadata."""


class Append(NamedTuple):
    """Put `records` at the end of the log; then the leader's watermark and start hold."""

    partition: Fetched
    records: memoryview | None
    high_watermark: int
    log_start_offset: int


class Truncate(NamedTuple):
    """The leader has nothing of `epoch` from `end_offset` on: see `truncation_offset`."""

    partition: Fetched
    epoch: int
    end_offset: int


class AskOffsets(NamedTuple):
    """The position means nothing to the leader: ask for its log's ends, see `reset_offset`."""

    partition: Fetched


Action = Append | Truncate | AskOffsets


class Fetcher:
    """All that this broker copies from one leader.  Loop thread only."""

    def __init__(self, *, replica_id: int, limits: FetchLimits) -> None:
        self.limits = limits
        self.partitions: dict[Key, Fetched] = {}
        self.replica_epoch = -1
        """Of this broker's registration; the caller keeps it right."""
        self._replica_id = replica_id
        self._changed: dict[Key, Fetched] = {}
        """To be named in the next request, as soon as they do not wait."""
        self._session: set[Key] = set()
        """What the leader reads for us in every request, named or not."""
        self._forgotten: dict[Key, None] = {}
        self._paused: dict[Key, Fetched] = {}
        self._session_id = 0
        self._session_epoch = FULL
        self._is_asking = False

    # What is followed.

    def add(
        self, key: Key, *, leader_epoch: int, offset: int, last_epoch: int, start_offset: int
    ) -> None:
        """Follow a partition from here; one that is followed already begins anew."""
        partition = Fetched(
            key,
            leader_epoch=leader_epoch,
            offset=offset,
            last_epoch=last_epoch,
            start_offset=start_offset,
        )
        self._paused.pop(key, None)
        self.partitions[key] = self._changed[key] = partition

    def remove(self, key: Key) -> None:
        if self.partitions.pop(key, None) is not None:
            self._changed.pop(key, None)
            self._paused.pop(key, None)
            self._leave_out(key)

    def is_current(self, partition: Fetched) -> bool:
        """Whether an action on `partition` still has a meaning."""
        return self.partitions.get(partition.key) is partition

    def moved(self, partition: Fetched, *, offset: int, last_epoch: int, start_offset: int) -> None:
        """An action was carried out: fetch from here."""
        partition.is_waiting = False
        partition.failures = 0
        if not self.is_current(partition):
            return
        if (
            partition.offset != offset
            or partition.last_epoch != last_epoch
            or partition.start_offset != start_offset
            or partition.key not in self._session
        ):
            partition.offset = offset
            partition.last_epoch = last_epoch
            partition.start_offset = start_offset
            self._changed[partition.key] = partition

    def failed(self, partition: Fetched, now: float) -> None:
        """It could not be done: leave the partition alone for a while, each time longer."""
        partition.is_waiting = False
        self.pause(partition, now + backoff(partition.failures, self.limits.backoff_s))
        partition.failures += 1

    def pause(self, partition: Fetched, until: float) -> None:
        """Do not ask for it before that."""
        if self.is_current(partition):
            partition.pause_until = until
            self._paused[partition.key] = partition
            self._changed.pop(partition.key, None)
            self._leave_out(partition.key)

    def paused(self) -> list[Fetched]:
        """What is not asked for now."""
        return list(self._paused.values())

    def _leave_out(self, key: Key) -> None:
        """The leader is to forget it, or it would answer for it again and again."""
        if key in self._session:
            self._session.discard(key)
            self._forgotten[key] = None

    # Asking.

    def next_request(self, now: float) -> FetchRequest | None:
        """What to send now; None if there is nothing to ask for."""
        assert not self._is_asking, "one request at a time"
        self._resume(now)
        full = self._session_epoch == FULL
        asked = {
            key: each
            for key, each in (self.partitions if full else self._changed).items()
            if not each.is_waiting and key not in self._paused
        }
        if not asked and (full or not self._session):
            self.lost()  # a session without partitions is over for the leader too
            return None
        request = FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._replica_id, replica_epoch=self.replica_epoch
            ),
            max_wait_ms=self.limits.max_wait_ms,
            min_bytes=self.limits.min_bytes,
            max_bytes=self.limits.max_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=_topics(asked.values(), self.limits.partition_bytes),
        )
        if full:
            self._session.clear()
        elif self._forgotten:
            request.forgotten_topics_data = _forgotten(
                key for key in self._forgotten if key not in asked
            )
        self._forgotten.clear()
        self._session |= asked.keys()
        for key in asked:
            self._changed.pop(key, None)
        self._is_asking = True
        return request

    def next_resume(self) -> float | None:
        """When a partition that is left alone is to be asked for again."""
        return min((each.pause_until for each in self._paused.values()), default=None)

    def _resume(self, now: float) -> None:
        if not self._paused:
            return
        for key, each in list(self._paused.items()):
            if each.pause_until <= now:
                del self._paused[key]
                self._changed[key] = each

    # Answers.

    def lost(self) -> None:
        """No answer came, or none will: the session is over."""
        self._is_asking = False
        self._session_epoch = FULL  # with the old id: the leader closes that one
        self._session.clear()
        self._forgotten.clear()

    def take(self, response: FetchResponse, now: float) -> list[Action]:
        """What the answer wants done, partition by partition."""
        assert self._is_asking, "an answer to nothing"
        self._is_asking = False
        if response.error_code:
            self.lost()
            if response.error_code not in _SESSION_ERRORS:
                for each in list(self.partitions.values()):
                    self.failed(each, now)
            return []
        actions: list[Action] = []
        self._answered(response)
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                if key not in self._session or key in self._changed:
                    continue  # removed, or added anew, while the answer was on its way
                action = self._take_one(self.partitions[key], data, now)
                if action is not None:
                    action.partition.is_waiting = True
                    actions.append(action)
        return actions

    def _answered(self, response: FetchResponse) -> None:
        if self._session_epoch == FULL:
            self._session_id = response.session_id
            if response.session_id == 0:  # the leader has no room for a session
                return
        self._session_epoch = 1 if self._session_epoch == MAX_EPOCH else self._session_epoch + 1

    def _take_one(self, partition: Fetched, data: PartitionData, now: float) -> Action | None:
        match data.error_code:
            case ErrorCode.NONE:
                if data.diverging_epoch.epoch >= 0:
                    diverging = data.diverging_epoch
                    return Truncate(partition, diverging.epoch, diverging.end_offset)
                records = data.records
                assert records is None or isinstance(records, memoryview), "decoded in place"
                return Append(partition, records, data.high_watermark, data.log_start_offset)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                self._leave_out(partition.key)
                return AskOffsets(partition)
            case ErrorCode.FENCED_LEADER_EPOCH:
                # The leader has metadata that we do not have yet: it will bring a new `add`.
                partition.is_waiting = True
                self._leave_out(partition.key)
                return None
            case _:
                self.failed(partition, now)
                return None


def backoff(failures: int, longest_s: float) -> float:
    """How long to wait after so many failures in a row."""
    return min(longest_s, FIRST_BACKOFF_S * (1 << min(failures, 16)))


def truncation_offset(
    leader_epoch: int, leader_end: int, local: tuple[int, int], local_end: int
) -> int:
    """Where to cut the log, given that the leader's `leader_epoch` ended at `leader_end`.

    `local` is what our own log says of that epoch: the last one not above it, and where that ended.
    If it is another epoch, ours has parted from the leader's even earlier: the next answer tells.
    """
    epoch, end = local
    if epoch < 0:
        return min(leader_end, local_end)
    if epoch != leader_epoch:
        return min(end, local_end)
    return min(end, leader_end, local_end)


class Reset(NamedTuple):
    """Where to go on when the leader did not know our position."""

    offset: int
    is_whole_log: bool
    """Nothing that is here is of use: the log begins anew at `offset`."""


def reset_offset(*, leader_start: int, leader_end: int, local_end: int) -> Reset:
    """Our log ends before the leader's begins, or after it ends."""
    if leader_end < local_end:  # an unclean leader: it wins
        return Reset(leader_end, leader_end < leader_start)
    return Reset(max(leader_start, local_end), leader_start > local_end)


def _topics(partitions: Iterable[Fetched], max_bytes: int) -> list[FetchTopic]:
    topics: dict[bytes, FetchTopic] = {}
    for each in partitions:
        topic_id, index = each.key
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
        topic.partitions.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                log_start_offset=each.start_offset,
                partition_max_bytes=max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(keys: Iterable[Key]) -> list[ForgottenTopic]:
    topics: dict[bytes, ForgottenTopic] = {}
    for topic_id, index in keys:
        topic = topics.setdefault(topic_id, ForgottenTopic(topic_id=topic_id))
        topic.partitions.append(index)
    return list(topics.values())
