"""A broker's place in a cluster, against a controller that is a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_link import ScriptedLink

from barnabas.base.errors import ErrorCode
from barnabas.base.settings import BrokerConfig
from barnabas.broker.membership import CannotJoin, Membership
from barnabas.controller.image import ClusterImage
from barnabas.protocol.message import Message
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)

PATIENCE_S = 30
REGISTRATION = BrokerRegistrationRequest(broker_id=1)
EPOCH = 7


class Follower:
    """An image that the test moves on."""

    def __init__(self) -> None:
        self.image = ClusterImage("cluster")
        self._waiting: list[tuple[int, Callable[[], None]]] = []

    def when_reached(self, offset: int, call: Callable[[], None]) -> None:
        self._waiting.append((offset, call))
        self._progress()

    def replay(self, *records: Message, offset: int) -> None:
        self.image.replay_run(records, offset=offset, epoch=1)
        self._progress()

    def _progress(self) -> None:
        ready = [call for offset, call in self._waiting if offset <= self.image.applied_offset]
        self._waiting = [one for one in self._waiting if one[0] > self.image.applied_offset]
        for call in ready:
            call()


class World:
    def __init__(self, *answers: Message | None, **settings: str) -> None:
        self.answers = list(answers)
        self.link = ScriptedLink(self._respond)
        self.follower = Follower()
        self.expelled = asyncio.Event()
        self.last_answer = asyncio.Event()
        self.membership = Membership(
            BrokerConfig.from_properties(
                {
                    "node.id": "1",
                    "broker.heartbeat.interval.ms": "1",
                    **{name.replace("_", "."): value for name, value in settings.items()},
                }
            ),
            asyncio.get_running_loop(),
            self.link,  # type: ignore[arg-type]
            self.follower,  # type: ignore[arg-type]
            on_expelled=self.expelled.set,
        )

    def _respond(self, request: Any) -> Message | None:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if len(self.answers) == 1:
            self.last_answer.set()
        return answer

    def beats(self) -> list[Any]:
        return self.link.sent(BrokerHeartbeatRequest)


def registered(error: ErrorCode = ErrorCode.NONE) -> Message:
    return BrokerRegistrationResponse(error_code=int(error), broker_epoch=EPOCH)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.membership.RETRY_S", 0.001)


def test_it_is_registered_when_this_broker_has_seen_its_registration() -> None:
    async def scenario() -> None:
        world = World(None, registered(ErrorCode.NOT_CONTROLLER), registered())
        task = asyncio.ensure_future(world.membership.register(REGISTRATION))
        await world.last_answer.wait()
        await asyncio.sleep(0)
        assert not task.done()
        world.follower.replay(offset=EPOCH)
        assert await task == EPOCH
        assert world.link.sent(BrokerRegistrationRequest) == [REGISTRATION] * 3

    run(scenario())


def test_a_dead_process_of_the_same_id_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        taken = registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        world = World(taken, taken, taken, registered())
        world.follower.replay(offset=EPOCH)
        assert await world.membership.register(REGISTRATION) == EPOCH

    run(scenario())
    assert caplog.text.count("another process is broker 1: waiting") == 1


def test_a_dead_process_is_waited_for_anew_when_the_controller_was_away() -> None:
    """A controller that comes back gives every session its full time again."""

    async def scenario() -> None:
        taken = registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        world = World(taken, None, taken, registered())
        world.membership._session_s = 9.0
        times = iter([0.0, 1.0, 10.5, 11.0, 12.0])
        real = world.membership._loop
        world.membership._loop = SimpleNamespace(  # type: ignore[assignment]
            time=lambda: next(times), call_later=real.call_later
        )
        world.follower.replay(offset=EPOCH)
        assert await world.membership.register(REGISTRATION) == EPOCH

    run(scenario())


def test_a_living_process_of_the_same_id_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = World(registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION))
        world.membership._session_s = -1.0
        with pytest.raises(CannotJoin, match=r"^another process is broker 1 of this cluster"):
            await world.membership.register(REGISTRATION)

    run(scenario())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (registered(ErrorCode.INCONSISTENT_CLUSTER_ID), "the controller refuses broker 1: "),
        (None, "broker 1 could not register: no controller answers."),
    ],
    ids=["refused", "alone"],
)
def test_what_will_not_change_by_waiting_is_the_end(answer: Message | None, text: str) -> None:
    async def scenario() -> None:
        world = World(answer, initial_broker_registration_timeout_ms="5")
        with pytest.raises(CannotJoin) as refusal:
            await world.membership.register(REGISTRATION)
        assert str(refusal.value).startswith(text)

    run(scenario())


def test_it_is_in_when_it_has_seen_that_it_is_let_in() -> None:
    async def scenario() -> None:
        fenced = BrokerHeartbeatResponse(is_fenced=True)
        world = World(None, fenced, BrokerHeartbeatResponse(is_fenced=False))
        world.follower.replay(RegisterBrokerRecord(broker_id=1, broker_epoch=EPOCH), offset=7)
        task = asyncio.ensure_future(world.membership.enter())
        await world.last_answer.wait()
        world.follower.replay(offset=8)  # something else
        await asyncio.sleep(0)
        assert not task.done()
        change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=EPOCH, fenced=-1)
        world.follower.replay(change, offset=9)
        await task
        assert world.beats()[0].current_metadata_offset == 7
        assert not world.beats()[0].want_fence

    run(scenario())


def test_a_broker_that_was_unregistered_on_its_way_in_registers_again() -> None:
    async def scenario() -> None:
        stale = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
        world = World(registered(), stale, registered(), BrokerHeartbeatResponse(is_fenced=False))
        epochs: list[int] = []
        world.membership.on_epoch = epochs.append
        world.follower.replay(
            RegisterBrokerRecord(broker_id=1, broker_epoch=EPOCH, fenced=False), offset=EPOCH
        )
        await world.membership.register(REGISTRATION)
        await world.membership.enter()
        assert epochs == [EPOCH]

    run(scenario())


def test_heartbeats_go_on_whatever_is_answered() -> None:
    async def scenario() -> None:
        well = BrokerHeartbeatResponse(is_fenced=False)
        error = BrokerHeartbeatResponse(error_code=int(ErrorCode.NOT_CONTROLLER))
        world = World(well, None, error, well, well)
        world.membership.keep()
        await world.last_answer.wait()
        world.membership.stop()
        count = len(world.beats())
        await asyncio.sleep(0.01)
        assert len(world.beats()) <= count + 1
        assert not world.expelled.is_set()

    run(scenario())


def test_a_controller_that_was_found_again_hears_of_it_at_once() -> None:
    async def scenario() -> None:
        world = World(BrokerHeartbeatResponse(), broker_heartbeat_interval_ms="600000")
        world.membership.beat_now()  # not in yet: nothing to say
        assert world.beats() == []
        world.membership.keep()
        world.membership.beat_now()
        await world.last_answer.wait()
        assert len(world.beats()) == 1
        world.membership.stop()

    run(scenario())


def test_a_broker_that_the_controller_does_not_know_registers_again_with_what_it_said() -> None:
    async def scenario() -> None:
        stale = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
        epochs: list[int] = []
        world = World(registered(), stale, registered(), BrokerHeartbeatResponse())
        world.membership.on_epoch = epochs.append
        world.follower.replay(offset=EPOCH)
        await world.membership.register(REGISTRATION)
        world.membership.keep()
        await world.last_answer.wait()
        world.membership.stop()
        assert world.link.sent(BrokerRegistrationRequest) == [REGISTRATION] * 2
        assert epochs == [EPOCH]

    run(scenario())


def test_a_broker_that_may_not_register_again_says_why_once_and_tries_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        stale = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
        foreign = registered(ErrorCode.INCONSISTENT_CLUSTER_ID)
        answers = [stale, foreign, stale, foreign, stale, registered(), BrokerHeartbeatResponse()]
        world = World(registered(), *answers)
        world.follower.replay(offset=EPOCH)
        await world.membership.register(REGISTRATION)
        world.membership.keep()
        await world.last_answer.wait()
        world.membership.stop()

    run(scenario())
    assert caplog.messages == [
        "the controller does not know this registration: registering again",
        f"the controller refuses broker 1: {ErrorCode.INCONSISTENT_CLUSTER_ID.text}",
    ]


def test_a_broker_whose_place_is_taken_stops() -> None:
    async def scenario() -> None:
        stale = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
        taken = registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        world = World(registered(), stale, taken)
        world.follower.replay(offset=EPOCH)
        await world.membership.register(REGISTRATION)
        world.membership.keep()
        await world.expelled.wait()

    run(scenario())


def test_it_leaves_when_it_is_told_that_nobody_needs_it() -> None:
    async def scenario() -> None:
        not_yet = BrokerHeartbeatResponse(should_shut_down=False)
        world = World(not_yet, None, not_yet, BrokerHeartbeatResponse(should_shut_down=True))
        assert await world.membership.leave()
        assert [beat.want_shut_down for beat in world.beats()] == [True] * 4

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [None, BrokerHeartbeatResponse(error_code=77), BrokerHeartbeatResponse()],
    ids=["no controller", "an error", "never told"],
)
def test_it_does_not_wait_for_ever_to_leave(
    answer: Message | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.broker.membership.LEAVE_S_MAX", 0.02)
    monkeypatch.setattr("barnabas.broker.membership.UNHEARD_S_MAX", 0.01)

    async def scenario() -> None:
        assert not await World(answer).membership.leave()

    run(scenario())
