from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k22_init_producer_id import init_producer_id
from barnabas.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from barnabas.protocol.messages.metadata_records import UnregisterBrokerRecord


def ask(**fields: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(**{"transactional_id": None, **fields})


def block(start: int, length: int) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=length)


def refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


def given(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def test_the_first_producers_wait_for_a_block_and_get_ids_in_turn(world: Any) -> None:
    first = world.begin(init_producer_id, ask(), 4)
    second = world.begin(init_producer_id, ask(), 0)

    epoch = world.image.brokers[1].epoch
    assert world.controller.submitted == [
        AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
    ]
    assert (first, second) == ([], [])
    world.controller.answer(block(5_000, 1_000))
    assert (first, second) == ([given(5_000)], [given(5_001)])


def test_ids_are_unique_over_blocks_and_the_next_block_is_asked_for_early(world: Any) -> None:
    answers = world.begin(init_producer_id, ask(), 4)
    world.controller.answer(block(0, 1_000))
    for _ in range(898):
        answers.append(world.call(init_producer_id, ask(), 4))
    assert len(world.controller.submitted) == 1
    answers.append(world.call(init_producer_id, ask(), 4))
    assert len(world.controller.submitted) == 2, "when a hundred are left"
    for _ in range(100):
        answers.append(world.call(init_producer_id, ask(), 4))

    assert len(world.controller.submitted) == 2, "asked for once"
    world.controller.answer(block(7_000, 1_000))
    answers.append(world.call(init_producer_id, ask(), 4))
    assert [a.producer_id for a in answers] == [*range(1_000), 7_000]


def test_blocks_smaller_than_the_crowd_are_asked_for_until_all_have_an_id(world: Any) -> None:
    crowd = [world.begin(init_producer_id, ask(), 4) for _ in range(3)]

    for start in (10, 20, 30):
        world.controller.answer(block(start, 1))

    assert crowd == [[given(10)], [given(20)], [given(30)]]


def test_a_refusal_makes_producers_try_again(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    answered = world.begin(init_producer_id, ask(), 4)
    world.controller.answer(AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))

    assert answered == [refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
    assert "STALE_BROKER_EPOCH" in caplog.text
    again = world.begin(init_producer_id, ask(), 4)
    world.controller.answer(block(3, 10))
    assert again == [given(3)]


def test_before_registration_there_are_no_ids(world: Any) -> None:
    epoch = world.image.brokers[1].epoch
    world.replay(UnregisterBrokerRecord(broker_id=1, broker_epoch=epoch))

    assert world.call(init_producer_id, ask(), 4) == refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert world.controller.submitted == []


def test_a_producer_whose_epochs_are_used_up_gets_a_new_id(world: Any) -> None:
    world.decide_for_real()

    assert world.call(init_producer_id, ask(), 5) == given(0)
    assert world.call(init_producer_id, ask(producer_id=0, producer_epoch=32_767), 5) == given(1)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "x"}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (
            {"transactional_id": "x", "transaction_timeout_ms": 900_001},
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ),
    ],
)
def test_what_is_refused(world: Any, fields: dict[str, Any], error: ErrorCode) -> None:
    assert world.call(init_producer_id, ask(**fields), 4) == refused(error)
    assert world.controller.submitted == []
