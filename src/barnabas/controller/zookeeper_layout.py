"""Where things are in ZooKeeper, and what stands there.  Pure.

    /controller                 who the controller is; goes with its session
    /controller_epoch           how many controllers there were; its version fences their writes
    /cluster/id                 the cluster's id
    /brokers/ids/<id>           a broker that runs; goes with its session
    /barnabas/origin            whose journal it began with, if it was somebody's
    /barnabas/head              up to where the journal is committed, and its newest snapshot
    /barnabas/log/<offset>-<n>  the n-th part of what one commit wrote, from that offset on
    /barnabas/snapshots/<end offset>-<epoch>/<n>   the n-th part of a snapshot

The first four are as Apache Kafka with ZooKeeper writes them, for people who know where to look.
Journal and snapshots have the bytes of `journal_format`, cut into parts that ZooKeeper takes: it
refuses a request of a mebibyte.  What `head` does not cover was never committed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.base.errors import StorageFailed

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
ROOT = "/barnabas"
HEAD = f"{ROOT}/head"
LOG = f"{ROOT}/log"
SNAPSHOTS = f"{ROOT}/snapshots"

PERSISTENT = ("/cluster", "/brokers", BROKER_IDS, ROOT, LOG, SNAPSHOTS)
"""Nodes that are always there, parents first."""

PART_BYTES_MAX = 512 * 1024
"""Half of what a ZooKeeper server takes in one request, unless it was told otherwise."""

_ENTRY = re.compile(r"(\d{20})-(\d{5})", re.ASCII)
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What of the journal counts."""

    end_offset: int = 0
    epoch: int = 0
    """Of the last record."""
    snapshot: str | None = None
    """The name of the snapshot from which a reader starts."""

    def encode(self) -> bytes:
        fields = {
            "version": 1,
            "end_offset": self.end_offset,
            "epoch": self.epoch,
            "snapshot": self.snapshot,
        }
        return json.dumps(fields).encode()

    @classmethod
    def decode(cls, data: bytes) -> Head:
        fields = decode_json(HEAD, data)
        if fields.get("version") != 1:
            raise StorageFailed(f"{HEAD} was written by a newer release: {data!r}")
        return cls(
            end_offset=fields["end_offset"], epoch=fields["epoch"], snapshot=fields["snapshot"]
        )


def decode_json(path: str, data: bytes) -> dict[str, Any]:
    """The object that stands at `path`."""
    try:
        fields = json.loads(data)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise StorageFailed(f"what stands at {path} in ZooKeeper is no JSON object: {data!r}")
    return fields


# The journal.


class Entry(NamedTuple):
    """The name of a part of the journal."""

    base_offset: int
    part: int

    @property
    def path(self) -> str:
        return f"{LOG}/{self.base_offset:020}-{self.part:05}"


def entries(names: Sequence[str]) -> list[Entry]:
    """The parts of the journal among `names`, in order."""
    found = (_ENTRY.fullmatch(name) for name in names)
    return sorted(Entry(int(match[1]), int(match[2])) for match in found if match)


def snapshot_name(end_offset: int, epoch: int) -> str:
    return f"{end_offset:020}-{epoch:010}"


def snapshot_id(name: str) -> tuple[int, int]:
    """End offset and epoch."""
    match = _SNAPSHOT.fullmatch(name)
    if match is None:
        raise StorageFailed(f'"{name}" in ZooKeeper is not the name of a snapshot')
    return int(match[1]), int(match[2])


def snapshot_part(name: str, part: int) -> str:
    return f"{SNAPSHOTS}/{name}/{part:05}"


def pieces(data: bytes, size: int = PART_BYTES_MAX) -> Iterator[bytes]:
    """`data` in parts that a node can hold."""
    return (data[start : start + size] for start in range(0, len(data), size))


# What people look at.


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a node can be reached."""

    listener: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerNode:
    """What `/controller` says."""

    node_id: int
    endpoints: tuple[Endpoint, ...]

    def encode(self, now_ms: int) -> bytes:
        fields = {
            "version": 1,
            "brokerid": self.node_id,
            "timestamp": str(now_ms),
            **_endpoints(self.endpoints),
        }
        return json.dumps(fields).encode()

    @classmethod
    def decode(cls, data: bytes) -> ControllerNode:
        fields = decode_json(CONTROLLER, data)
        return cls(node_id=int(fields["brokerid"]), endpoints=_read_endpoints(fields))


def broker_path(node_id: int) -> str:
    return f"{BROKER_IDS}/{node_id}"


def encode_broker(endpoints: Sequence[Endpoint], *, rack: str | None, now_ms: int) -> bytes:
    """What `/brokers/ids/<id>` says; `host` and `port` are of the first plain listener."""
    plain = next((point for point in endpoints if point.security_protocol == "PLAINTEXT"), None)
    fields = {
        "version": 5,
        **_endpoints(endpoints),
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": -1,
        "timestamp": str(now_ms),
        "features": {},
    }
    if rack is not None:
        fields["rack"] = rack
    return json.dumps(fields).encode()


def encode_cluster_id(cluster_id: str) -> bytes:
    return json.dumps({"version": "1", "id": cluster_id}).encode()


def decode_cluster_id(data: bytes) -> str:
    return str(decode_json(CLUSTER_ID, data)["id"])


def _endpoints(endpoints: Sequence[Endpoint]) -> dict[str, object]:
    return {
        "listener_security_protocol_map": {
            point.listener: point.security_protocol for point in endpoints
        },
        "endpoints": [str(point) for point in endpoints],
    }


def _read_endpoints(fields: dict[str, Any]) -> tuple[Endpoint, ...]:
    protocols = fields.get("listener_security_protocol_map", {})
    found = []
    for text in fields.get("endpoints", ()):
        listener, _, address = text.partition("://")
        host, _, port = address.rpartition(":")
        found.append(
            Endpoint(
                listener=listener,
                security_protocol=protocols.get(listener, listener),
                host=host.strip("[]"),
                port=int(port),
            )
        )
    return tuple(found)
