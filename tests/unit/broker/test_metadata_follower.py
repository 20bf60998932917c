"""A broker follows the metadata log of a controller that is a function."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from scripted_link import ScriptedLink, fetched, run_bytes

from barnabas.broker.metadata_follower import MetadataFollower
from barnabas.controller import journal_format as fmt
from barnabas.controller.image import ImageChanges
from barnabas.protocol.message import Message
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    SnapshotId,
)
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    ResponsePartitionSnapshot,
    ResponseTopicSnapshot,
)
from barnabas.protocol.messages.metadata_records import TopicRecord

PATIENCE_S = 30


def topic(name: str) -> Message:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16, b"."))


def follower_of(link: ScriptedLink) -> MetadataFollower:
    return MetadataFollower(
        asyncio.get_running_loop(),
        link,  # type: ignore[arg-type]
        node_id=3,
        cluster_id="cluster",
        fetch_bytes=1000,
        snapshot_bytes=50,
    )


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


class Log:
    """A controller with a log from which each run is fetched by its own request."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.epoch = 1
        self.answers: list[Message | None] = []
        """Given first, before the log is."""
        self.idle = asyncio.Event()
        self.snapshot = b""

    def respond(self, request: Any) -> Message | None:
        if self.answers:
            return self.answers.pop(0)
        if isinstance(request, FetchSnapshotRequest):
            return self._piece(request)
        offset = request.topics[0].partitions[0].fetch_offset
        if offset >= len(self.names):
            self.idle.set()
            return fetched(high_watermark=len(self.names))
        data = run_bytes(topic(self.names[offset]), base_offset=offset, epoch=self.epoch)
        return fetched(data, high_watermark=len(self.names))

    def _piece(self, request: FetchSnapshotRequest) -> Message:
        asked = request.topics[0].partitions[0]
        piece = ResponsePartitionSnapshot(
            snapshot_id=asked.snapshot_id,
            size=len(self.snapshot),
            position=asked.position,
            unaligned_records=self.snapshot[asked.position : asked.position + request.max_bytes],
        )
        return FetchSnapshotResponse(topics=[ResponseTopicSnapshot(partitions=[piece])])


def test_runs_are_applied_in_order_and_told_each() -> None:
    async def scenario() -> None:
        log = Log("a", "b", "c")
        link = ScriptedLink(log.respond)
        follower = follower_of(link)
        told: list[list[str]] = []

        def changed(image: Any, changes: ImageChanges) -> None:
            told.append([topic.name for topic in changes.topics_created.values()])

        follower.on_changes = changed
        follower.start()
        await follower.caught_up()
        follower.stop()

        assert list(follower.image.topics) == ["a", "b", "c"]
        assert told == [["a"], ["b"], ["c"]]
        asked = [fetch.topics[0].partitions[0] for fetch in link.sent(FetchRequest)]
        assert [(one.fetch_offset, one.last_fetched_epoch) for one in asked][:3] == [
            (0, -1),
            (1, 1),
            (2, 1),
        ]
        assert link.requests[0].replica_state.replica_id == 3
        assert link.requests[0].cluster_id == "cluster"

    run(scenario())


def test_whoever_waits_for_an_offset_is_called_when_it_is_applied() -> None:
    async def scenario() -> None:
        log = Log("a")
        follower = follower_of(ScriptedLink(log.respond))
        reached: list[int] = []
        third = asyncio.Event()
        follower.when_reached(0, lambda: reached.append(0))
        follower.when_reached(2, third.set)
        follower.start()
        await follower.caught_up()
        assert reached == [0]
        assert not third.is_set()
        follower.when_reached(0, lambda: reached.append(0))  # applied already: at once
        assert reached == [0, 0]
        log.names += ["b", "c"]
        await third.wait()
        follower.stop()

    run(scenario())


def test_no_answer_and_refusals_are_tried_again() -> None:
    async def scenario() -> None:
        log = Log("a")
        log.answers = [
            None,
            FetchResponse(error_code=104),
            FetchResponse(),
            fetched(high_watermark=-1, error_code=6),
        ]
        follower = follower_of(ScriptedLink(log.respond))
        follower.start()
        await follower.caught_up()
        follower.stop()
        assert list(follower.image.topics) == ["a"]

    run(scenario())


def test_a_controller_that_answers_again_is_told_of() -> None:
    async def scenario() -> None:
        log = Log("a")
        follower = follower_of(ScriptedLink(log.respond))
        found = asyncio.Event()
        follower.on_found = found.set
        follower.start()
        await follower.caught_up()
        assert not found.is_set()
        log.answers = [None, None]
        await found.wait()
        follower.stop()

    run(scenario())


