"""A ZooKeeper in memory: a tree that several sessions share, with faults on demand.

It keeps the promises that the port states and no others.  Operations are done in the order in which
they are submitted; where a fault was ordered, they are done or not, and answered with
`ConnectionLost`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from barnabas.controller.zookeeper import (
    ANY_VERSION,
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Put,
    SessionState,
    Step,
    Znode,
    ZooKeeperError,
)

REQUEST_BYTES_MAX = 0xFFFFF
"""What a real server takes (jute.maxbuffer)."""


@dataclass
class MemoryServer:
    """The tree."""

    nodes: dict[str, Znode] = field(default_factory=dict)
    writes: int = 0
    _sessions: int = 0
    _watches: dict[str, list[tuple[MemoryZooKeeper, Callable[[], None]]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def new_session(self) -> int:
        self._sessions += 1
        return self._sessions

    def names(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted(
            name
            for other in self.nodes
            if other.startswith(prefix) and "/" not in (name := other[len(prefix) :])
        )

    def write(self, steps: Sequence[Step], session: int) -> None:
        assert sum(len(getattr(s, "data", b"")) + 100 for s in steps) < REQUEST_BYTES_MAX
        before = dict(self.nodes)
        try:
            for step in steps:
                self._do(step, session)
        except ZooKeeperError:
            self.nodes = before
            raise
        self.writes += 1
        for path in before.keys() | self.nodes.keys():
            if before.get(path) is not self.nodes.get(path):
                self._fire(path)

    def _do(self, step: Step, session: int) -> None:
        found = self.nodes.get(step.path)
        if isinstance(step, Create):
            if found is not None:
                raise NodeExists(step.path)
            parent = step.path.rpartition("/")[0]
            if parent and parent not in self.nodes:
                raise NoNode(parent)
            owner = session if step.ephemeral else 0
            self.nodes[step.path] = Znode(data=step.data, version=0, owner=owner)
            return
        if found is None:
            raise NoNode(step.path)
        if step.version not in (ANY_VERSION, found.version):
            raise BadVersion(step.path)
        match step:
            case Put():
                self.nodes[step.path] = Znode(
                    data=step.data, version=found.version + 1, owner=found.owner
                )
            case Delete():
                if self.names(step.path):
                    raise NotEmpty(step.path)
                del self.nodes[step.path]
            case Check():
                pass

    def watch(self, path: str, client: MemoryZooKeeper, watch: Callable[[], None]) -> None:
        self._watches[path].append((client, watch))

    def _fire(self, path: str) -> None:
        for _, watch in self._watches.pop(path, ()):
            asyncio.get_running_loop().call_soon(watch)

    def drop_watches(self, client: MemoryZooKeeper) -> None:
        for path in list(self._watches):
            for other, watch in self._watches.pop(path):
                if other is client:
                    asyncio.get_running_loop().call_soon(watch)
                else:
                    self._watches[path].append((other, watch))

    def end_session(self, session: int) -> None:
        for path in [p for p, node in self.nodes.items() if node.owner == session]:
            del self.nodes[path]
            self._fire(path)


class MemoryZooKeeper:
    """One client.  It is connected from the start."""

    def __init__(self, server: MemoryServer) -> None:
        self.server = server
        self.session = server.new_session()
        self.on_write: Callable[[Sequence[Step]], bool | None] = lambda steps: None
        """Says of a write that its answer gets lost: True after it was done, False before."""
        self._listeners: list[Callable[[SessionState], None]] = []
        self._connected = asyncio.Event()
        self._connected.set()

    async def connected(self) -> int:
        await self._connected.wait()
        return self.session

    async def look(self, path: str, *, watch: Callable[[], None] | None = None) -> Znode | None:
        await self._connected.wait()
        if watch is not None:
            self.server.watch(path, self, watch)
        return self.server.nodes.get(path)

    async def read(self, paths: Sequence[str]) -> list[bytes]:
        await self._connected.wait()
        missing = [path for path in paths if path not in self.server.nodes]
        if missing:
            raise NoNode(missing[0])
        return [self.server.nodes[path].data for path in paths]

    async def children(self, path: str) -> list[str]:
        await self._connected.wait()
        if path not in self.server.nodes:
            raise NoNode(path)
        return self.server.names(path)

    async def write(self, *steps: Step) -> None:
        await self._connected.wait()
        fate = self.on_write(steps)
        if fate is not False:
            self.server.write(steps, self.session)
        if fate is not None:
            self.disconnect()
            raise ConnectionLost

    def listen(self, listener: Callable[[SessionState], None]) -> None:
        self._listeners.append(listener)

    # Faults

    def disconnect(self) -> None:
        self._connected.clear()
        self.server.drop_watches(self)
        self._tell(SessionState.SUSPENDED)

    def reconnect(self) -> None:
        self._connected.set()
        self._tell(SessionState.CONNECTED)

    def expire(self) -> None:
        """The server gives the session up; this client hears of it when it connects again."""
        self.server.end_session(self.session)
        self.session = 0

    def come_back(self) -> None:
        """After `expire`: with a new session."""
        self.session = self.session or self.server.new_session()
        self._tell(SessionState.GONE)
        self.reconnect()

    def _tell(self, state: SessionState) -> None:
        for listener in self._listeners:
            asyncio.get_running_loop().call_soon(listener, state)
