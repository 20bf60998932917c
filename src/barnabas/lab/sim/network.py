"""A network in memory: machines by name, connections with delays, links that can be cut.

What TCP promises holds: the bytes of one direction of a connection arrive in order, or the
connection breaks.  Everything else is drawn from the seed: how long bytes take, how they are cut
into pieces, and so which connection's come first.

A link that is cut holds bytes back; when it heals they arrive after all, or the connection turns
out to be broken.  A killed process resets its connections; a machine that loses power falls silent,
and resets them when it is back.
"""

from __future__ import annotations

import zlib
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, cast

from barnabas.lab.sim.process import CURRENT, Process
from barnabas.lab.sim.transport import Transport

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable
    from contextvars import Context
    from random import Random

    from barnabas.lab.sim.loop import VirtualLoop

CONNECT_TIMEOUT_S = 5.0
"""How long a connection to a silent machine is tried."""
CONNECT_RETRY_S = 0.5
SPIKE_CHANCE = 0.01
SPIKE_S = 0.08
DELAYS_S = ((0.0001, 0.0015), (0.0005, 0.02), (0.001, 0.08))
"""Near, farther and far: which of these a network is, the seed says."""


class SimSocket:
    """A bound address: as much of a socket as the broker's listeners use."""

    def __init__(self, network: Network, host: str, port: int) -> None:
        self._network = network
        self.address = host, port
        network.claim(self)

    def getsockname(self) -> tuple[str, int]:
        return self.address

    def setsockopt(self, *_: object) -> None:
        """There are no buffers to size."""

    def close(self) -> None:
        self._network.release(self)


class SimServer:
    """What `create_server` gives."""

    def __init__(self, sock: SimSocket) -> None:
        self._sock = sock

    def close(self) -> None:
        self._sock.close()

    def is_serving(self) -> bool:
        return True

    async def wait_closed(self) -> None:
        """Nothing is under way once it is closed."""


class _Listening:
    """A bound socket, and what accepts on it once it listens."""

    def __init__(self, sock: SimSocket, process: Process) -> None:
        self.sock = sock
        self.process = process
        self.factory: Callable[[], asyncio.BaseProtocol] | None = None
        self.context: Context | None = None


class Network:
    """All machines' connections.  `random` decides delays; faults come by the methods below."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self.loop = loop
        self.random = random
        self.slow: dict[str, float] = {}
        """Machines whose bytes take that many seconds longer."""
        self.digest = 0
        """Of everything that arrived, where and when: equal digests are equal runs."""
        self._listening: dict[tuple[str, int], _Listening] = {}
        self._transports: dict[Transport, None] = {}
        self._cut: set[frozenset[str]] = set()
        self._dark: set[str] = set()
        """Machines without power."""
        self._next_port = 40_000
        self._delay_s = random.choice(DELAYS_S)
        loop.network = self

    # -- listening and connecting

    def claim(self, sock: SimSocket) -> None:
        held = self._listening.get(sock.address)
        if held is not None and held.process.is_alive:
            raise OSError(98, "Address already in use")
        self._listening[sock.address] = _Listening(sock, CURRENT.get())

    def release(self, sock: SimSocket) -> None:
        held = self._listening.get(sock.address)
        if held is not None and held.sock is sock:
            del self._listening[sock.address]

    def serve(self, sock: SimSocket, factory: Callable[[], asyncio.BaseProtocol]) -> SimServer:
        listening = self._listening[sock.address]
        listening.factory = factory
        listening.context = copy_context()
        return SimServer(sock)

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[Transport, asyncio.BaseProtocol]:
        """As `loop.create_connection` does, for the process that runs now."""
        near = CURRENT.get()
        await self._pass(self.delay(near.machine, host))
        waited = 0.0
        while self.is_cut(near.machine, host) or host in self._dark:
            if waited >= CONNECT_TIMEOUT_S:
                raise TimeoutError(f"{host}:{port} does not answer")
            waited += CONNECT_RETRY_S
            await self._pass(CONNECT_RETRY_S)
        listening = self._listening.get((host, port))
        if listening is None or listening.factory is None or listening.context is None:
            raise ConnectionRefusedError(f"{host}:{port} refuses connections")
        protocol = factory()
        self._next_port += 1
        client = Transport(self, near, copy_context(), (host, port))
        peername = near.machine, self._next_port
        server = Transport(self, listening.process, listening.context, peername)
        client.join(server)
        self._transports[client] = self._transports[server] = None
        client.start(protocol)
        self.loop.call_soon(_accept, server, listening.factory, context=listening.context)
        return client, protocol

    async def _pass(self, seconds: float) -> None:
        future = self.loop.create_future()
        self.loop.call_later(seconds, _wake, future)
        await future

    # -- what transports ask

    def delay(self, near: str, far: str) -> float:
        random = self.random
        seconds = random.uniform(*self._delay_s)
        if random.random() < SPIKE_CHANCE:
            seconds += random.random() * SPIKE_S
        return seconds + self.slow.get(near, 0.0) + self.slow.get(far, 0.0)

    def is_cut(self, near: str, far: str) -> bool:
        return bool(self._cut) and frozenset((near, far)) in self._cut

    def arrived(self, transport: Transport, size: int) -> None:
        line = f"{self.loop.time():.9f} {transport.process} {transport.peer} {size}"
        self.digest = zlib.crc32(line.encode(), self.digest)

    def forget(self, transport: Transport) -> None:
        self._transports.pop(transport, None)

    # -- faults

    def cut(self, one: str, other: str) -> None:
        """Nothing passes between these two machines."""
        self._cut.add(frozenset((one, other)))

    def heal(self) -> None:
        """Everything passes again; of the connections that were cut, some have broken."""
        healed, self._cut = self._cut, set()
        for transport in list(self._transports):
            if frozenset(transport.ends) in healed:
                if self.random.random() < 0.5 or transport.peer.is_lost:
                    transport.reset()
                else:
                    transport.go_on()

    def drop(self, machine: str) -> None:
        """Half of a machine's connections break."""
        for transport in list(self._transports):
            if machine in transport.ends and self.random.random() < 0.5:
                transport.reset()

    def ended(self, process: Process, *, power_lost: bool) -> None:
        """A process was killed: its sockets close, unless its machine cannot even do that."""
        for listening in [each for each in self._listening.values() if each.process is process]:
            self.release(listening.sock)
        if power_lost:
            self._dark.add(process.machine)
            return
        for transport in [each for each in self._transports if each.process is process]:
            transport.reset()

    def back(self, machine: str) -> None:
        """A machine has power again: it knows nothing of its old connections, and says so."""
        self._dark.discard(machine)
        for transport in list(self._transports):
            if transport.process.machine == machine and not transport.process.is_alive:
                transport.reset()

    def bind(self, host: str, port: int) -> socket.socket:
        return cast("socket.socket", SimSocket(self, host, port))


def _accept(transport: Transport, factory: Callable[[], asyncio.BaseProtocol]) -> None:
    transport.start(factory())


def _wake(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_result(None)