def test_who_is_too_far_behind_takes_the_snapshot_in_pieces_and_goes_on_after_it() -> None:
    async def scenario() -> None:
        log = Log("a", "b", "c")
        log.snapshot = fmt.encode_snapshot(
            [topic("a"), topic("b")], epoch=1, now_ms=0, last_timestamp=0
        )
        log.answers = [
            fetched(high_watermark=3, snapshot_id=SnapshotId(end_offset=2, epoch=1)),
        ]
        link = ScriptedLink(log.respond)
        follower = follower_of(link)
        follower.start()
        await follower.caught_up()
        follower.stop()

        assert list(follower.image.topics) == ["a", "b", "c"]
        assert len(link.sent(FetchSnapshotRequest)) > 1
        after = link.sent(FetchRequest)[1].topics[0].partitions[0]
        assert (after.fetch_offset, after.last_fetched_epoch) == (2, 1)

    run(scenario())


def test_a_snapshot_that_is_gone_or_damaged_is_asked_for_again() -> None:
    async def scenario() -> None:
        log = Log("a", "b")
        whole = fmt.encode_snapshot([topic("a")], epoch=1, now_ms=0, last_timestamp=0)
        needed = fetched(high_watermark=2, snapshot_id=SnapshotId(end_offset=1, epoch=1))
        gone = ResponsePartitionSnapshot(error_code=98)
        damaged = ResponsePartitionSnapshot(size=5, unaligned_records=b"12345")
        log.answers = [
            needed,
            FetchSnapshotResponse(topics=[ResponseTopicSnapshot(partitions=[gone])]),
            needed,
            FetchSnapshotResponse(topics=[ResponseTopicSnapshot(partitions=[damaged])]),
            needed,
        ]
        log.snapshot = whole
        follower = follower_of(ScriptedLink(log.respond))
        follower.start()
        await follower.caught_up()
        follower.stop()
        assert list(follower.image.topics) == ["a", "b"]

    run(scenario())


def test_what_the_controller_does_not_have_is_replaced_by_what_it_has() -> None:
    async def scenario() -> None:
        log = Log("a", "b")
        follower = follower_of(ScriptedLink(log.respond))
        image = follower.image
        told: list[ImageChanges] = []
        follower.start()
        await follower.caught_up()
        follower.on_changes = lambda image, changes: told.append(changes)
        other = Log("a", "x", "y")
        other.epoch = 2
        log.answers = [
            fetched(high_watermark=3, diverging_epoch=EpochEndOffset(epoch=2, end_offset=3))
        ]
        log.names, log.epoch = other.names, 2
        reached = asyncio.Event()
        follower.when_reached(2, reached.set)
        await reached.wait()
        follower.stop()

        assert follower.image is image
        assert list(image.topics) == ["a", "x", "y"]
        assert image.applied_epoch == 2
        gone = [topic.name for changes in told for topic in changes.topics_deleted.values()]
        assert gone == ["a", "b"]

    run(scenario())


def test_a_change_that_somebody_cannot_apply_does_not_end_the_following(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        follower = follower_of(ScriptedLink(Log("a", "b").respond))
        follower.on_changes = lambda image, changes: 1 / 0  # type: ignore[assignment,return-value]
        follower.start()
        await follower.caught_up()
        follower.stop()
        assert list(follower.image.topics) == ["a", "b"]

    run(scenario())
    assert "a change of metadata could not be applied" in caplog.text


def test_a_run_that_cannot_be_replayed_makes_it_read_everything_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        log = Log("a", "b")
        follower = follower_of(ScriptedLink(log.respond))
        follower.start()
        await follower.caught_up()
        bad = run_bytes(topic("c"), TopicRecord(name="a", topic_id=b"?" * 16), base_offset=2)
        log.answers = [fetched(bad, high_watermark=4)]
        log.names = ["a", "b", "c", "d"]
        reached = asyncio.Event()
        follower.when_reached(3, reached.set)
        await reached.wait()
        follower.stop()
        assert list(follower.image.topics) == ["a", "b", "c", "d"]

    run(scenario())
    assert "cannot be followed" in caplog.text


def test_after_its_stop_nothing_is_asked_any_more() -> None:
    async def scenario() -> None:
        log = Log()
        link = ScriptedLink(log.respond)
        follower = follower_of(link)
        follower.start()
        await follower.caught_up()
        follower.stop()
        await asyncio.sleep(0)
        count = len(link.requests)
        await asyncio.sleep(0.01)
        assert len(link.requests) == count

    run(scenario())


def test_who_waits_and_fails_does_not_end_the_following(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        log = Log("a", "b")
        follower = follower_of(ScriptedLink(log.respond))
        called: list[str] = []

        def fail() -> None:
            called.append("first")
            raise ValueError

        follower.when_reached(0, fail)
        follower.when_reached(0, lambda: called.append("second"))
        follower.start()
        await log.idle.wait()
        assert called == ["first", "second"]
        assert set(follower.image.topics) == {"a", "b"}
        follower.stop()

    run(scenario())
    assert "a request could not be answered" in caplog.text
