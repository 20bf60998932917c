"""A ZooKeeper for simulated clusters: one tree, sessions that end, clients that lose touch.

The server is a machine of its own on the network, and never dies; links to it are cut like others,
and it may be out of reach for everybody for a while.  What a client asks is done in the order in
which it asks, at the time it arrives; the answer may get lost on its way back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.controller.zookeeper import (
    ANY_VERSION,
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    NodeExists,
    NoNode,
    NotEmpty,
    Put,
    SessionGone,
    SessionState,
    Step,
    Znode,
    ZooKeeperError,
)
from barnabas.lab.sim.process import CURRENT, OUTSIDE

if TYPE_CHECKING:
    from barnabas.lab.sim.network import Network
    from barnabas.lab.sim.process import Process

T = TypeVar("T")
MACHINE = "zookeeper"


class SimZooKeeperServer:
    """The tree, and who is in touch with it."""

    is_lax = False
    """Neither versions nor sessions are looked at, so that nobody is fenced: a planted bug."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.is_down = False
        """Out of everybody's reach; sessions are given their full time when it is back."""
        self._nodes: dict[str, Znode] = {}
        self._sessions: dict[int, tuple[float, float]] = {}
        """When each was last heard of, and how long it lives from then."""
        self._count = 0
        self._watches: dict[str, list[tuple[SimZooKeeper, Callable[[], None]]]] = {}
        self._outside = OUTSIDE.context()

    # -- sessions

    def begin(self, timeout_s: float) -> int:
        self._count += 1
        self._sessions[self._count] = 0.0, timeout_s
        self.touch(self._count)
        return self._count

    def touch(self, session: int) -> bool:
        """The session was heard of; False if it has ended."""
        if session not in self._sessions:
            return False
        now, (_, timeout_s) = self.network.loop.time(), self._sessions[session]
        self._sessions[session] = now, timeout_s
        self.network.loop.call_later(timeout_s, self._expire, session, context=self._outside)
        return True

    def _expire(self, session: int) -> None:
        heard, timeout_s = self._sessions.get(session, (0.0, 0.0))
        if session in self._sessions and self.network.loop.time() >= heard + timeout_s:
            if self.is_down:
                self.touch(session)
            else:
                self.end(session)

    def end(self, session: int) -> None:
        self._sessions.pop(session, None)
        for path in [path for path, node in self._nodes.items() if node.owner == session]:
            del self._nodes[path]
            self._fire(path)

    def is_reached_by(self, machine: str) -> bool:
        return not self.is_down and not self.network.is_cut(machine, MACHINE)

    # -- the tree

    def node(self, path: str) -> Znode | None:
        return self._nodes.get(path)

    def data(self, paths: Sequence[str]) -> list[bytes]:
        missing = [path for path in paths if path not in self._nodes]
        if missing:
            raise NoNode(missing[0])
        return [self._nodes[path].data for path in paths]

    def children(self, path: str) -> list[str]:
        if path not in self._nodes:
            raise NoNode(path)
        below = (each[len(path) + 1 :] for each in self._nodes if each.startswith(path + "/"))
        return sorted(name for name in below if "/" not in name)

    def write(self, steps: Sequence[Step], session: int) -> None:
        before = dict(self._nodes)
        try:
            for step in steps:
                self._do(step, session)
        except ZooKeeperError:
            self._nodes = before
            raise
        for path in sorted(before.keys() | self._nodes.keys()):
            if before.get(path) is not self._nodes.get(path):
                self._fire(path)

    def _do(self, step: Step, session: int) -> None:
        found = self._nodes.get(step.path)
        if isinstance(step, Create):
            parent = step.path.rpartition("/")[0]
            if found is not None:
                raise NodeExists(step.path)
            if parent and parent not in self._nodes:
                raise NoNode(parent)
            owner = session if step.ephemeral else 0
            self._nodes[step.path] = Znode(data=step.data, version=0, owner=owner)
            return
        if found is None:
            raise NoNode(step.path)
        if step.version not in (ANY_VERSION, found.version) and not self.is_lax:
            raise BadVersion(step.path)
        if isinstance(step, Put):
            version = found.version + 1
            self._nodes[step.path] = Znode(data=step.data, version=version, owner=found.owner)
        elif not isinstance(step, Check):
            if self.children(step.path):
                raise NotEmpty(step.path)
            del self._nodes[step.path]

    # -- watches

    def watch(self, path: str, client: SimZooKeeper, watch: Callable[[], None]) -> None:
        self._watches.setdefault(path, []).append((client, watch))

    def _fire(self, path: str) -> None:
        for client, watch in self._watches.pop(path, ()):
            client.tell(watch)

    def drop_watches(self, client: SimZooKeeper) -> None:
        for path, waiting in list(self._watches.items()):
            self._watches[path] = [each for each in waiting if each[0] is not client]
            for other, watch in waiting:
                if other is client:
                    client.tell(watch)


