"""A snapshot of the metadata, in pieces."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from controller_world import ControllerWorld, resolved
from held_workers import HeldWorkers

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k01_fetch import fetch
from barnabas.broker.controller_handlers.k59_fetch_snapshot import fetch_snapshot
from barnabas.controller import journal_format as fmt
from barnabas.controller.embedded_journal import TOPIC_ID
from barnabas.controller.image import ClusterImage
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    RequestPartitionSnapshot,
    RequestTopicSnapshot,
    SnapshotId,
)

TOPIC = "__cluster_metadata"


def restarted(workers: HeldWorkers | None = None) -> ControllerWorld:
    """A controller that keeps no log of what was before."""
    world = ControllerWorld(workers=workers)
    world.part.activate()
    world.register(1)
    world.part.deactivate()
    world.part.activate()
    return world


def needed(world: ControllerWorld) -> Any:
    """The id of the snapshot that a broker without anything is sent to."""
    request = FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition()])])
    answer: Any = fetch(world.part, world.context(17), request)
    return answer.responses[0].partitions[0].snapshot_id


def ask(
    world: ControllerWorld, wanted: Any, position: int, *, max_bytes: int = 100, topic: str = TOPIC
) -> list[Any]:
    """Where the answer is, or will be."""
    asked = RequestPartitionSnapshot(
        snapshot_id=SnapshotId(end_offset=wanted.end_offset, epoch=wanted.epoch), position=position
    )
    request = FetchSnapshotRequest(
        max_bytes=max_bytes, topics=[RequestTopicSnapshot(name=topic, partitions=[asked])]
    )
    return resolved(fetch_snapshot(world.part, world.context(1), request))


def piece(world: ControllerWorld, wanted: Any, position: int, *, topic: str = TOPIC) -> Any:
    (answer,) = ask(world, wanted, position, topic=topic)
    return answer.topics[0].partitions[0]


def test_its_pieces_make_the_image() -> None:
    async def scenario() -> None:
        world = restarted()
        wanted = needed(world)
        got = b""
        while len(got) < (answer := piece(world, wanted, len(got))).size:
            assert (answer.error_code, answer.position) == (0, len(got))
            got += answer.unaligned_records
            if len(got) == answer.size:
                break
        image = ClusterImage("cluster")
        image.load_snapshot(
            fmt.decode_snapshot(got)[0], end_offset=wanted.end_offset, epoch=wanted.epoch
        )
        assert world.part.active is not None
        assert image == world.part.active.controller.image

    asyncio.run(scenario())


def test_it_stays_while_commits_go_on_and_is_made_anew_only_when_it_must_be() -> None:
    async def scenario() -> None:
        world = restarted()
        wanted = needed(world)
        world.register(2)
        assert needed(world) == wanted
        assert piece(world, wanted, 0).error_code == 0

    asyncio.run(scenario())


def test_what_cannot_be_had_is_said() -> None:
    async def scenario() -> None:
        world = restarted()
        wanted = needed(world)
        other = SnapshotId(end_offset=wanted.end_offset + 1, epoch=wanted.epoch)
        codes = [
            piece(world, other, 0).error_code,
            piece(world, wanted, 1 << 30).error_code,
            piece(world, wanted, 0, topic="t").error_code,
        ]
        assert codes == [
            ErrorCode.SNAPSHOT_NOT_FOUND,
            ErrorCode.POSITION_OUT_OF_RANGE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        world.part.deactivate()
        assert piece(world, wanted, 0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    asyncio.run(scenario())


def test_another_cluster_gets_nothing() -> None:
    async def scenario() -> None:
        world = restarted()
        request = FetchSnapshotRequest(cluster_id="other")
        (answer,) = resolved(fetch_snapshot(world.part, world.context(1), request))
        assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID

    asyncio.run(scenario())


def test_it_is_made_once_by_a_worker_and_who_asks_meanwhile_waits() -> None:
    async def scenario() -> None:
        workers = HeldWorkers()
        world = restarted(workers)
        wanted = needed(world)
        assert needed(world) == wanted
        answers = [ask(world, wanted, 0), ask(world, wanted, 10)]
        assert answers == [[], []]
        world.register(2)  # after it was named: it is not in it
        assert len(workers.held) == 1

        workers.run_one()

        pieces = [answer.topics[0].partitions[0] for (answer,) in answers]
        assert [one.error_code for one in pieces] == [0, 0]
        whole = ask(world, wanted, 0, max_bytes=1 << 20)[0].topics[0].partitions[0]
        records, _ = fmt.decode_snapshot(bytes(whole.unaligned_records))
        image = ClusterImage("cluster")
        image.load_snapshot(records, end_offset=wanted.end_offset, epoch=wanted.epoch)
        assert list(image.brokers) == [1]

    asyncio.run(scenario())


def test_who_waits_when_the_controller_is_deposed_is_told() -> None:
    async def scenario() -> None:
        workers = HeldWorkers()
        world = restarted(workers)
        waiting = ask(world, needed(world), 0)

        world.part.deactivate()

        (answer,) = waiting
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        workers.run_one()

    asyncio.run(scenario())


def test_a_snapshot_that_cannot_be_made_is_tried_again_for_the_next_who_needs_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        workers = HeldWorkers()
        world = restarted(workers)
        wanted = needed(world)
        waiting = ask(world, wanted, 0)
        with monkeypatch.context() as broken:
            broken.setattr(fmt, "encode_snapshot", lambda *_, **__: 1 / 0)
            workers.run_one()
        assert waiting[0].topics[0].partitions[0].error_code == ErrorCode.SNAPSHOT_NOT_FOUND
        assert "snapshot" in caplog.text

        assert needed(world) == wanted
        workers.run_one()
        assert piece(world, wanted, 0).error_code == 0

    asyncio.run(scenario())
