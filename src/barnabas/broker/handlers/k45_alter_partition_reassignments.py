"""AlterPartitionReassignments (KIP-455): replicas move, or stop moving; the controller decides.

Answered when the move has begun, not when it has ended: ListPartitionReassignments tells that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 0))
def alter_partition_reassignments(
    broker: Broker, ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> Message | Later:
    return forward(broker, request, timeout_ms=request.timeout_ms)
