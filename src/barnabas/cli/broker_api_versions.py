"""`kafka-broker-api-versions`: which requests the brokers answer, in which versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, ZOOKEEPER, client_properties
from barnabas.cli.options import Parsed
from barnabas.cli.printing import show

if TYPE_CHECKING:
    from barnabas.client.cluster_admin import ClusterAdmin, Endpoint

Ranges = Mapping[int, tuple[int, int]]

NEWER = {
    74: "ListConfigResources",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
}
"""Requests of clients that are younger than Kafka 4.0, or have another name since."""


def run(args: Parsed) -> int:
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.cluster_admin import ClusterAdmin

    with ClusterAdmin.connect(properties) as admin:
        found = [(each, _ranges(admin, each.node_id)) for each in admin.view().endpoints]
    show(
        args,
        lines=lambda: [line for row in found for line in broker_lines(*row)],
        document=lambda: [broker_json(*row) for row in found],
    )
    return 1 if any(isinstance(told, str) for _, told in found) else 0


def _ranges(admin: ClusterAdmin, node_id: int) -> Ranges | str:
    """What a broker answers, or why it does not: the others are shown all the same."""
    from barnabas.client.errors import ClientError

    try:
        return admin.versions(node_id).ranges
    except ClientError as error:
        return str(error)


def names() -> dict[int, str]:
    """Of all requests that clients send."""
    from barnabas.protocol.apis import APIS

    known = {int(key): api.name for key, api in APIS.items() if "broker" in api.listeners}
    return known | NEWER


def broker_lines(endpoint: Endpoint, told: Ranges | str) -> list[str]:
    fenced = "true" if endpoint.is_fenced else "false"
    heading = (
        f"{endpoint.host}:{endpoint.port} "
        f"(id: {endpoint.node_id} rack: {endpoint.rack or 'null'} isFenced: {fenced}) -> "
    )
    if isinstance(told, str):
        return [f"{heading}ERROR: {told}"]
    known = names()
    rows = [
        f"\t{known.get(key, 'UNKNOWN')}({key}): {_range_text(key, told.get(key))}"
        for key in sorted(known.keys() | told.keys())
    ]
    return [f"{heading}(", *(f"{row}," for row in rows[:-1]), *rows[-1:], ")"]


def _range_text(key: int, versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "UNSUPPORTED"
    low, high = versions
    text = str(low) if low == high else f"{low} to {high}"
    if key not in names():
        return text
    most = usable(key, versions)
    if most is not None:
        return f"{text} [usable: {most}]"
    return f"{text} [unusable: {'node too new' if low > 0 else 'node too old'}]"


def usable(key: int, versions: tuple[int, int]) -> int | None:
    """The newest version that the broker and these tools both know."""
    from barnabas.protocol.apis import APIS, ApiKey

    if key not in list(ApiKey):
        return None
    api = APIS[ApiKey(key)]
    most = min(versions[1], api.max_version)
    return most if most >= max(versions[0], api.min_version) else None


def broker_json(endpoint: Endpoint, told: Ranges | str) -> dict[str, Any]:
    known = names()
    ranges: Ranges = {} if isinstance(told, str) else told
    return {
        "id": endpoint.node_id,
        "host": endpoint.host,
        "port": endpoint.port,
        "rack": endpoint.rack,
        "error": told if isinstance(told, str) else None,
        "apis": [
            {
                "name": known.get(key),
                "key": key,
                "min_version": ranges[key][0],
                "max_version": ranges[key][1],
                "usable_version": usable(key, ranges[key]),
            }
            for key in sorted(ranges)
        ],
    }


COMMAND = Command(
    summary="Show which requests the brokers answer, and in which versions.",
    examples=("", "--json"),
    options=(BOOTSTRAP, ZOOKEEPER, COMMAND_CONFIG, JSON),
    run=run,
    notes=("usable is the newest version that the broker and these tools both know.",),
)
