"""Fetch sessions: which request is what, what an answer leaves out, and who is evicted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.replication.fetch_context import FetchContext, SessionPartition
from barnabas.replication.fetch_session import EVICTION_AGE, MAX_EPOCH, FetchSessions

TOPIC_ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))


@dataclass(slots=True, kw_only=True)
class Asked:
    partition: int
    fetch_offset: int = 0
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 1_000


@dataclass(slots=True, kw_only=True)
class Topic:
    topic: str = ""
    topic_id: bytes = TOPIC_ID
    partitions: list[Asked]


@dataclass(slots=True, kw_only=True)
class Forgotten:
    topic: str = ""
    topic_id: bytes = TOPIC_ID
    partitions: list[int]


@dataclass(slots=True, kw_only=True)
class Epoch:
    epoch: int = -1


@dataclass(slots=True, kw_only=True)
class Result:
    error_code: int = 0
    high_watermark: int = 10
    log_start_offset: int = 0
    diverging_epoch: Epoch = field(default_factory=Epoch)
    preferred_read_replica: int = -1
    records: bytes | None = b""


def topic(*indexes: int, offset: int = 0, topic_id: bytes = TOPIC_ID, name: str = "") -> Topic:
    asked = [Asked(partition=i, fetch_offset=offset) for i in indexes]
    return Topic(topic=name, topic_id=topic_id, partitions=asked)


def begin(
    sessions: FetchSessions,
    *topics: Topic,
    session_id: int = 0,
    epoch: int = 0,
    forgotten: list[Forgotten] | None = None,
    version: int = 17,
    follower: bool = False,
    now: float = 0.0,
) -> FetchContext:
    return sessions.begin(
        version=version,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics,
        forgotten=forgotten or [],
        is_follower=follower,
        now=now,
    )


def answer(context: FetchContext, **special: Result) -> tuple[int, ErrorCode, list[int]]:
    """Finish with the plain result for each partition (`p3=...` for another) -> indexes sent."""
    results = [(p, special.get(f"p{p.partition}", Result())) for p in context.partitions()]
    session_id, error, sent = context.finish(results)
    return session_id, error, [part.partition for part, _ in sent]


def opened(sessions: FetchSessions, *indexes: int, **how: object) -> int:
    session_id, error, sent = answer(begin(sessions, topic(*indexes), **how))  # type: ignore[arg-type]
    assert (error, sent) == (ErrorCode.NONE, list(indexes))
    return session_id


def order(context: FetchContext) -> list[int]:
    return [part.partition for part in context.partitions()]


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(slots=4, rng=random.Random(1))


def test_a_full_fetch_answers_everything_and_opens_a_session(sessions: FetchSessions) -> None:
    context = begin(sessions, topic(0, 1), topic(0, topic_id=OTHER_ID))

    assert [part.key for part in context.partitions()] == [
        (TOPIC_ID, 0),
        (TOPIC_ID, 1),
        (OTHER_ID, 0),
    ]
    session_id, error, sent = answer(context)
    assert session_id > 0
    assert (error, sent) == (ErrorCode.NONE, [0, 1, 0])
    assert (len(sessions), sessions.partition_count()) == (1, 3)


def test_the_final_epoch_opens_no_session(sessions: FetchSessions) -> None:
    assert answer(begin(sessions, topic(0), epoch=-1)) == (0, ErrorCode.NONE, [0])
    assert len(sessions) == 0


def test_the_final_epoch_closes_the_session_it_names(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)

    assert answer(begin(sessions, topic(0), session_id=session_id, epoch=-1))[0] == 0
    assert len(sessions) == 0


def test_a_full_fetch_replaces_the_session_it_names(sessions: FetchSessions) -> None:
    old = opened(sessions, 0)

    new, _, _ = answer(begin(sessions, topic(0), session_id=old))

    assert new not in (0, old)
    assert len(sessions) == 1


def test_an_incremental_fetch_reads_all_and_answers_only_news(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0, 1, 2)

    context = begin(sessions, session_id=session_id, epoch=1)

    assert order(context) == [0, 1, 2]
    assert answer(context, p1=Result(high_watermark=11)) == (session_id, ErrorCode.NONE, [1])


@pytest.mark.parametrize(
    "news",
    [
        Result(records=b"batch"),
        Result(high_watermark=11),
        Result(log_start_offset=3),
        Result(error_code=6),
        Result(preferred_read_replica=2),
        Result(diverging_epoch=Epoch(epoch=0)),
    ],
    ids=["records", "high watermark", "log start", "error", "preferred replica", "divergence"],
)
def test_each_kind_of_news_is_answered(sessions: FetchSessions, news: Result) -> None:
    session_id = opened(sessions, 0, 1)

    assert answer(begin(sessions, session_id=session_id, epoch=1), p1=news)[2] == [1]


def test_what_was_told_is_not_told_again(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    moved = Result(high_watermark=12, log_start_offset=1)

    assert answer(begin(sessions, session_id=session_id, epoch=1), p0=moved)[2] == [0]
    assert answer(begin(sessions, session_id=session_id, epoch=2), p0=moved)[2] == []


def test_the_end_of_an_error_is_news(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    failed = Result(error_code=6, high_watermark=10)

    assert answer(begin(sessions, session_id=session_id, epoch=1), p0=failed)[2] == [0]
    assert answer(begin(sessions, session_id=session_id, epoch=2), p0=failed)[2] == [0]
    assert answer(begin(sessions, session_id=session_id, epoch=3))[2] == [0]
    assert answer(begin(sessions, session_id=session_id, epoch=4))[2] == []


def test_an_error_in_the_first_answer_ends_as_news(sessions: FetchSessions) -> None:
    session_id, _, _ = answer(begin(sessions, topic(0)), p0=Result(error_code=3, high_watermark=10))

    assert answer(begin(sessions, session_id=session_id, epoch=1))[2] == [0]


def test_partitions_are_added_moved_and_forgotten(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0, 1)

    context = begin(
        sessions,
        topic(1, offset=5),
        topic(2),
        session_id=session_id,
        epoch=1,
        forgotten=[Forgotten(partitions=[0, 9])],
    )

    assert [(part.partition, part.fetch_offset) for part in context.partitions()] == [
        (1, 5),
        (2, 0),
    ]
    assert answer(context)[2] == [2], "a partition that was just added is news"
    assert order(begin(sessions, session_id=session_id, epoch=2)) == [1, 2]


def test_every_field_of_a_changed_partition_is_taken_over(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    asked = Asked(
        partition=0,
        fetch_offset=7,
        current_leader_epoch=3,
        last_fetched_epoch=2,
        log_start_offset=1,
        partition_max_bytes=99,
    )

    (part,) = begin(
        sessions, Topic(partitions=[asked]), session_id=session_id, epoch=1
    ).partitions()

    assert (part.fetch_offset, part.current_leader_epoch, part.last_fetched_epoch) == (7, 3, 2)
    assert (part.log_start_offset, part.max_bytes) == (1, 99)


@pytest.mark.parametrize("indexes", [[0], []])
def test_a_session_without_partitions_is_closed(
    sessions: FetchSessions, indexes: list[int]
) -> None:
    session_id = opened(sessions, *indexes)

    context = begin(
        sessions, session_id=session_id, epoch=1, forgotten=[Forgotten(partitions=indexes)]
    )

    assert answer(context) == (0, ErrorCode.NONE, [])
    assert len(sessions) == 0


def test_what_is_asked_and_forgotten_at_once_is_read_and_ends_the_session(
    sessions: FetchSessions,
) -> None:
    session_id = opened(sessions, 0)

    context = begin(
        sessions,
        topic(0, 1),
        session_id=session_id,
        epoch=1,
        forgotten=[Forgotten(partitions=[0, 1])],
    )

    assert answer(context) == (0, ErrorCode.NONE, [0, 1])
    assert len(sessions) == 0


def test_partitions_that_gave_data_are_read_last(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0, 1, 2)
    data = Result(records=b"batch")

    answer(begin(sessions, session_id=session_id, epoch=1), p0=data)
    assert order(begin(sessions, session_id=session_id, epoch=2)) == [1, 2, 0]


def test_news_without_data_does_not_change_the_order(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0, 1)

    answer(begin(sessions, session_id=session_id, epoch=1), p0=Result(high_watermark=11))
    assert order(begin(sessions, session_id=session_id, epoch=2)) == [0, 1]


def test_an_unknown_session_is_refused(sessions: FetchSessions) -> None:
    context = begin(sessions, topic(0), session_id=77, epoch=1)

    assert list(context.partitions()) == []
    assert answer(context) == (0, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])


@pytest.mark.parametrize("epoch", [2, MAX_EPOCH, -2])
def test_a_wrong_epoch_is_refused_and_changes_nothing(sessions: FetchSessions, epoch: int) -> None:
    session_id = opened(sessions, 0)

    context = begin(sessions, topic(5), session_id=session_id, epoch=epoch)

    assert answer(context) == (0, ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
    assert order(begin(sessions, session_id=session_id, epoch=1)) == [0]


def test_a_repeated_epoch_is_refused(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    answer(begin(sessions, session_id=session_id, epoch=1))

    assert (
        answer(begin(sessions, session_id=session_id, epoch=1))[1]
        is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )


@pytest.mark.parametrize(("first", "then"), [(12, 13), (13, 12)])
def test_a_session_keeps_to_names_or_ids(sessions: FetchSessions, first: int, then: int) -> None:
    session_id, _, _ = answer(begin(sessions, topic(0, name="t"), version=first))

    context = begin(sessions, session_id=session_id, epoch=1, version=then)

    assert answer(context) == (0, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, [])


def test_topics_are_known_by_name_before_version_13(sessions: FetchSessions) -> None:
    a, b = topic(0, name="a"), topic(0, name="b")

    session_id, _, _ = answer(begin(sessions, a, b, version=12))
    context = begin(
        sessions,
        session_id=session_id,
        epoch=1,
        version=12,
        forgotten=[Forgotten(topic="a", partitions=[0])],
    )

    assert [part.key for part in context.partitions()] == [("b", 0)]


def test_an_overtaken_answer_is_refused(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    slow = begin(sessions, session_id=session_id, epoch=1)
    begin(sessions, session_id=session_id, epoch=2)

    assert answer(slow, p0=Result(records=b"x")) == (
        session_id,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        [],
    )


def test_the_epoch_wraps_to_one(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    session = sessions._by_age[session_id]
    session.epoch = MAX_EPOCH

    assert answer(begin(sessions, session_id=session_id, epoch=MAX_EPOCH))[1] is ErrorCode.NONE
    assert answer(begin(sessions, session_id=session_id, epoch=1))[1] is ErrorCode.NONE


def test_a_partition_asked_twice_is_read_once_with_the_last_offset(
    sessions: FetchSessions,
) -> None:
    (part,) = begin(sessions, topic(0, offset=1), topic(0, offset=2)).partitions()

    assert part.fetch_offset == 2


def test_partitions_that_were_asked_but_not_read_stay_in_the_session(
    sessions: FetchSessions,
) -> None:
    context = begin(sessions, topic(0, 1))
    first: SessionPartition = context.partitions()[0]
    session_id, _, _ = context.finish([(first, Result())])

    context = begin(sessions, session_id=session_id, epoch=1)
    assert order(context) == [0, 1]
    assert answer(context)[2] == [1]


def test_a_full_cache_gives_no_session_to_a_newcomer_of_the_same_size(
    sessions: FetchSessions,
) -> None:
    held = [opened(sessions, 0) for _ in range(4)]

    assert opened(sessions, 0, now=EVICTION_AGE) == 0
    assert sorted(sessions._by_age) == sorted(held)
    assert sessions.evictions == 0


def test_no_slots_means_no_sessions() -> None:
    assert opened(FetchSessions(slots=0), 0) == 0


def test_a_stale_session_makes_room(sessions: FetchSessions) -> None:
    first, second, *_ = (opened(sessions, 0, now=n) for n in range(4))
    answer(begin(sessions, session_id=first, epoch=1, now=50.0))

    new = opened(sessions, 0, now=1.0 + EVICTION_AGE + 0.5)

    assert new != 0
    assert second not in sessions._by_age
    assert first in sessions._by_age
    assert sessions.evictions == 1


def test_a_follower_takes_the_place_of_the_smallest_consumer(sessions: FetchSessions) -> None:
    held = [opened(sessions, *range(size)) for size in (3, 1, 2, 4)]

    new = opened(sessions, 0, follower=True, now=1.0)

    assert set(sessions._by_age) == {*held, new} - {held[1]}


def test_a_consumer_never_takes_the_place_of_a_follower(sessions: FetchSessions) -> None:
    for _ in range(4):
        opened(sessions, 0, follower=True)

    assert opened(sessions, *range(9), now=EVICTION_AGE / 2) == 0


def test_a_young_follower_is_not_evicted_by_a_larger_follower(sessions: FetchSessions) -> None:
    for _ in range(4):
        opened(sessions, 0, follower=True)

    assert opened(sessions, 0, 1, follower=True, now=1.0) == 0


def test_a_larger_consumer_takes_the_place_of_an_old_smaller_one(sessions: FetchSessions) -> None:
    held = [opened(sessions, *range(size)) for size in (3, 2, 4, 4)]
    later = EVICTION_AGE + 1
    for session_id in held:  # still in use, so not stale, but old enough to be judged by size
        answer(begin(sessions, session_id=session_id, epoch=1, now=later))

    assert opened(sessions, 0, 1, now=later) == 0, "not larger"
    new = opened(sessions, 0, 1, 2, now=later)
    assert set(sessions._by_age) == {*held, new} - {held[1]}


def test_a_session_is_judged_by_its_present_size(sessions: FetchSessions) -> None:
    held = [opened(sessions, 0) for _ in range(4)]
    later = EVICTION_AGE + 1
    for session_id in held:
        answer(begin(sessions, topic(1, 2), session_id=session_id, epoch=1, now=later))
    answer(begin(sessions, topic(3), session_id=held[0], epoch=2, now=later))
    answer(
        begin(
            sessions,
            session_id=held[3],
            epoch=2,
            now=later,
            forgotten=[Forgotten(partitions=[1])],
        )
    )

    assert opened(sessions, 0, 1, now=later) == 0
    new = opened(sessions, 0, 1, 2, now=later)
    assert set(sessions._by_age) == {*held, new} - {held[3]}


def test_a_session_that_grew_is_not_evicted_for_its_former_size(sessions: FetchSessions) -> None:
    held = [opened(sessions, *range(size)) for size in (1, 3, 3, 3)]
    later = EVICTION_AGE + 1
    for session_id in held:
        answer(begin(sessions, session_id=session_id, epoch=1, now=later))
    answer(begin(sessions, topic(1, 2, 3), session_id=held[0], epoch=2, now=later))

    assert opened(sessions, 0, 1, now=later) == 0
    assert set(sessions._by_age) == set(held)


def test_growing_and_shrinking_sessions_do_not_pile_up_candidates(sessions: FetchSessions) -> None:
    session_id = opened(sessions, 0)
    for epoch in range(1, 1_000):
        grows = epoch % 2 == 1
        begin(
            sessions,
            *([topic(1)] if grows else []),
            session_id=session_id,
            epoch=epoch,
            forgotten=[] if grows else [Forgotten(partitions=[1])],
            now=EVICTION_AGE + 1,
        )

    assert len(sessions._for_all) <= 2 * 4 + 17
    assert len(sessions._for_privileged) <= 2 * 4 + 17


def test_session_ids_are_never_given_twice_at_a_time() -> None:
    class Repeating(random.Random):
        def __init__(self) -> None:
            super().__init__()
            self.draws = iter([5, 5, 5, 8])

        def randrange(self, *_: int) -> int:  # type: ignore[override]
            return next(self.draws)

    sessions = FetchSessions(slots=4, rng=Repeating())

    assert (opened(sessions, 0), opened(sessions, 0)) == (5, 8)
