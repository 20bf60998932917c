"""Fetch of the metadata log, as a broker sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from controller_world import CONTROLLER_ID, ControllerWorld, resolved

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k01_fetch import fetch
from barnabas.broker.dispatch import Later
from barnabas.controller.embedded_journal import TOPIC_ID
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)

PATIENCE_S = 30


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


def request(offset: int, epoch: int = -1, *, wait_ms: int = 0, **fields: Any) -> FetchRequest:
    at = FetchPartition(partition=0, fetch_offset=offset, last_fetched_epoch=epoch)
    return FetchRequest(
        replica_state=ReplicaState(replica_id=1),
        max_wait_ms=wait_ms,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[at])],
        **fields,
    )


def ask(world: ControllerWorld, asked: FetchRequest) -> Any:
    return fetch(world.part, world.context(17), asked)


def partition(answer: Any) -> Any:
    assert isinstance(answer, FetchResponse)
    assert answer.error_code == 0
    return answer.responses[0].partitions[0]


def active() -> ControllerWorld:
    world = ControllerWorld()
    world.part.activate()
    world.register(1)
    return world


def test_the_log_is_read_from_its_beginning_with_the_high_watermark_and_who_leads() -> None:
    async def scenario() -> None:
        world = active()
        found = partition(ask(world, request(0)))
        assert found.records
        assert found.high_watermark == world.part.active.controller.image.applied_offset + 1  # type: ignore[union-attr]
        leader = found.current_leader
        assert (leader.leader_id, leader.leader_epoch) == (CONTROLLER_ID, 1)

    run(scenario())


def test_at_the_end_the_answer_waits_for_the_next_commit() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        parked = ask(world, request(end, 1, wait_ms=60_000))
        assert resolved(parked) == []
        again = ask(world, request(end, 1, wait_ms=60_000))
        got: list[Any] = []
        again.when_done(got.append)
        world.register(2)
        assert partition(got[0]).records
        assert partition(got[0]).high_watermark > end

    run(scenario())


def test_when_the_time_is_up_the_answer_is_that_there_is_no_news() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        parked = ask(world, request(end, 1, wait_ms=1))
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        parked.when_done(answered.set_result)
        found = partition(await answered)
        assert (found.records, found.high_watermark) == (b"", end)

    run(scenario())


def test_a_client_that_has_gone_is_not_waited_for() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        parked = ask(world, request(end, 1, wait_ms=60_000))
        assert isinstance(parked, Later)
        got: list[Any] = []
        parked.when_done(got.append)
        parked.abandon()
        world.register(2)
        assert got == []

    run(scenario())


def test_after_a_restart_who_has_nothing_is_sent_to_a_snapshot_and_who_has_all_is_not() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        world.part.deactivate()
        world.part.activate()
        needed = partition(ask(world, request(0)))
        assert (needed.snapshot_id.end_offset, needed.snapshot_id.epoch) == (end, 1)
        current = partition(ask(world, request(end, 1)))
        assert (current.snapshot_id.end_offset, current.records) == (-1, b"")

    run(scenario())


def test_who_has_read_more_than_there_is_is_told_where_the_end_is() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        found = partition(ask(world, request(end + 5, 1, wait_ms=60_000)))
        assert (found.diverging_epoch.end_offset, found.diverging_epoch.epoch) == (end, 1)

    run(scenario())


def test_a_node_that_is_not_the_controller_says_so_also_to_those_who_wait() -> None:
    async def scenario() -> None:
        world = active()
        end = partition(ask(world, request(0))).high_watermark
        parked = ask(world, request(end, 1, wait_ms=60_000))
        got: list[Any] = []
        parked.when_done(got.append)
        world.part.deactivate()
        assert partition(got[0]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        now = partition(ask(world, request(0, wait_ms=60_000)))
        assert now.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(scenario())


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (request(0, cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (FetchRequest(), ErrorCode.INVALID_REQUEST),
        (
            FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition()])]),
            ErrorCode.INVALID_REQUEST,
        ),
        (
            FetchRequest(
                topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition=1)])]
            ),
            ErrorCode.INVALID_REQUEST,
        ),
    ],
    ids=["another cluster", "nothing", "another topic", "another partition"],
)
def test_nothing_else_can_be_fetched(asked: FetchRequest, code: ErrorCode) -> None:
    async def scenario() -> None:
        assert ask(active(), asked).error_code == code

    run(scenario())
