"""A simulated machine, as the broker asks for one: clock, chance, disk, workers, listeners."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from barnabas.broker.binding import Binding, bind_listeners
from barnabas.broker.machine import Machine
from barnabas.lab.disk_journal import DiskJournalFiles
from barnabas.lab.sim.syscalls import SimSyscalls
from barnabas.lab.sim.zookeeper import SimZooKeeper
from barnabas.storage.fs import FilePool
from barnabas.storage.syscalls import Disk, Syscalls

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from random import Random

    from barnabas.base.settings import BrokerConfig
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.controller.zookeeper import ZooKeeperClient
    from barnabas.lab.sim.disk import SimDisk
    from barnabas.lab.sim.loop import VirtualLoop
    from barnabas.lab.sim.network import Network
    from barnabas.lab.sim.process import Process
    from barnabas.lab.sim.zookeeper import SimZooKeeperServer
    from barnabas.storage.workers import Workers

WALL_START_MS = 1_700_000_000_000
WORK_S = (0.0002, 0.02)
"""How long a piece of work takes on a worker thread."""
POOL_LIMIT = 64


class SimClock:
    """Virtual time; `offset_ms` is what the machine's wall clock is wrong by."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.offset_ms = 0

    def now_ms(self) -> int:
        return WALL_START_MS + int(self._loop.time() * 1000) + self.offset_ms

    def monotonic(self) -> float:
        return self._loop.time()


class SimWorkers:
    """One worker: work is done in order, each piece some time after it was asked for."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self._loop = loop
        self._random = random
        self._jobs: deque[tuple[Callable[[], None], Callable[[Exception | None], None]]] = deque()

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self._jobs.append((work, done))
        if len(self._jobs) == 1:
            self._next()

    def _next(self) -> None:
        self._loop.call_later(self._random.uniform(*WORK_S), self._work)

    def _work(self) -> None:
        if self._jobs:  # else closed meanwhile
            self._do()
            if self._jobs:
                self._next()

    def _do(self) -> None:
        work, done = self._jobs.popleft()
        failure: Exception | None = None
        try:
            work()
        except Exception as error:
            failure = error
        self._loop.call_soon(done, failure)

    def close(self) -> None:
        while self._jobs:
            self._do()


class SimMachine(Machine):
    """What one process sees of its machine."""

    def __init__(
        self,
        network: Network,
        disk: SimDisk,
        process: Process,
        *,
        clock: SimClock,
        random: Random,
        zookeeper: SimZooKeeperServer | None = None,
    ) -> None:
        super().__init__(clock=clock)
        self._zookeeper = zookeeper
        self.random = random
        self._network = network
        self._process = process
        self._calls = cast(
            "Syscalls", SimSyscalls(disk, process, pause=self._pause, now=clock.now_ms)
        )

    def _pause(self, seconds: float) -> None:
        now = self._network.loop.time()
        self._process.paused_until = max(self._process.paused_until, now) + seconds

    def file_pool(self) -> FilePool:
        return FilePool(POOL_LIMIT, self._calls)

    def workers(self, loop: asyncio.AbstractEventLoop, *, threads: int = 2) -> Workers:
        return SimWorkers(self._network.loop, self.random)

    def journal_files(self, path: str) -> JournalFiles:
        return DiskJournalFiles(Disk(self._calls), path)

    def zookeeper(self, loop: asyncio.AbstractEventLoop, config: BrokerConfig) -> ZooKeeperClient:
        assert self._zookeeper is not None, "this world has no ZooKeeper"
        timeout_s = config.int("zookeeper.session.timeout.ms") / 1000
        return SimZooKeeper(self._zookeeper, timeout_s=timeout_s)

    def bind(self, config: BrokerConfig) -> list[Binding]:
        return bind_listeners(
            config, bind=lambda listener: self._network.bind(listener.host, listener.port)
        )
