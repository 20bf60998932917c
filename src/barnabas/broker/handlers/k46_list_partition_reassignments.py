"""ListPartitionReassignments (KIP-455): which partitions are on the move.

The controller is asked, not this broker's own image, so that a move begun elsewhere is seen, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0))
def list_partition_reassignments(
    broker: Broker, ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> Message | Later:
    return forward(broker, request, timeout_ms=request.timeout_ms)
