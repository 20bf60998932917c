"""A session with ZooKeeper, through kazoo.

kazoo has threads of its own: one for the connection, two for callbacks.  Nothing of ours runs there
but handing results over: every answer, watch and change of state reaches the event loop by
`call_soon_threadsafe`, in the order in which kazoo saw them.  Everything here is called on the loop
thread.  kazoo is imported when a session is made: a broker without ZooKeeper never loads it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.broker.membership import CannotJoin
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper import (
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    NotPermitted,
    Put,
    SessionGone,
    SessionState,
    Step,
    Znode,
    ZooKeeperError,
    ensure,
)

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig

logger = logging.getLogger("barnabas.zookeeper")

READS_MAX = 200
"""Reads under way at the same time."""
HANDSHAKE_S_MAX = 3.0
"""How long a server that accepts a connection may take to say so.  One that is just starting may
never: it forgets who came too early, and does not hang up either."""
CLOSE_TIMEOUT_S = 2.0
RECONNECT = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 1.0}


class NoZooKeeper(CannotJoin):
    """ZooKeeper cannot be used; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """Where ZooKeeper is, and how to speak to it."""

    servers: str
    root: str = ""
    """The path below which everything is; empty: there is nothing else in that ZooKeeper."""
    session_timeout_s: float = 18.0
    connection_timeout_s: float = 18.0
    digest: str | None = field(default=None, repr=False)
    set_acl: bool = False

    @classmethod
    def of(cls, config: BrokerConfig) -> ZooKeeperSettings:
        text = config.optional_str("zookeeper.connect") or ""
        servers, slash, path = text.partition("/")
        if not all(_is_address(server) for server in servers.split(",")):
            raise NoZooKeeper(f'zookeeper.connect: "{text}" is not host:port,host:port.../path')
        session_ms = config.int("zookeeper.session.timeout.ms")
        connection_ms = config.optional_int("zookeeper.connection.timeout.ms")
        digest = config.optional_str("zookeeper.digest.auth")
        if digest is not None and ":" not in digest:
            raise NoZooKeeper("zookeeper.digest.auth is not name:password")
        if config.bool("zookeeper.set.acl") and digest is None:
            raise NoZooKeeper("zookeeper.set.acl needs zookeeper.digest.auth: whom to permit?")
        return cls(
            servers=servers,
            root=(slash + path).rstrip("/"),
            session_timeout_s=session_ms / 1000,
            connection_timeout_s=(connection_ms or session_ms) / 1000,
            digest=digest,
            set_acl=config.bool("zookeeper.set.acl"),
        )


def _hosts(settings: ZooKeeperSettings) -> str:
    """The servers, each as often as it takes: kazoo gives the handshake the whole session, divided
    by the number of servers, and of a session that was spent on one handshake nothing is left."""
    servers = settings.servers.split(",")
    handshakes = math.ceil(settings.session_timeout_s / HANDSHAKE_S_MAX)
    return ",".join(servers * max(1, math.ceil(handshakes / len(servers))))


def _is_address(text: str) -> bool:
    host, _, port = text.strip().rpartition(":")
    return bool(host or port) and (not host or port.isdecimal())


