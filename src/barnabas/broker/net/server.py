"""Listening sockets and the limits on connections."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.base.settings import Source
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.repeats import Complaints
from barnabas.broker.net.throttling import close_after, unmute
from barnabas.storage.fs import default_pool_limit

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.net.planes import Planes
    from barnabas.broker.net.requests import Requests
    from barnabas.broker.net.turn import Turn
    from barnabas.broker.quotas.clients import ClientQuotas

logger = logging.getLogger("barnabas.net")

BACKLOG_MIN = 1024
"""One thread accepts and serves: connections must be able to wait for a turn without being refused
by the operating system, which `socket.listen.backlog.size`'s default of 50 would make it do."""

OTHER_FILES = 96
"""Descriptors that are neither connections nor the logs' pool: flushes, journal, listeners."""


class Server:
    """Accepts connections on every listener.  Loop thread only."""

    def __init__(self, turn: Turn, requests: Requests | Planes, config: BrokerConfig) -> None:
        self.turn = turn
        self._requests = requests
        self._connections: dict[Connection, None] = {}  # a set would have no order
        self._per_host: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()
        self._servers: list[asyncio.Server] = []
        self.complaints = Complaints()
        self.quotas: ClientQuotas | None = None
        """Of the broker, once there is one."""
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Take over the limits; called again when a dynamic setting changes."""
        self.request_bytes_max = config.int("socket.request.max.bytes")
        self.queued_parts_max = config.int("queued.max.requests")
        self._config = config
        self._connections_max = min(config.int("max.connections"), _descriptors_left())
        self._per_host_max = config.int("max.connections.per.ip")
        self._per_host_overrides = _host_limits(config.list("max.connections.per.ip.overrides"))
        idle_ms_max = config.int("connections.max.idle.ms")
        self._idle_s_max = idle_ms_max / 1000 if idle_ms_max >= 0 else float("inf")
        self._backlog = max(BACKLOG_MIN, config.int("socket.listen.backlog.size"))
        self._send_buffer = _if_set(config, "socket.send.buffer.bytes")
        self._receive_buffer = _if_set(config, "socket.receive.buffer.bytes")

    async def listen(
        self, sock: socket.socket, listener: BoundListener, requests: Requests | None = None
    ) -> None:
        """Serve an already bound socket, by `requests` if given."""
        answers = requests or self._requests
        server = await self.turn.loop.create_server(
            lambda: Connection(self, listener, answers), sock=sock, backlog=self._backlog
        )
        self._servers.append(server)

    def tune(self, sock: socket.socket) -> None:
        """Socket buffers as configured; otherwise the operating system tunes them.

        It does so better than a fixed size: the default of 100 KiB would cost two thirds of the
        throughput of large batches.
        """
        if self._send_buffer > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        if self._receive_buffer > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)

    def admit(self, connection: Connection) -> bool:
        """Count a new connection; False if it is one too many."""
        host, listener = connection.peer_host, connection.listener.name
        self._connections[connection] = None
        self._per_host[host] += 1
        self._per_listener[listener] += 1
        host_max = self._per_host_overrides.get(host, self._per_host_max)
        if self._per_host[host] > host_max:
            self.complaints.say("refusing", connection, f"{host_max} connections from it already")
            return False
        listener_max = self._config.of_listener(listener, "max.connections")
        assert isinstance(listener_max, int)
        if self._per_listener[listener] > listener_max:
            self.complaints.say("refusing", connection, f"{listener_max} connections on it")
            return False
        if len(self._connections) > self._connections_max:
            self.complaints.say(
                "refusing",
                connection,
                f"{self._connections_max} connections, as max.connections or the limit on open "
                "files says",
            )
            return False
        pause_s = self.quotas.connection_pause(host) if self.quotas is not None else 0.0
        if pause_s:
            self.complaints.say("delaying and closing", connection, "it came too soon")
            close_after(connection, pause_s)
        return True

    def forget(self, connection: Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            self._per_listener[connection.listener.name] -= 1
            self._per_host[connection.peer_host] -= 1
            if not self._per_host[connection.peer_host]:
                del self._per_host[connection.peer_host]

    def quotas_changed(self) -> None:
        """What was learnt of clients without quotas may be wrong now, and who waits may be free."""
        for connection in self._connections:
            connection.produce_memo = None
            unmute(connection)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def close_idle(self, now: float) -> None:
        """Close connections that nothing moved on for `connections.max.idle.ms`."""
        for connection in list(self._connections):
            if now - connection.last_active > self._idle_s_max:
                logger.debug("closing %s: idle", connection)
                connection.close(now=True)

    def stop_accepting(self) -> None:
        for server in self._servers:
            server.close()

    def close_all(self) -> None:
        for connection in list(self._connections):
            connection.close()


def _if_set(config: BrokerConfig, name: str) -> int:
    """The value of a setting that somebody has set; -1 if it is at its default."""
    return -1 if config.describe(name).source is Source.DEFAULT else config.int(name)


def _descriptors_left() -> int:
    """How many connections the limit on open files leaves room for.

    Logs need their part: a broker that cannot open one can do nothing for the clients it has.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(1, soft - default_pool_limit() - OTHER_FILES)


def _host_limits(items: Iterable[str]) -> dict[str, int]:
    """`host:count` pairs of `max.connections.per.ip.overrides`; a name stands for its addresses."""
    limits: dict[str, int] = {}
    for item in items:
        host, _, count = item.rpartition(":")
        try:
            found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
            limits.update((str(address[0]), int(count)) for *_, address in found)
        except (ValueError, OSError) as error:
            logger.warning("max.connections.per.ip.overrides: %s is passed over: %s", item, error)
    return limits
