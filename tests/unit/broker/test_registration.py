"""How a broker joins the cluster and leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_broker import NODE_ID, SmallBroker

from barnabas.base.errors import DuplicateBrokerRegistration, StaleBrokerEpoch
from barnabas.broker.registration import heartbeat, leave, register, registration_request
from barnabas.controller.decider.features import SUPPORTED
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path, broker_rack="r1", directories="one,two")
    yield made
    made.close()


def test_it_registers_then_asks_to_be_let_in_with_the_epoch_it_got(world: SmallBroker) -> None:
    world.controller.answers = [
        BrokerRegistrationResponse(broker_epoch=17),
        BrokerHeartbeatResponse(is_fenced=False),
    ]

    assert asyncio.run(register(world.broker, SUPPORTED)) == 17

    registration, beat = world.controller.submitted
    assert isinstance(registration, BrokerRegistrationRequest)
    assert (registration.broker_id, registration.cluster_id) == (NODE_ID, "cluster")
    assert registration.rack == "r1"
    (listener,) = registration.listeners
    assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "127.0.0.1", 9092)
    assert {feature.name for feature in registration.features} == set(SUPPORTED)
    assert registration.log_dirs == [directory.directory_id for directory in world.logs.directories]
    assert isinstance(beat, BrokerHeartbeatRequest)
    assert (beat.broker_epoch, beat.want_fence, beat.want_shut_down) == (17, False, False)


def test_the_epoch_of_a_clean_shutdown_is_told_if_every_directory_has_it(
    world: SmallBroker,
) -> None:
    one, two = world.logs.directories
    told = []
    for epochs in ((4, 4), (4, 5), (4, -1), (-1, -1)):
        one.clean_epoch, two.clean_epoch = epochs
        request = registration_request(world.config, "cluster", [], world.logs, SUPPORTED)
        told.append(request.previous_broker_epoch)

    assert told == [4, -1, -1, -1]


def test_leaving_is_asked_for_until_others_have_taken_over(
    world: SmallBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.broker.registration.LEAVE_RETRY_S", 0.001)
    world.controller.answers = [
        BrokerHeartbeatResponse(should_shut_down=done) for done in (False, False, True)
    ]

    asyncio.run(leave(world.broker))

    assert len(world.controller.submitted) == 3
    assert world.controller.answers == []


def test_each_start_is_another_incarnation(world: SmallBroker) -> None:
    for _ in range(2):
        world.controller.answers = [BrokerRegistrationResponse(), BrokerHeartbeatResponse()]
        asyncio.run(register(world.broker, SUPPORTED))

    ids = {
        request.incarnation_id
        for request in world.controller.submitted
        if isinstance(request, BrokerRegistrationRequest)
    }
    assert len(ids) == 2


def test_a_refusal_is_raised_as_what_it_is(world: SmallBroker) -> None:
    world.controller.answers = [BrokerRegistrationResponse(error_code=101)]

    with pytest.raises(DuplicateBrokerRegistration):
        asyncio.run(register(world.broker, SUPPORTED))


def test_a_heartbeat_in_an_old_epoch_is_raised(world: SmallBroker) -> None:
    world.controller.answers = [BrokerHeartbeatResponse(error_code=77)]

    with pytest.raises(StaleBrokerEpoch):
        asyncio.run(heartbeat(world.broker, 3))


@pytest.mark.parametrize("may_stop", [True, False])
def test_leaving_is_asked_for_and_the_controller_says_when(
    world: SmallBroker, may_stop: bool
) -> None:
    world.controller.answers = [BrokerHeartbeatResponse(should_shut_down=may_stop)]

    assert asyncio.run(heartbeat(world.broker, 3, leaving=True)) is may_stop

    (beat,) = world.controller.submitted
    assert isinstance(beat, BrokerHeartbeatRequest)
    assert (beat.broker_epoch, beat.want_shut_down) == (3, True)
