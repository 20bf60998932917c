"""ZooKeeper as the journal and the election see it: one session, a tree of small nodes.

A port: the real one goes through kazoo, and a test or the simulator keeps the tree in memory.
Everything is called, and answers, on the owner's thread.  What is awaited here belongs to whoever
runs the coroutine: nothing in this room knows an event loop.
"""

# Exceptions are named for what happened, as ZooKeeper names them.
# ruff: noqa: N818

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

ANY_VERSION = -1


class ZooKeeperError(Exception):
    """ZooKeeper refused, or did not answer."""


class NoNode(ZooKeeperError):
    """There is no such node, or the parent of a new one is missing."""


class NodeExists(ZooKeeperError):
    """There is such a node already."""


class BadVersion(ZooKeeperError):
    """A node was changed since it was read."""


class NotEmpty(ZooKeeperError):
    """A node that has children is not deleted."""


class NotPermitted(ZooKeeperError):
    """The node's access list does not name us, or our credentials are wrong."""


class ConnectionLost(ZooKeeperError):
    """No answer came: whether it was done, nobody knows.  The session may live on."""


class SessionGone(ZooKeeperError):
    """The session has ended, and with it all that it held."""


class SessionState(enum.Enum):
    """How things stand between this process and ZooKeeper."""

    CONNECTED = enum.auto()
    SUSPENDED = enum.auto()
    """There is no connection; the session may still live."""
    GONE = enum.auto()
    """The session has ended.  A new one follows when a server can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """What stands in a node."""

    data: bytes
    version: int
    owner: int = 0
    """The session with which the node goes; 0 if it stays."""


@dataclass(frozen=True, slots=True)
class Check:
    """Do nothing, and all the rest only if the node has this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    data: bytes
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION


Step = Check | Create | Put | Delete


class ZooKeeper(Protocol):
    """One client with one session at a time; when one has ended, a new one begins by itself."""

    @property
    def session(self) -> int:
        """The id of the session; 0 while there is none."""

    async def connected(self) -> int:
        """Return the session's id when there is a connection, at once or later."""

    async def look(self, path: str, *, watch: Callable[[], None] | None = None) -> Znode | None:
        """What stands there now; None if there is no such node.

        `watch` is called once: when the node is made, changed or deleted, or when nobody looks
        after it any more because the connection was lost.
        """

    async def read(self, paths: Sequence[str]) -> list[bytes]:
        """The data of many nodes, in order.  `NoNode` if one is missing."""

    async def children(self, path: str) -> list[str]:
        """The names of a node's children, sorted."""

    async def write(self, *steps: Step) -> None:
        """All of it or nothing.  The error is that of the first step that cannot be done."""

    def listen(self, listener: Callable[[SessionState], None]) -> None:
        """Call `listener` whenever the state changes."""


class ZooKeeperClient(ZooKeeper, Protocol):
    """The same for whoever makes and ends it."""

    async def start(self) -> None:
        """Connect for the first time."""

    async def close(self) -> None:
        """End the session, and with it all that it held."""


async def ensure(zk: ZooKeeper, *paths: str) -> None:
    """Make nodes that stay, without data, where there are none.  Parents come first."""
    for path in paths:
        if await zk.look(path) is None:
            try:
                await zk.write(Create(path, b""))
            except NodeExists:
                pass  # somebody else was faster: it is there
