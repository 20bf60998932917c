"""Fetch sessions (KIP-227): a reader says once what it reads, then only what changes.

A session remembers the partitions of one reader, in the order in which they are to be read, and
what the reader was last told of each.  A request then carries only changed positions, a response
only partitions with news.  Pure: no clock, no socket; `now` (monotonic seconds) is an argument.
Owned by the loop thread.

Session id and epoch decide what a request is:

| id | epoch | request |
|---|---|---|
| 0 | -1 | full, and no session is wanted |
| 0 | 0 | full, make a session if there is room |
| s | -1 | full, close session s |
| s | 0 | full, close session s and make another |
| s | n > 0 | incremental, the n-th of session s |

Order is fairness: a partition that gave data goes to the end, so a response that is cut short by
its size limit starts with the others next time.
"""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from barnabas.base.errors import ErrorCode
from barnabas.replication.fetch_context import (
    NO_SESSION,
    AskedTopic,
    ErrorContext,
    FetchContext,
    ForgottenPartitions,
    FullContext,
    IncrementalContext,
    PartitionKey,
    Session,
    SessionPartition,
    asked_for,
)

FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
TOPIC_IDS_SINCE = 13
"""Fetch requests name topics by id from this version on; a session keeps to one of the two."""

EVICTION_AGE = 120.0
"""Seconds: a session unused for longer is stale; a younger one is not evicted for its size."""


class FetchSessions:
    """All sessions of one broker, at most `slots`.

    When full, a new session may take the place of one that is unused for `EVICTION_AGE`; else of
    the smallest one that is not privileged (a consumer's) if the new one is (a follower's); else of
    a smaller one older than `EVICTION_AGE`.  Otherwise the reader gets none and fetches in full.
    """

    def __init__(self, *, slots: int, rng: random.Random | None = None) -> None:
        self._slots = slots
        self._random = rng or random.Random()
        self._by_age: OrderedDict[int, Session] = OrderedDict()  # least recently used first
        # Candidates as (privileged, partitions, id), smallest first.  Entries go out of date when
        # a session grows or goes; they are dropped when they come to the top.
        self._for_all: list[tuple[bool, int, int]] = []
        self._for_privileged: list[tuple[bool, int, int]] = []
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._by_age)

    def partition_count(self) -> int:
        """Partitions in all sessions."""
        return sum(len(session.partitions) for session in self._by_age.values())

    def begin(
        self,
        *,
        version: int,
        session_id: int,
        session_epoch: int,
        topics: Sequence[AskedTopic],
        forgotten: Sequence[ForgottenPartitions],
        is_follower: bool,
        now: float,
    ) -> FetchContext:
        """What this fetch request is, by its session fields (see the table above)."""
        by_id = version >= TOPIC_IDS_SINCE
        if session_epoch > 0 or session_epoch < FINAL_EPOCH:
            session = self._by_age.get(session_id)
            if session is None:
                return ErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            if session.epoch != session_epoch:
                return ErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            if session.uses_topic_ids != by_id:
                return ErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
            return self._resume(session, topics, forgotten, now)
        if session_id != NO_SESSION:
            self._by_age.pop(session_id, None)
        asked = asked_for(topics, by_id=by_id)
        if session_epoch == FINAL_EPOCH:
            return FetchContext(asked)
        create = partial(self._create, privileged=is_follower, uses_topic_ids=by_id, now=now)
        return FullContext(asked, create)

    def _resume(
        self,
        session: Session,
        topics: Sequence[AskedTopic],
        forgotten: Sequence[ForgottenPartitions],
        now: float,
    ) -> FetchContext:
        session.update(topics, forgotten)
        if not session.partitions:  # nothing to remember: the session is over
            del self._by_age[session.session_id]
            return FetchContext(asked_for(topics, by_id=session.uses_topic_ids))
        self._touch(session, now)
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1  # 0 means: full
        return IncrementalContext(session)

    def _create(
        self,
        partitions: dict[PartitionKey, SessionPartition],
        *,
        privileged: bool,
        uses_topic_ids: bool,
        now: float,
    ) -> int:
        """The id of a new session, or `NO_SESSION` if no room could be made."""
        if len(self._by_age) >= self._slots and not self._evict(
            (privileged, len(partitions), NO_SESSION), now
        ):
            return NO_SESSION
        session_id = self._new_id()
        session = Session(
            session_id,
            partitions,
            privileged=privileged,
            uses_topic_ids=uses_topic_ids,
            now=now,
        )
        self._by_age[session_id] = session
        self._touch(session, now)
        return session_id

    def _new_id(self) -> int:
        while True:
            session_id = self._random.randrange(1, MAX_EPOCH)
            if session_id not in self._by_age:
                return session_id

    def _touch(self, session: Session, now: float) -> None:
        session.last_used = now
        self._by_age.move_to_end(session.session_id)
        size = len(session.partitions)
        old = now - session.created > EVICTION_AGE
        if size != session.size_filed:
            session.size_filed = size
            session.in_all = session.in_unprivileged = False
        elif session.in_all or not old:
            return
        entry = (session.privileged, size, session.session_id)
        if not session.in_unprivileged and (old or not session.privileged):
            session.in_unprivileged = True
            self._file(self._for_privileged, entry)
        if old:
            session.in_all = True
            self._file(self._for_all, entry)

    def _file(self, heap: list[tuple[bool, int, int]], entry: tuple[bool, int, int]) -> None:
        if len(heap) > 2 * self._slots + 16:  # mostly out of date: keep what holds
            heap[:] = {held for held in heap if self._holds(held)}
            heapq.heapify(heap)
        heapq.heappush(heap, entry)

    def _holds(self, entry: tuple[bool, int, int]) -> bool:
        session = self._by_age.get(entry[2])
        return (
            session is not None
            and session.size_filed == entry[1]
            and session.privileged == entry[0]
        )

    def _evict(self, newcomer: tuple[bool, int, int], now: float) -> bool:
        """Make room for a session that would be filed as `newcomer`, if the rules let it."""
        if not self._by_age:
            return False
        oldest = next(iter(self._by_age.values()))
        if now - oldest.last_used > EVICTION_AGE:
            del self._by_age[oldest.session_id]
            self.evictions += 1
            return True
        heap = self._for_privileged if newcomer[0] else self._for_all
        while heap and not self._holds(heap[0]):
            heapq.heappop(heap)
        if not heap or newcomer < heap[0]:
            return False
        del self._by_age[heapq.heappop(heap)[2]]
        self.evictions += 1
        return True
