"""The controller of a node: active or not, and brokers whose connection breaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from controller_world import ControllerWorld, Line, nobody_knows, resolved

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k62_broker_registration import broker_registration
from barnabas.broker.controller_handlers.k63_broker_heartbeat import broker_heartbeat
from barnabas.broker.controller_part import Probe
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest

CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t")])
PATIENCE_S = 30


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


def test_it_refuses_everything_until_it_is_the_controller_and_again_afterwards() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        for _ in range(2):
            answer = world.submit(CREATE)
            assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
            world.part.activate()
            world.register(1)
            world.part.deactivate()
        world.part.deactivate()
        assert world.submit(CREATE).topics[0].error_code == ErrorCode.NOT_CONTROLLER

    run(scenario())


def test_what_was_committed_is_there_when_it_is_the_controller_again_in_a_new_epoch() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        world.part.activate()
        world.register(1)
        assert world.part.active is not None
        first = world.part.active.epoch
        world.part.deactivate()

        controller = world.part.activate()

        assert world.part.active.epoch == first + 1
        assert set(controller.image.brokers) == {1}
        world.part.deactivate()

    run(scenario())


class Fencing:
    """Broker 1 was let in by a heartbeat on a connection."""

    def __init__(self, *, probe: Probe = nobody_knows, **settings: str) -> None:
        self.world = ControllerWorld(probe=probe, **settings)
        self.controller = self.world.part.activate()
        self.epoch = self.world.register(1)
        self.fenced = asyncio.Event()
        self.line = Line()
        self.beat(self.line)
        assert not self.controller.image.brokers[1].fenced
        self.controller.follow(self._changed)

    def beat(self, line: Line) -> None:
        broker_heartbeat(
            self.world.part, self.world.context(1, line), self.world.beat(1, self.epoch)
        )

    def _changed(self, image: Any, changes: Any) -> None:
        if image.brokers[1].fenced:
            self.fenced.set()


def test_a_broker_whose_connection_broke_is_fenced_after_the_grace() -> None:
    async def scenario() -> None:
        world = Fencing(controller_broker_grace_ms="1")
        world.line.lose()
        await world.fenced.wait()
        world.beat(Line())
        assert not world.controller.image.brokers[1].fenced

    run(scenario())


class Prober:
    """Finds out whether a process is dead when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def __call__(
        self, loop: asyncio.AbstractEventLoop, places: Any, *, grace_s: float
    ) -> bool:
        self.asked += places
        return await self.found


def test_a_broker_whose_connection_broke_and_whose_port_refuses_is_fenced_before() -> None:
    async def scenario() -> None:
        prober = Prober()
        world = Fencing(probe=prober, controller_broker_grace_ms="3600000")
        world.line.lose()
        await asyncio.sleep(0)
        assert prober.asked == [("h", 1)]
        assert not world.fenced.is_set()
        prober.found.set_result(True)
        await world.fenced.wait()

    run(scenario())


def test_a_broker_that_was_heard_while_it_was_probed_is_not_fenced() -> None:
    async def scenario() -> None:
        prober = Prober()
        world = Fencing(probe=prober, controller_broker_grace_ms="3600000")
        world.line.lose()
        await asyncio.sleep(0)
        world.beat(Line())
        prober.found.set_result(True)
        await asyncio.sleep(0.01)
        assert not world.fenced.is_set()

    run(scenario())


def test_a_deposed_controller_probes_no_more() -> None:
    async def scenario() -> None:
        prober = Prober()
        world = Fencing(probe=prober, controller_broker_grace_ms="3600000")
        world.line.lose()
        await asyncio.sleep(0)
        world.world.part.deactivate()
        await asyncio.sleep(0)
        assert prober.found.cancelled()

    run(scenario())


def test_a_controller_that_stood_still_listens_first() -> None:
    async def scenario() -> None:
        world = Fencing(controller_broker_grace_ms="10")
        world.line.lose()
        time.sleep(0.15)  # the loop runs nothing meanwhile; the heartbeat is in a buffer
        await asyncio.sleep(0)
        assert not world.fenced.is_set()
        world.beat(Line())
        await asyncio.sleep(0.03)
        assert not world.fenced.is_set()

    run(scenario())


@pytest.mark.parametrize("is_before", [True, False])
def test_a_broker_that_is_heard_on_another_connection_is_not_fenced(is_before: bool) -> None:
    async def scenario() -> None:
        world = Fencing(controller_broker_grace_ms="1")
        if is_before:
            world.beat(Line())
        world.line.lose()
        if not is_before:
            world.beat(Line())
        await asyncio.sleep(0.02)
        assert not world.fenced.is_set()

    run(scenario())


def test_a_broker_that_died_between_registration_and_heartbeat_can_register_again() -> None:
    async def scenario() -> None:
        world = ControllerWorld(controller_broker_grace_ms="1")
        world.part.activate()
        line = Line()
        for first_byte in b"ab":
            request = world.registration(1)
            request.incarnation_id = bytes([first_byte]) * 16
            while True:
                answer = broker_registration(world.part, world.context(4, line), request)
                (response,) = resolved(answer)
                if not response.error_code:
                    break
                assert response.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
                await asyncio.sleep(0.001)
            line.lose()
            line = Line()

    run(scenario())


def test_a_deposed_controller_fences_nobody() -> None:
    async def scenario() -> None:
        world = Fencing(controller_broker_grace_ms="1")
        world.line.lose()
        world.world.part.deactivate()
        await asyncio.sleep(0.02)
        assert not world.fenced.is_set()

    run(scenario())


def test_a_heartbeat_of_somebody_else_does_not_count() -> None:
    async def scenario() -> None:
        world = Fencing(controller_broker_grace_ms="1")
        stranger = Line()
        broker_heartbeat(
            world.world.part,
            world.world.context(1, stranger),
            world.world.beat(1, world.epoch + 1),
        )
        stranger.lose()
        await asyncio.sleep(0.02)
        assert not world.fenced.is_set()
        world.line.lose()
        await world.fenced.wait()

    run(scenario())
