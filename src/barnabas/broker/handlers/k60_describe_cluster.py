"""DescribeCluster: the brokers of the cluster, as seen on the listener that was asked.

v1: the endpoint type says whether brokers or controllers are meant; here only brokers can be asked.
v2: brokers that are fenced are told of too, if asked for (KIP-1073).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.cluster_view import controller_id, known_brokers
from barnabas.broker.handlers.shared import CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

BROKERS, CONTROLLERS = 1, 2


@handles(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2))
def describe_cluster(
    broker: Broker, ctx: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=int(ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            error_message="This endpoint is a broker's: ask a controller about controllers.",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=int(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
            error_message=f"There is no endpoint type {request.endpoint_type}.",
        )
    image = broker.image
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=controller_id(image, broker.node_id),
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id,
                host=endpoint.host,
                port=endpoint.port,
                rack=node.rack,
                is_fenced=node.fenced,
            )
            for node, endpoint in known_brokers(image, ctx.listener.name)
            if request.include_fenced_brokers or not node.fenced
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else OPERATIONS_NOT_ASKED,
    )
