"""Who leads instead, told with the error to a client that asked the wrong broker (KIP-951).

It can go there at once, without asking for metadata first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.base.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import PartitionImage

MOVED = frozenset({int(ErrorCode.NOT_LEADER_OR_FOLLOWER), int(ErrorCode.FENCED_LEADER_EPOCH)})

Endpoint = TypeVar("Endpoint")


def tell_leaders(
    broker: Broker,
    listener: str,
    moved: Iterable[tuple[Any, PartitionImage | None]],
    endpoint_of: Callable[..., Endpoint],
) -> list[Endpoint]:
    """Note the leader in each of these answers; where those leaders are.

    `moved` are the answers with an error in `MOVED`, and their partitions; `endpoint_of` makes
    what the response has for a node.  Leaders that the client's listener does not reach are not
    told.
    """
    told: dict[int, Endpoint] = {}
    for answer, partition in moved:
        if partition is None or partition.leader == broker.node_id:
            continue
        leader = broker.image.brokers.get(partition.leader)
        endpoint = leader.endpoint(listener) if leader is not None and not leader.fenced else None
        if leader is None or endpoint is None:
            continue
        answer.current_leader.leader_id = leader.id
        answer.current_leader.leader_epoch = partition.leader_epoch
        told[leader.id] = endpoint_of(
            node_id=leader.id, host=endpoint.host, port=endpoint.port, rack=leader.rack
        )
    return list(told.values())