class ZooKeeperSession:
    """The `ZooKeeper` port.  `start`, then `close`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, settings: ZooKeeperSettings) -> None:
        from kazoo.client import KazooClient

        self._loop = loop
        self._settings = settings
        self._root = settings.root
        self._state = SessionState.GONE
        self._session = 0
        self._closed = False
        self._waiters: list[asyncio.Future[None]] = []
        self._listeners: list[Callable[[SessionState], None]] = []
        quiet = logging.getLogger("barnabas.zookeeper.kazoo")
        if not logger.isEnabledFor(logging.DEBUG):
            quiet.setLevel(logging.CRITICAL)  # what matters of it is said here
        self._client: Any = KazooClient(
            hosts=_hosts(settings),
            timeout=settings.session_timeout_s,
            auth_data=[("digest", settings.digest)] if settings.digest else None,
            connection_retry=RECONNECT,
            logger=quiet,
        )
        self._client.add_listener(self._kazoo_changed)

    async def start(self) -> None:
        """Connect.  `NoZooKeeper` if that takes too long, or what is there cannot be used."""
        self._client.start_async()
        try:
            await asyncio.wait_for(self.connected(), self._settings.connection_timeout_s)
            parts = self._root.split("/")[1:]
            paths = ["/" + "/".join(parts[: n + 1]) for n in range(len(parts))]
            self._root = ""
            await ensure(self, *paths)
        except TimeoutError:
            await self.close()
            raise NoZooKeeper(
                f"no ZooKeeper at {self._settings.servers} has answered within "
                f"{self._settings.connection_timeout_s:g} s"
            ) from None
        except ZooKeeperError as error:
            await self.close()
            raise NoZooKeeper(
                f"ZooKeeper at {self._settings.servers}: {type(error).__name__} {error}"
            ) from None
        finally:
            self._root = self._settings.root

    async def close(self) -> None:
        """End the session, so that all it held is gone at once; waits only a moment for that."""
        self._closed = True
        ended = self._loop.create_future()

        def stop() -> None:
            try:
                self._client.stop()
                self._client.close()
            except Exception as error:
                logger.debug("the session with ZooKeeper was not closed cleanly: %s", error)
            self._loop.call_soon_threadsafe(_settle, ended, None, None)

        threading.Thread(target=stop, name="zookeeper-close", daemon=True).start()
        await asyncio.wait([ended], timeout=CLOSE_TIMEOUT_S)

    # The state

    @property
    def session(self) -> int:
        return self._session

    async def connected(self) -> int:
        while self._state is not SessionState.CONNECTED:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter
        return self._session

    def listen(self, listener: Callable[[SessionState], None]) -> None:
        self._listeners.append(listener)

    def _kazoo_changed(self, state: str) -> None:
        """On kazoo's thread."""
        if not self._closed:
            client_id = self._client.client_id
            self._loop.call_soon_threadsafe(
                self._changed, _STATES[state], client_id[0] if client_id else 0
            )

    def _changed(self, state: SessionState, session: int) -> None:
        self._state = state
        if state is SessionState.CONNECTED:
            logger.info("connected to ZooKeeper at %s", self._settings.servers)
            self._session = session
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                _settle(waiter, None, None)
        elif state is SessionState.GONE:
            logger.warning("the session with ZooKeeper has ended")
            self._session = 0
        else:
            logger.warning("the connection to ZooKeeper is lost")
        for listener in self._listeners:
            listener(state)

    # The tree

    async def look(self, path: str, *, watch: Callable[[], None] | None = None) -> Znode | None:
        client, full = self._client, self._root + path
        watcher = None if watch is None else self._watcher(watch)
        with _translated(path):
            if await self._ask(client.exists_async(full, watch=watcher)) is None:
                return None
            try:
                data, stat = await self._ask(client.get_async(full))
            except _kazoo().NoNodeError:
                return None  # it went in between, and the watch was called
            return Znode(data=data, version=stat.version, owner=stat.ephemeralOwner)

    def _watcher(self, watch: Callable[[], None]) -> Callable[[object], None]:
        def changed(event: object) -> None:
            """On kazoo's thread."""
            if not self._closed:
                self._loop.call_soon_threadsafe(watch)

        return changed

    async def read(self, paths: Sequence[str]) -> list[bytes]:
        found: list[bytes] = []
        for first in range(0, len(paths), READS_MAX):
            group = paths[first : first + READS_MAX]
            asked = [self._ask(self._client.get_async(self._root + path)) for path in group]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            for path, answer in zip(group, answers, strict=True):
                with _translated(path):
                    if isinstance(answer, BaseException):
                        raise answer
                    found.append(answer[0])
        return found

    async def children(self, path: str) -> list[str]:
        with _translated(path):
            return sorted(await self._ask(self._client.get_children_async(self._root + path)))

    async def write(self, *steps: Step) -> None:
        transaction = self._client.transaction()
        for step in steps:
            full = self._root + step.path
            match step:
                case Create():
                    transaction.create(
                        full, step.data, acl=self._acl(step.path), ephemeral=step.ephemeral
                    )
                case Put():
                    transaction.set_data(full, step.data, version=step.version)
                case Delete():
                    transaction.delete(full, version=step.version)
                case Check():
                    transaction.check(full, step.version)
        with _translated(steps[0].path):
            results = await self._ask(transaction.commit_async())
        kazoo = _kazoo()
        consequences = (kazoo.RolledBackError, kazoo.RuntimeInconsistency)
        for step, result in zip(steps, results, strict=True):
            if isinstance(result, Exception) and not isinstance(result, consequences):
                with _translated(step.path):
                    raise result

    def _acl(self, path: str) -> list[Any] | None:
        """Secrets are in the journal: it is for us alone.  The rest may be read by everybody."""
        if not self._settings.set_acl:
            return None
        from kazoo.security import CREATOR_ALL_ACL, READ_ACL_UNSAFE

        ours = [*CREATOR_ALL_ACL]
        return ours if path.startswith(layout.ROOT) else [*ours, *READ_ACL_UNSAFE]

    def _ask(self, result: Any) -> asyncio.Future[Any]:
        """kazoo's answer as a future of the loop."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def answered(result: Any) -> None:
            """On kazoo's thread."""
            if not self._closed:
                value = None if result.exception is not None else result.value
                self._loop.call_soon_threadsafe(_settle, future, value, result.exception)

        result.rawlink(answered)
        return future


def _settle(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if future.done():
        return  # nobody waits any more
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


_STATES = {
    "CONNECTED": SessionState.CONNECTED,
    "SUSPENDED": SessionState.SUSPENDED,
    "LOST": SessionState.GONE,
}


def _kazoo() -> Any:
    from kazoo import exceptions

    return exceptions


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """kazoo's exceptions as those of the port."""
    kazoo = _kazoo()
    try:
        yield
    except kazoo.KazooException as error:
        for theirs, ours in (
            (kazoo.NoNodeError, NoNode),
            (kazoo.NodeExistsError, NodeExists),
            (kazoo.BadVersionError, BadVersion),
            (kazoo.NotEmptyError, NotEmpty),
            ((kazoo.NoAuthError, kazoo.AuthFailedError, kazoo.InvalidACLError), NotPermitted),
            (kazoo.SessionExpiredError, SessionGone),
            ((kazoo.ConnectionLoss, kazoo.ConnectionClosedError), ConnectionLost),
        ):
            if isinstance(error, theirs):
                raise ours(path) from None
        raise ZooKeeperError(f"{path}: {error!r}") from error
