"""Fetch: which bytes are answered, when, and within which limits."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_broker import LISTENER, NODE_ID, SmallBroker
from storage_logs import NOW, batch

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k01_fetch import fetch
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from barnabas.records.batch import iter_headers
from barnabas.storage.fs import FileSlice

OTHER = 2
BY_NAME, BY_ID = 12, 17
SIZE = len(batch(b"x" * 100))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    made.topic("t", 3)
    yield made
    made.close()


def fill(world: SmallBroker, count: int, index: int = 0, topic: str = "t") -> None:
    """Batches of one record and `SIZE` bytes each."""
    for _ in range(count):
        world.append(topic, b"x" * 100, index=index)
    world.replicas.write_dirty()


def wanted(
    index: int = 0,
    offset: int = 0,
    *,
    max_bytes: int = 1 << 20,
    epoch: int = -1,
    last_epoch: int = -1,
) -> FetchPartition:
    return FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
    )


def request(*partitions: FetchPartition, topic: str = "t", **fields: Any) -> FetchRequest:
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
    topics = [FetchTopic(topic=topic, partitions=list(partitions))] if partitions else []
    return FetchRequest(topics=topics, **fields)


class Asked:
    """A fetch at the handler; `answers` gets what the client is told."""

    def __init__(self, world: SmallBroker, asked: FetchRequest, version: int = BY_NAME) -> None:
        ctx = RequestContext(
            api_key=ApiKey.FETCH,
            api_version=version,
            correlation_id=1,
            client_id="c",
            listener=LISTENER,
            peer_host="127.0.0.1",
        )
        self.answers: list[FetchResponse] = []
        answer = fetch(world.broker, ctx, asked)
        self.later = answer if isinstance(answer, Later) else None
        if self.later is not None:
            self.later.when_done(self.answers.append)  # type: ignore[arg-type]
        else:
            assert isinstance(answer, FetchResponse)
            self.answers.append(answer)

    @property
    def response(self) -> FetchResponse:
        (response,) = self.answers
        return response

    @property
    def partitions(self) -> list[PartitionData]:
        return [data for topic in self.response.responses for data in topic.partitions]

    @property
    def sizes(self) -> list[int]:
        return [len(data.records or b"") for data in self.partitions]

    @property
    def codes(self) -> list[str]:
        return [ErrorCode(data.error_code).name for data in self.partitions]


def offsets(data: PartitionData) -> list[int]:
    assert isinstance(data.records, FileSlice)
    return [header.base_offset for _, header in iter_headers(data.records.read())]


# What is answered.


def test_records_come_as_a_slice_of_the_file_from_the_batch_that_holds_the_offset(
    world: SmallBroker,
) -> None:
    fill(world, 5)

    (data,) = Asked(world, request(wanted(offset=2))).partitions

    assert offsets(data) == [2, 3, 4]
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (5, 5, 0)


def test_at_the_end_there_is_nothing_and_beyond_it_is_an_error(world: SmallBroker) -> None:
    fill(world, 2)

    asked = Asked(world, request(wanted(offset=2), wanted(1, offset=1), wanted(2, offset=-1)))

    out = "OFFSET_OUT_OF_RANGE"
    assert asked.codes == ["NONE", out, out]
    assert asked.sizes == [0, 0, 0]
    assert [data.high_watermark for data in asked.partitions] == [2, -1, -1]


def test_what_is_not_replicated_is_not_shown(world: SmallBroker) -> None:
    world.topic("followed", replicas=(NODE_ID, OTHER))
    fill(world, 2, topic="followed")

    asked = Asked(world, request(wanted(), topic="followed"))

    assert (asked.codes, asked.sizes) == (["NONE"], [0])


def test_topics_are_asked_for_by_id_in_newer_versions(world: SmallBroker) -> None:
    fill(world, 1)
    topic_id = world.partition("t").topic_id
    known = FetchTopic(topic_id=topic_id, partitions=[wanted()])
    unknown = FetchTopic(topic_id=b"?" * 16, partitions=[wanted()])

    asked = Asked(world, FetchRequest(topics=[known, unknown], max_bytes=1 << 20), BY_ID)

    assert asked.codes == ["NONE", "UNKNOWN_TOPIC_ID"]
    assert [topic.topic_id for topic in asked.response.responses] == [topic_id, b"?" * 16]


def test_each_partition_fails_by_itself(world: SmallBroker) -> None:
    fill(world, 1)
    world.topic("theirs", replicas=(OTHER, NODE_ID))

    assert Asked(world, request(wanted(), wanted(9))).codes == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    before_racks = Asked(world, request(wanted(), topic="theirs"), version=10)
    assert before_racks.codes == ["NOT_LEADER_OR_FOLLOWER"]


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, "NONE"), (3, "NONE"), (2, "FENCED_LEADER_EPOCH"), (4, "UNKNOWN_LEADER_EPOCH")],
)
def test_the_readers_leader_epoch_is_checked(world: SmallBroker, epoch: int, code: str) -> None:
    world.topic("epochs", leader_epoch=3)

    assert Asked(world, request(wanted(epoch=epoch), topic="epochs")).codes == [code]


def test_a_reader_whose_history_differs_is_told_where_it_parts(world: SmallBroker) -> None:
    topic_id = world.topic("epochs", leader_epoch=3)
    fill(world, 2, topic="epochs")
    world.change(topic_id, leader=NODE_ID)
    fill(world, 2, topic="epochs")

    same = Asked(world, request(wanted(offset=2, last_epoch=3), topic="epochs"))
    parted = Asked(world, request(wanted(offset=3, last_epoch=3), topic="epochs"))

    assert same.partitions[0].diverging_epoch.epoch == -1
    assert same.sizes == [2 * SIZE]
    diverging = parted.partitions[0].diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (3, 2)
    assert parted.sizes == [0]


def test_a_reader_whose_history_cannot_be_compared_is_out_of_range(world: SmallBroker) -> None:
    world.topic("epochs", leader_epoch=3)
    fill(world, 4, topic="epochs")
    world.partition("epochs").leader_log().delete_records_before(2)

    later_epoch = Asked(world, request(wanted(offset=3, last_epoch=5), topic="epochs"))
    deleted = Asked(world, request(wanted(offset=1, last_epoch=2), topic="epochs"))

    assert later_epoch.codes == deleted.codes == ["OFFSET_OUT_OF_RANGE"]
    assert later_epoch.partitions[0].diverging_epoch.epoch == -1


def test_aborted_transactions_are_a_matter_of_those_who_want_decided_ones(
    world: SmallBroker,
) -> None:
    fill(world, 1)

    for committed, told in ((0, None), (1, [])):
        asked = Asked(world, request(wanted(), wanted(99), isolation_level=committed))
        assert [each.aborted_transactions for each in asked.partitions] == [told] * 2


def test_only_decided_transactions_are_shown_to_those_who_want_that(world: SmallBroker) -> None:
    fill(world, 1)
    partition = world.partition("t")
    open_batch = batch(b"open", producer_id=5, epoch=0, sequence=0, transactional=True)
    world.replicas.append(partition, open_batch, acks=1, now_ms=NOW)
    fill(world, 1)

    (every,) = Asked(world, request(wanted())).partitions
    (committed,) = Asked(world, request(wanted(), isolation_level=1)).partitions

    assert (len(offsets(every)), offsets(committed)) == (3, [0])
    assert committed.last_stable_offset == 1


# Limits.


def test_a_partition_has_a_limit(world: SmallBroker) -> None:
    fill(world, 4)

    assert Asked(world, request(wanted(max_bytes=2 * SIZE))).sizes == [2 * SIZE]


def test_an_answer_has_a_limit_over_all_partitions(world: SmallBroker) -> None:
    for index in range(3):
        fill(world, 4, index)

    asked = Asked(world, request(wanted(0), wanted(1), wanted(2), max_bytes=6 * SIZE))

    assert asked.sizes == [4 * SIZE, 2 * SIZE, 0]


def test_the_brokers_own_limit_counts_too(tmp_path: Path) -> None:
    world = SmallBroker(tmp_path / "limited", fetch_max_bytes="1024")
    world.topic("t")
    fill(world, 20)

    assert Asked(world, request(wanted())).sizes[0] <= 1024
    world.close()


def test_the_first_batch_is_whole_however_large_so_that_a_reader_gets_on(
    world: SmallBroker,
) -> None:
    for index in range(3):
        fill(world, 2, index)

    asked = Asked(
        world, request(wanted(1, max_bytes=10), wanted(2, max_bytes=10), wanted(0), max_bytes=10)
    )

    assert asked.sizes == [SIZE, 0, 0]


# Waiting.


def test_with_enough_there_is_no_waiting(world: SmallBroker) -> None:
    fill(world, 1)

    assert Asked(world, request(wanted(), max_wait_ms=500)).sizes == [SIZE]


def test_without_enough_it_waits_for_any_of_its_partitions(world: SmallBroker) -> None:
    asked = Asked(world, request(wanted(0), wanted(1), max_wait_ms=500, min_bytes=SIZE + 1))
    assert asked.answers == []
    fill(world, 1, 1)
    assert asked.answers == []

    fill(world, 1, 0)

    assert asked.sizes == [SIZE, SIZE]
    assert world.replicas.next_deadline() is None


def test_when_its_time_is_up_it_gets_what_there_is(world: SmallBroker) -> None:
    asked = Asked(world, request(wanted(), max_wait_ms=500, min_bytes=10_000))
    fill(world, 1)

    world.replicas.expire(world.clock.mono + 0.5)

    assert asked.sizes == [SIZE]


def test_an_answered_wait_leaves_nothing_to_the_garbage_collector(world: SmallBroker) -> None:
    fill(world, 1)
    gc.collect()
    gc.disable()
    try:
        asked = Asked(world, request(wanted(0, 1), max_wait_ms=500))
        fill(world, 1)
        assert asked.sizes == [SIZE]
        assert world.replicas.next_deadline() is None
        del asked
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_deleted_topic_ends_the_waiting(world: SmallBroker) -> None:
    asked = Asked(world, request(wanted(), max_wait_ms=500))

    world.delete(world.partition("t").topic_id)

    assert asked.codes == ["UNKNOWN_TOPIC_OR_PARTITION"]


def test_an_error_is_not_waited_with(world: SmallBroker) -> None:
    asked = Asked(world, request(wanted(0), wanted(9), max_wait_ms=500))

    assert asked.codes == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]


def test_who_leaves_is_forgotten(world: SmallBroker) -> None:
    asked = Asked(world, request(wanted(), max_wait_ms=500))
    assert asked.later is not None

    asked.later.abandon()

    assert world.partition("t").waiters == {}
    assert world.replicas.next_deadline() is None


# Sessions.


def test_a_session_tells_only_news(world: SmallBroker) -> None:
    fill(world, 1, 0)
    first = Asked(world, request(wanted(0), wanted(1), session_epoch=0))
    session = first.response.session_id
    assert session > 0
    assert first.sizes == [SIZE, 0]

    nothing = Asked(world, request(wanted(0, offset=1), session_id=session, session_epoch=1))
    fill(world, 1, 1)
    news = Asked(world, request(session_id=session, session_epoch=2))

    assert nothing.partitions == []
    assert [(data.partition_index, len(data.records or b"")) for data in news.partitions] == [
        (1, SIZE)
    ]


def test_a_session_forgets_what_it_is_told_to(world: SmallBroker) -> None:
    first = Asked(world, request(wanted(0), wanted(1), session_epoch=0))
    fill(world, 1, 0)
    fill(world, 1, 1)

    later = Asked(
        world,
        request(
            session_id=first.response.session_id,
            session_epoch=1,
            forgotten_topics_data=[ForgottenTopic(topic="t", partitions=[0])],
        ),
    )

    assert [data.partition_index for data in later.partitions] == [1]


def test_an_unknown_session_is_told_so(world: SmallBroker) -> None:
    asked = Asked(world, request(session_id=99, session_epoch=1))

    assert asked.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
