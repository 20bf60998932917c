"""FindCoordinator: which broker is in charge of a group or a transactional id.

The internal topic is made when its first coordinator is asked for.

v1: the type of the key.  v3: flexible.  v4: several keys (KIP-699).  v6: share groups' keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, CoordinatorNotAvailable, ErrorCode, InvalidRequest
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.coordination import Coordination
    from barnabas.broker.state import Broker

GROUP, TRANSACTION = 0, 1
BATCH_SINCE = 4


@handles(ApiKey.FIND_COORDINATOR, versions=(0, 6))
def find_coordinator(
    broker: Broker, ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Later:
    keys = request.coordinator_keys if ctx.api_version >= BATCH_SINCE else [request.key]
    coordination = _coordination(broker, request.key_type)
    if coordination is None:
        error = InvalidRequest(f"There is no coordinator for keys of type {request.key_type}.")
        return _response(ctx, [_refused(key, error) for key in keys])
    later = Later()

    def ready(error: ApiError | None) -> None:
        found = [
            _refused(key, error) if error else _located(broker, ctx, coordination, key)
            for key in keys
        ]
        later.resolve(_response(ctx, found))

    coordination.with_topic(ready)
    return later


def _coordination(broker: Broker, key_type: int) -> Coordination | None:
    if key_type == GROUP:
        return broker.groups
    return broker.transactions if key_type == TRANSACTION else None


def _located(
    broker: Broker, ctx: RequestContext, coordination: Coordination, key: str
) -> Coordinator:
    state = broker.image.partition(coordination.topic, coordination.partition_of(key))
    leader = broker.image.brokers.get(state.leader) if state is not None else None
    endpoint = leader.endpoint(ctx.listener.name) if leader is not None else None
    if leader is None or leader.fenced or endpoint is None:
        return _refused(key, CoordinatorNotAvailable())
    return Coordinator(
        key=key, node_id=leader.id, host=endpoint.host, port=endpoint.port, error_message=None
    )


def _refused(key: str, error: ApiError) -> Coordinator:
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=error.message
    )


def _response(ctx: RequestContext, found: list[Coordinator]) -> FindCoordinatorResponse:
    if ctx.api_version >= BATCH_SINCE:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message or ErrorCode(only.error_code).name,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )
