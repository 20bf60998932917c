"""Leads clients of somebody else's cluster through relays: addresses in answers are exchanged.

The lab's own brokers advertise the relays themselves; others know nothing of them.  Versions that
are unknown here are not offered, so that every address can be found.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.protocol.apis import APIS, ApiKey

if TYPE_CHECKING:
    from barnabas.lab.faults.passing import Passing

Address = tuple[str, int]

KEYS = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.PRODUCE,
        ApiKey.FETCH,
    }
)
"""Answers with addresses in them, and the one that says which versions there are."""


def readdress(passing: Passing, gates: Mapping[int, Address]) -> bool:
    """Put the gates' addresses into an answer; whether anything in it was changed."""
    if passing.api.key == ApiKey.API_VERSIONS:
        return _offer_less(passing.message)
    changed = False
    for node, holder in _addresses(passing.message):
        gate = gates.get(node)
        if gate is not None and (holder.host, holder.port) != gate:
            holder.host, holder.port = gate
            changed = True
    return changed


def _addresses(message: Any) -> Iterator[tuple[int, Any]]:
    """Every structure that says where a node is, with the node."""
    if message.api_key == ApiKey.METADATA:
        yield from ((each.node_id, each) for each in message.brokers)
    elif message.api_key == ApiKey.DESCRIBE_CLUSTER:
        yield from ((each.broker_id, each) for each in message.brokers)
    elif message.api_key == ApiKey.FIND_COORDINATOR:
        yield from ((each.node_id, each) for each in (message, *message.coordinators))
    else:
        yield from ((each.node_id, each) for each in message.node_endpoints)


def _offer_less(message: Any) -> bool:
    changed = False
    for offered in message.api_keys:
        api = APIS.get(offered.api_key)
        if api is not None and offered.max_version > api.max_version:
            offered.max_version = api.max_version
            changed = True
    return changed
