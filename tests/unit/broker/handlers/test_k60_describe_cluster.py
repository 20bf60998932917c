from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k60_describe_cluster import describe_cluster
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_whole_answer(world: Any, version: int) -> None:
    world.register(2, rack="r2")
    world.register(3, fenced=True)
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    assert world.call(describe_cluster, request, version) == DescribeClusterResponse(
        cluster_id="cluster-of-the-test-00",
        controller_id=1,
        brokers=[
            DescribeClusterBroker(broker_id=1, host="broker-1", port=9092),
            DescribeClusterBroker(broker_id=2, host="broker-2", port=9092, rack="r2"),
        ],
        cluster_authorized_operations=8096,
    )


def test_fenced_brokers_are_told_of_to_those_who_ask(world: Any) -> None:
    world.register(2, fenced=True)
    world.register(3, fenced=True, listeners=("INTERNAL",))
    request = DescribeClusterRequest(include_fenced_brokers=True)

    answer = world.call(describe_cluster, request, 2)

    assert [(node.broker_id, node.is_fenced) for node in answer.brokers] == [(1, False), (2, True)]


def test_operations_are_only_told_when_asked(world: Any) -> None:
    answer = world.call(describe_cluster, DescribeClusterRequest(), 1)

    assert answer.cluster_authorized_operations == -(2**31)


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_only_brokers_can_be_asked_for_here(
    world: Any, endpoint_type: int, error: ErrorCode
) -> None:
    answer = world.call(describe_cluster, DescribeClusterRequest(endpoint_type=endpoint_type), 1)

    assert answer.error_message
    answer.error_message = None
    assert answer == DescribeClusterResponse(error_code=error)
