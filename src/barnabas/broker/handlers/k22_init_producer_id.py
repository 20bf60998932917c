"""InitProducerId: an identity for an idempotent producer.

Without a transactional id the answer is always a new producer id at epoch 0, also for a producer
that tells its present id and epoch (v3, KIP-360): it bumps its epoch itself and comes here only
when that is used up.  With one, the transaction coordinator answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.producer_ids import NO_PRODUCER_ID
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

NO_PRODUCER_EPOCH = -1


@handles(ApiKey.INIT_PRODUCER_ID, versions=(0, 5))
def init_producer_id(
    broker: Broker, ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Later:
    from barnabas.coordinator.txn.events import InitProducerId

    error = _problem(broker, request)
    if error is not ErrorCode.NONE:
        return _refused(error)
    later = Later()
    if request.transactional_id is not None:
        name, event = (
            request.transactional_id,
            InitProducerId(request=request, version=ctx.api_version),
        )
        broker.producer_ids.fill(
            broker, lambda: broker.transactions.schedule(name, event, later.resolve)
        )
        return later

    def taken(producer_id: int) -> None:
        if producer_id == NO_PRODUCER_ID:  # the client tries again
            later.resolve(_refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        else:
            later.resolve(InitProducerIdResponse(producer_id=producer_id, producer_epoch=0))

    broker.producer_ids.take(broker, taken)
    return later


def _problem(broker: Broker, request: InitProducerIdRequest) -> ErrorCode:
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch or request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return ErrorCode.NONE
    longest = broker.config.int("transaction.max.timeout.ms")
    if not 0 < request.transaction_timeout_ms <= longest:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=int(error), producer_epoch=NO_PRODUCER_EPOCH)
