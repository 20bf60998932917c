from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.protocol.messages.metadata_records import ProducerIdsRecord


def test_blocks_follow_each_other(single: Any) -> None:
    epoch = single.image.brokers[1].epoch
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)

    first = single.decide(request)
    assert first == Decision(
        records=(ProducerIdsRecord(broker_id=1, broker_epoch=epoch, next_producer_id=1000),),
        response=AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=1000),
    )
    single.replay(*first.records)

    assert single.do(request) == AllocateProducerIdsResponse(
        producer_id_start=1000, producer_id_len=1000
    )
    assert single.image.next_producer_id == 2000


@pytest.mark.parametrize(("broker_id", "epoch"), [(1, 99), (2, 0)])
def test_only_the_current_registration_gets_ids(single: Any, broker_id: int, epoch: int) -> None:
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)

    assert single.decide(request) == Decision(
        response=AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    )


def test_nothing_could_be_done_is_said_by_its_code() -> None:
    response = decider.refuse(AllocateProducerIdsRequest(), StorageFailed("full"))

    assert response == AllocateProducerIdsResponse(error_code=56)
