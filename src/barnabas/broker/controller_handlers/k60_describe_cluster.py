"""DescribeCluster, at a controller: where the controller is (KIP-919)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.k60_describe_cluster import CONTROLLERS
from barnabas.broker.handlers.shared import CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart

SINCE = 1
"""Version 0 cannot say whom it means: brokers."""


@handles(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), on=CONTROLLER)
def describe_cluster(
    part: ControllerPart, ctx: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if ctx.api_version < SINCE or request.endpoint_type != CONTROLLERS:
        return DescribeClusterResponse(
            error_code=int(ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            error_message="This endpoint is a controller's: ask a broker about brokers.",
        )
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=part.cluster_id,
        controller_id=part.node_id if part.active is not None else -1,
        brokers=[
            DescribeClusterBroker(
                broker_id=part.node_id,
                host=ctx.listener.advertised_host,
                port=ctx.listener.advertised_port,
            )
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else OPERATIONS_NOT_ASKED,
    )
