"""A client that keeps its half of the session sees every record of every partition it wants.

The client model is what Kafka's own clients do (KIP-227); the server model is a list of partitions
of which each answer carries at most a few with data.  Answers get lost, sessions are evicted, the
broker forgets all of them: the client must still learn everything, and in bounded time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.base.errors import ErrorCode
from barnabas.replication.fetch_session import FetchSessions

PARTITIONS = 5
TOPICS = [bytes([n]) * 16 for n in range(2)]
KEYS = [(topic, index) for topic in TOPICS for index in range(PARTITIONS)]
Key = tuple[bytes, int]


@dataclass(slots=True)
class Asked:
    partition: int
    fetch_offset: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 1


@dataclass(slots=True)
class Topic:
    topic_id: bytes
    partitions: list[Asked]
    topic: str = ""


@dataclass(slots=True)
class Forgotten:
    topic_id: bytes
    partitions: list[int]
    topic: str = ""


@dataclass(slots=True)
class Epoch:
    epoch: int = -1


@dataclass(slots=True)
class Result:
    error_code: int
    high_watermark: int
    log_start_offset: int
    records: bytes
    diverging_epoch: Epoch = field(default_factory=Epoch)
    preferred_read_replica: int = -1


class Client:
    """The reader's half of a session: says what changed, believes what it is told."""

    def __init__(self) -> None:
        self.session_id = 0
        self.epoch = 0
        self.told: dict[Key, int] = {}  # what the server knows of our positions
        self.position: dict[Key, int] = {}
        self.high_watermark: dict[Key, int] = {}
        self.failing: dict[Key, bool] = {}

    def changes(self) -> tuple[list[Key], list[Key]]:
        if self.epoch == 0:
            return list(self.position), []
        changed = [key for key, at in self.position.items() if self.told.get(key) != at]
        return changed, [key for key in self.told if key not in self.position]

    def learn(self, session_id: int, sent: dict[Key, Result]) -> None:
        if self.epoch == 0:
            assert set(sent) == set(self.position), "a full answer is about exactly what was asked"
        assert set(sent) <= set(self.position)
        self.session_id = session_id
        self.epoch = 0 if session_id == 0 else self.epoch + 1
        self.told = dict(self.position)
        for key, result in sent.items():
            self.failing[key] = result.error_code != 0
            if result.error_code == 0:
                self.position[key] += len(result.records)
                self.high_watermark[key] = result.high_watermark

    def refused(self, error: ErrorCode) -> None:
        if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = 0
        self.epoch = 0


class Sessions(RuleBasedStateMachine):
    @initialize(slots=st.integers(0, 3), limit=st.integers(1, 3))
    def start(self, slots: int, limit: int) -> None:
        self.slots = slots
        self.limit = limit
        self.now = 0.0
        self.rng = random.Random(7)
        self.sessions = FetchSessions(slots=slots, rng=self.rng)
        self.end = dict.fromkeys(KEYS, 0)
        self.failed: set[Key] = set()
        self.client = Client()

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 3))
    def produce(self, key: Key, count: int) -> None:
        self.end[key] += count

    @rule(key=st.sampled_from(KEYS))
    def fail_or_heal(self, key: Key) -> None:
        self.failed ^= {key}

    @rule(keys=st.sets(st.sampled_from(KEYS)))
    def want(self, keys: set[Key]) -> None:
        client = self.client
        client.position = {key: client.position.get(key, 0) for key in KEYS if key in keys}

    @rule(keys=st.sets(st.sampled_from(KEYS), min_size=1), follower=st.booleans())
    def another_reader(self, keys: set[Key], follower: bool) -> None:
        topics = [Topic(topic, [Asked(index, 0)]) for topic, index in keys]
        context = self.sessions.begin(
            version=17,
            session_id=0,
            session_epoch=0,
            topics=topics,
            forgotten=[],
            is_follower=follower,
            now=self.now,
        )
        context.finish([(part, Result(0, 0, 0, b"")) for part in context.partitions()])

    @rule(seconds=st.sampled_from([1.0, 119.0, 121.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def broker_restarts(self) -> None:
        self.sessions = FetchSessions(slots=self.slots, rng=self.rng)

    @rule()
    def an_answer_is_lost(self) -> None:
        if self.client.position:
            self._exchange()
            self.client.epoch = 0  # the session is closed and another one asked for

    @rule(times=st.integers(1, 4))
    def fetch(self, times: int) -> None:
        for _ in range(times):
            if self.client.position:
                self._fetch()

    @invariant()
    def the_cache_is_bounded(self) -> None:
        assert len(self.sessions) <= self.slots

    def teardown(self) -> None:
        if not hasattr(self, "client") or not self.client.position:
            return
        self.failed.clear()
        backlog = sum(self.end[key] - at for key, at in self.client.position.items())
        for _ in range(backlog + 4):
            self._fetch()
        assert self.client.position == {key: self.end[key] for key in self.client.position}
        for key, position in self.client.position.items():
            assert self.client.high_watermark[key] == position
        assert not any(self.client.failing[key] for key in self.client.position)

    def _fetch(self) -> None:
        session_id, error, sent = self._exchange()
        if error is ErrorCode.NONE:
            self.client.learn(session_id, sent)
        else:
            self.client.refused(error)

    def _exchange(self) -> tuple[int, ErrorCode, dict[Key, Result]]:
        client = self.client
        changed, gone = client.changes()
        context = self.sessions.begin(
            version=17,
            session_id=client.session_id,
            session_epoch=client.epoch,
            topics=[Topic(t, [Asked(i, client.position[t, i])]) for t, i in changed],
            forgotten=[Forgotten(t, [i]) for t, i in gone],
            is_follower=False,
            now=self.now,
        )
        results = []
        data_left = self.limit
        for part in context.partitions():
            topic, index = part.key
            assert isinstance(topic, bytes)
            key = (topic, index)
            assert part.fetch_offset == client.position[key], "the session knows our position"
            ahead = self.end[key] - part.fetch_offset
            if key in self.failed:
                result = Result(6, -1, -1, b"")
            elif ahead and data_left:
                data_left -= 1
                result = Result(0, self.end[key], 0, b"r")
            else:
                result = Result(0, self.end[key], 0, b"")
            results.append((part, result))
        session_id, error, sent = context.finish(results)
        if error is ErrorCode.NONE:
            assert {part.key for part, _ in results} == set(client.position), "none forgotten"
        return session_id, error, {(part.key[0], part.key[1]): r for part, r in sent}  # type: ignore[misc]


Sessions.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestSessions = Sessions.TestCase


def test_no_partition_starves_while_others_always_have_data() -> None:
    """One partition's data fits an answer: in n answers each of n partitions gets its turn."""
    sessions = FetchSessions(slots=1, rng=random.Random(1))
    session_id, turns = 0, []
    for epoch in range(1 + 2 * PARTITIONS):
        context = sessions.begin(
            version=17,
            session_id=session_id,
            session_epoch=epoch,
            topics=[Topic(TOPICS[0], [Asked(i, 0) for i in range(PARTITIONS)])]
            if not epoch
            else [],
            forgotten=[],
            is_follower=False,
            now=0.0,
        )
        parts = context.partitions()
        results = [(part, Result(0, 9, 0, b"r" if n == 0 else b"")) for n, part in enumerate(parts)]
        turns.append(parts[0].partition)
        session_id, error, _ = context.finish(results)
        assert error is ErrorCode.NONE

    assert sorted(turns[1 : 1 + PARTITIONS]) == list(range(PARTITIONS))
    assert turns[1 : 1 + PARTITIONS] == turns[1 + PARTITIONS :]
