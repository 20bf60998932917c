"""AddOffsetsToTxn: a transaction will commit positions of a group.

The partition of `__consumer_offsets` that is in charge of the group joins the transaction.

v2: PRODUCER_FENCED.  v3: flexible.  v4: TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4))
def add_offsets_to_txn(
    broker: Broker, ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> Later:
    from barnabas.coordinator.txn.events import AddOffsets
    from barnabas.coordinator.txn.machine import TopicPartition

    later = Later()

    def ready(error: ApiError | None) -> None:
        if error is not None:
            later.resolve(AddOffsetsToTxnResponse(error_code=error.code))
            return
        groups = broker.groups
        event = AddOffsets(
            request=request,
            version=ctx.api_version,
            partition=TopicPartition(groups.topic, groups.partition_of(request.group_id)),
        )
        broker.transactions.schedule(request.transactional_id, event, later.resolve)

    broker.groups.with_topic(ready)
    return later
