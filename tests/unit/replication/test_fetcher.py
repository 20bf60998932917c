"""How a follower fetches: what it asks for, what it makes of answers, when it stays away."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.replication.fetcher import (
    Append,
    AskOffsets,
    Fetched,
    Fetcher,
    FetchLimits,
    Reset,
    Truncate,
    backoff,
    reset_offset,
    truncation_offset,
)

TOPIC = bytes(15) + b"t"
A, B = (TOPIC, 0), (TOPIC, 1)
SESSION = 77


def fetcher(*keys: tuple[bytes, int]) -> Fetcher:
    made = Fetcher(replica_id=2, limits=FetchLimits(backoff_s=1.0))
    made.replica_epoch = 5
    for key in keys:
        follow(made, key)
    return made


def follow(made: Fetcher, key: tuple[bytes, int], offset: int = 0, epoch: int = 3) -> None:
    made.add(key, leader_epoch=epoch, offset=offset, last_epoch=-1, start_offset=0)


def answer(*data: PartitionData, session_id: int = SESSION, error: int = 0) -> FetchResponse:
    return FetchResponse(
        session_id=session_id,
        error_code=error,
        responses=[FetchableTopicResponse(topic_id=TOPIC, partitions=list(data))],
    )


def part(index: int, code: ErrorCode = ErrorCode.NONE, **fields: Any) -> PartitionData:
    fields = {"records": memoryview(b""), "high_watermark": 0, "log_start_offset": 0, **fields}
    return PartitionData(partition_index=index, error_code=int(code), **fields)


def asked(request: FetchRequest | None) -> dict[int, int]:
    """Offsets by partition."""
    assert request is not None
    return {p.partition: p.fetch_offset for topic in request.topics for p in topic.partitions}


def forgotten(request: FetchRequest | None) -> list[int]:
    assert request is not None
    return [index for topic in request.forgotten_topics_data for index in topic.partitions]


def established(*keys: tuple[bytes, int]) -> Fetcher:
    """With a session that has these partitions."""
    made = fetcher(*keys)
    made.next_request(0.0)
    for action in made.take(answer(*(part(index) for _, index in keys)), 0.0):
        done(made, action.partition)
    return made


def done(made: Fetcher, partition: Fetched, offset: int = 0) -> None:
    made.moved(partition, offset=offset, last_epoch=-1, start_offset=0)


def test_the_first_request_names_everything_and_says_who_asks() -> None:
    request = fetcher(A, B).next_request(0.0)

    assert request is not None
    assert asked(request) == {0: 0, 1: 0}
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (2, 5)
    assert request.topics[0].partitions[0].current_leader_epoch == 3


def test_with_nothing_to_follow_nothing_is_asked() -> None:
    assert fetcher().next_request(0.0) is None


def test_then_only_what_moved_is_named() -> None:
    made = established(A, B)
    assert asked(made.next_request(0.0)) == {}
    (action,) = made.take(answer(part(1, records=memoryview(b"batch"), high_watermark=4)), 0.0)
    assert action == Append(made.partitions[B], memoryview(b"batch"), 4, 0)

    made.moved(action.partition, offset=9, last_epoch=3, start_offset=0)
    request = made.next_request(0.0)

    assert asked(request) == {1: 9}
    assert request is not None
    assert (request.session_id, request.session_epoch) == (SESSION, 2)


def test_a_leader_without_room_for_a_session_is_asked_for_everything_each_time() -> None:
    made = fetcher(A, B)
    for _ in range(3):
        request = made.next_request(0.0)
        assert asked(request) == {0: 0, 1: 0}
        assert request is not None
        assert request.session_epoch == 0
        for action in made.take(answer(part(0), part(1), session_id=0), 0.0):
            done(made, action.partition)


def test_what_is_not_followed_any_more_is_forgotten_and_its_answer_ignored() -> None:
    made = established(A, B)
    made.next_request(0.0)
    made.remove(B)
    assert made.take(answer(part(1, records=memoryview(b"late"))), 0.0) == []

    request = made.next_request(0.0)

    assert forgotten(request) == [1]
    assert forgotten_again(made) == []


def forgotten_again(made: Fetcher) -> list[int]:
    made.take(answer(), 0.0)
    return forgotten(made.next_request(0.0))


def test_a_new_leader_epoch_begins_anew_and_an_answer_to_the_old_one_is_ignored() -> None:
    made = established(A)
    made.next_request(0.0)
    follow(made, A, offset=50, epoch=4)

    assert made.take(answer(part(0, records=memoryview(b"of the old leader"))), 0.0) == []

    request = made.next_request(0.0)
    assert asked(request) == {0: 50}
    assert request is not None
    assert request.topics[0].partitions[0].current_leader_epoch == 4


def test_followed_again_before_the_leader_heard_that_it_was_not_it_is_not_forgotten() -> None:
    made = established(A, B)
    made.remove(B)
    follow(made, B, offset=7)

    request = made.next_request(0.0)

    assert asked(request) == {1: 7}
    assert forgotten(request) == []


def test_where_the_logs_part_the_follower_is_told_to_cut() -> None:
    made = established(A)
    made.next_request(0.0)
    diverging = EpochEndOffset(epoch=2, end_offset=40)

    (action,) = made.take(answer(part(0, diverging_epoch=diverging)), 0.0)

    assert action == Truncate(made.partitions[A], 2, 40)


def test_a_position_that_the_leader_does_not_have_is_asked_about_and_left_out_meanwhile() -> None:
    made = established(A, B)
    made.next_request(0.0)

    (action,) = made.take(answer(part(0, ErrorCode.OFFSET_OUT_OF_RANGE)), 0.0)

    assert action == AskOffsets(made.partitions[A])
    assert forgotten(made.next_request(0.0)) == [0]
    made.take(answer(), 0.0)
    done(made, action.partition, offset=500)
    assert asked(made.next_request(0.0)) == {0: 500}


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode(-1)]
)
def test_after_an_error_a_partition_is_left_alone_each_time_longer(code: ErrorCode) -> None:
    made = established(A, B)
    now, pauses = 0.0, []
    for _ in range(8):
        made.next_request(now)
        assert made.take(answer(part(0, code)), now) == []
        until = made.next_resume()
        assert until is not None
        pauses.append(until - now)
        request = made.next_request(now)
        assert asked(request) == {}
        assert forgotten(request) == [0]
        made.take(answer(), now)
        now = until

    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.02)
    assert pauses[-1] == 1.0
    assert asked(made.next_request(now)) == {0: 0}


def test_a_leader_that_is_ahead_of_us_is_not_asked_again_until_new_metadata_comes() -> None:
    made = established(A)
    made.next_request(0.0)
    assert made.take(answer(part(0, ErrorCode.FENCED_LEADER_EPOCH)), 0.0) == []

    assert made.next_request(1e6) is None
    assert made.next_resume() is None
    follow(made, A, epoch=4)
    assert asked(made.next_request(1e6)) == {0: 0}


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ],
)
def test_when_the_leader_lost_the_session_everything_is_named_at_once(code: ErrorCode) -> None:
    made = established(A, B)
    made.next_request(0.0)

    assert made.take(answer(error=int(code)), 0.0) == []

    request = made.next_request(0.0)
    assert asked(request) == {0: 0, 1: 0}
    assert request is not None
    assert (request.session_id, request.session_epoch) == (SESSION, 0)


def test_any_other_error_of_the_whole_answer_is_waited_out() -> None:
    made = established(A, B)
    made.next_request(0.0)

    assert made.take(answer(error=int(ErrorCode.UNKNOWN_SERVER_ERROR)), 0.0) == []

    assert made.next_request(0.0) is None
    assert made.next_resume() == pytest.approx(0.02)


def test_after_a_lost_connection_everything_is_named() -> None:
    made = established(A, B)
    made.next_request(0.0)
    made.lost()

    assert asked(made.next_request(0.0)) == {0: 0, 1: 0}


def test_a_partition_is_not_asked_for_while_its_records_are_written() -> None:
    made = fetcher(A, B)
    made.next_request(0.0)
    first, second = made.take(answer(part(0), part(1), session_id=0), 0.0)
    done(made, second.partition)

    assert asked(made.next_request(0.0)) == {1: 0}
    assert made.is_current(first.partition)


@pytest.mark.parametrize(
    ("leader", "local", "local_end", "cut"),
    [
        ((4, 100), (4, 120), 120, 100),  # we have more of that epoch
        ((4, 100), (4, 90), 130, 90),  # we have less of it, and another epoch behind
        ((4, 100), (3, 60), 130, 60),  # we do not know that epoch
        ((4, 100), (-1, -1), 130, 100),  # we know no epoch at all
        ((4, 100), (-1, -1), 70, 70),
    ],
)
def test_where_to_cut(
    leader: tuple[int, int], local: tuple[int, int], local_end: int, cut: int
) -> None:
    assert truncation_offset(*leader, local, local_end) == cut


@pytest.mark.parametrize(
    ("start", "end", "local_end", "to"),
    [
        (50, 200, 10, Reset(50, True)),  # deleted at the leader before we copied it
        (50, 200, 70, Reset(70, False)),
        (0, 40, 70, Reset(40, False)),  # an unclean leader has less
        (0, 0, 70, Reset(0, False)),
    ],
)
def test_where_to_go_on(start: int, end: int, local_end: int, to: Reset) -> None:
    assert reset_offset(leader_start=start, leader_end=end, local_end=local_end) == to


def test_pauses_double_up_to_a_limit() -> None:
    assert [backoff(n, 0.1) for n in range(5)] == [0.02, 0.04, 0.08, 0.1, 0.1]
    assert backoff(10_000, 2.0) == 2.0
