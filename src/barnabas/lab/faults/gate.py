"""Where a node is reached: a port that stays the same, open while the node runs.

A port is held by a socket that is bound and does not listen: connecting is refused, as it is where
no broker runs, and nobody else gets the port meanwhile.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

HOST = "127.0.0.1"
CONTROLLER_ID = 100
"""The node that is only a controller."""
ZOOKEEPER_ID = -1
CLIENTS = -2
"""In place of a node: ZooKeeper; all clients."""
_NODE = re.compile(r"broker-(\d+)")


class Port:
    """A port of this machine that is ours until `close`, listened on or not.

    Whoever listens on it, this process or another, sets SO_REUSEADDR, as servers do.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((HOST, 0))
        self.number: int = self._socket.getsockname()[1]

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.number

    def listener(self) -> socket.socket:
        """A socket that listens on it."""
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, self.number))
        return made

    def close(self) -> None:
        self._socket.close()


class Gate:
    """One way to a node, which listens at `target`.  Opened and closed on the relays' thread.

    `is_for_nodes`: other nodes come this way, and say who they are by their client id; else
    clients.  `peer`: the one node that comes this way.  `is_raw`: what passes is not Kafka's.
    """

    def __init__(
        self,
        node: int,
        target: tuple[str, int],
        *,
        is_for_nodes: bool = False,
        peer: int | None = None,
        is_raw: bool = False,
    ) -> None:
        self.node = node
        self.target = target
        self.is_for_nodes = is_for_nodes
        self.peer = peer
        self.is_raw = is_raw
        self.port = Port()
        self.server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port.number}"

    def __str__(self) -> str:
        return f"node {self.node} at {self.address}"

    def node_called(self, client_id: str | None) -> int | None:
        """The node that calls itself so; None if that is none."""
        found = _NODE.match(client_id or "") if self.is_for_nodes else None
        return int(found[1]) if found else None

    def ends(self, peer: int | None) -> frozenset[int]:
        """The two that speak here, for cuts."""
        if peer is None:
            return frozenset((self.node, *(() if self.is_for_nodes else (CLIENTS,))))
        return frozenset((self.node, peer))