class SimZooKeeper:
    """One client (`ZooKeeperClient`), of the process that makes it."""

    def __init__(self, server: SimZooKeeperServer, *, timeout_s: float) -> None:
        self.session = 0
        self._server = server
        self._network = server.network
        self._loop = server.network.loop
        self._process: Process = CURRENT.get()
        self._context: Context = copy_context()
        self._outside = OUTSIDE.context()
        self._timeout_s = timeout_s
        self._connected = asyncio.Event()
        self._listeners: list[Callable[[SessionState], None]] = []
        self._arrival = 0.0
        """When the last request gets there: the next one is not faster."""
        self._beating: asyncio.Task[None] | None = None

    # -- life

    async def start(self) -> None:
        self._beating = self._loop.create_task(self._beat())
        await self._connected.wait()

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._is_reached:
            self._server.end(self.session)
        self._connected.clear()

    async def _beat(self) -> None:
        """Stay in touch; notice when that fails, and when the session has ended meanwhile."""
        silent_since = self._loop.time()
        while True:
            if self._is_reached:
                silent_since = self._loop.time()
                if not self._server.touch(self.session):
                    self._renew()
                if not self._connected.is_set():
                    self._connected.set()
                    self._say(SessionState.CONNECTED)
            elif self._loop.time() - silent_since > self._timeout_s / 2:
                self._disconnect()
            await asyncio.sleep(self._timeout_s / 6)

    def _renew(self) -> None:
        self._disconnect()
        if self.session:
            self._say(SessionState.GONE)
        self.session = self._server.begin(self._timeout_s)

    def _disconnect(self) -> None:
        if self._connected.is_set():
            self._connected.clear()
            self._server.drop_watches(self)
            self._say(SessionState.SUSPENDED)

    def _say(self, state: SessionState) -> None:
        for listener in self._listeners:
            self._loop.call_soon(listener, state)

    @property
    def _is_reached(self) -> bool:
        return self._server.is_reached_by(self._process.machine)

    # -- requests

    async def connected(self) -> int:
        await self._connected.wait()
        return self.session

    async def look(self, path: str, *, watch: Callable[[], None] | None = None) -> Znode | None:
        def look() -> Znode | None:
            if watch is not None:
                self._server.watch(path, self, watch)
            return self._server.node(path)

        return await self._ask(look)

    async def read(self, paths: Sequence[str]) -> list[bytes]:
        return await self._ask(lambda: self._server.data(paths))

    async def children(self, path: str) -> list[str]:
        return await self._ask(lambda: self._server.children(path))

    async def write(self, *steps: Step) -> None:
        session = self.session
        await self._ask(lambda: self._server.write(steps, session))

    def listen(self, listener: Callable[[SessionState], None]) -> None:
        self._listeners.append(listener)

    async def _ask(self, work: Callable[[], T]) -> T:
        await self._connected.wait()
        answered: asyncio.Future[T] = self._loop.create_future()
        session = self.session
        there = self._loop.time() + self._delay()
        self._arrival = max(self._arrival + 1e-9, there)
        self._loop.call_at(
            self._arrival, self._arrive, session, work, answered, context=self._outside
        )
        return await answered

    def _arrive(self, session: int, work: Callable[[], Any], answered: asyncio.Future[Any]) -> None:
        """At the server."""
        result: Any = None
        error: Exception | None = None
        if not self._is_reached or not self._process.is_alive:
            error = ConnectionLost()
        elif not self._server.touch(session) and not self._server.is_lax:
            error = SessionGone()
        else:
            try:
                result = work()
            except ZooKeeperError as refused:
                error = refused
        self._loop.call_later(
            self._delay(), self._answer, answered, result, error, context=self._context
        )

    def _answer(self, answered: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        if answered.done():
            return
        if error is None and not self._is_reached:
            error = ConnectionLost()
        if isinstance(error, ConnectionLost):
            self._disconnect()
        if error is None:
            answered.set_result(result)
        else:
            answered.set_exception(error)

    def tell(self, watch: Callable[[], None]) -> None:
        """A watch fires: the client hears of it some time later."""
        self._loop.call_later(self._delay(), watch, context=self._context)

    def _delay(self) -> float:
        return self._network.delay(self._process.machine, MACHINE)
