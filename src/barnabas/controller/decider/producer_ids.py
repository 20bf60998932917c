"""AllocateProducerIds: a broker gets a block of ids that nobody else will get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, code_for
from barnabas.controller.decider.broker_epochs import check_epoch
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.protocol.messages.metadata_records import ProducerIdsRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage

BLOCK = 1000


def decide(
    image: ClusterImage, request: AllocateProducerIdsRequest, now_ms: int, env: Environment
) -> Decision:
    """The next block; only for the current registration of a broker."""
    try:
        check_epoch(image, request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Decision(response=refuse(request, error))
    start = image.next_producer_id
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + BLOCK,
    )
    return Decision(
        records=(record,),
        response=AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK),
    )


def refuse(request: AllocateProducerIdsRequest, error: Exception) -> AllocateProducerIdsResponse:
    """The answer when nothing of the request could be done."""
    return AllocateProducerIdsResponse(error_code=code_for(error))
