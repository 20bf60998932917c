"""What a node takes from the machine it runs on: clock, chance, disk, worker threads, sockets.

A node asks for these here and nowhere else (its event loop apart), so that the simulator runs the
same node on a machine of its own making.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from barnabas.base.clock import SYSTEM_CLOCK, Clock
from barnabas.broker.binding import Binding, bind_listeners
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.storage.fs import FilePool
from barnabas.storage.workers import ThreadWorkers

if TYPE_CHECKING:
    import asyncio

    from barnabas.base.settings import BrokerConfig
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.controller.zookeeper import ZooKeeperClient
    from barnabas.storage.workers import Workers


class Machine:
    """The real one."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self.random: random.Random = random.SystemRandom()

    def file_pool(self) -> FilePool:
        """For one node: it closes what it opens."""
        return FilePool()

    def workers(self, loop: asyncio.AbstractEventLoop, *, threads: int = 2) -> Workers:
        """Threads that hand their results to `loop`."""
        return ThreadWorkers(loop.call_soon_threadsafe, threads=threads)

    def journal_files(self, path: str) -> JournalFiles:
        """The directory of a metadata journal."""
        return DirectoryFiles(path)

    def zookeeper(self, loop: asyncio.AbstractEventLoop, config: BrokerConfig) -> ZooKeeperClient:
        """The ZooKeeper of `zookeeper.connect`, not connected yet."""
        from barnabas.broker.zookeeper_session import ZooKeeperSession, ZooKeeperSettings

        return ZooKeeperSession(loop, ZooKeeperSettings.of(config))

    def bind(self, config: BrokerConfig) -> list[Binding]:
        """A socket for each listener, bound and not accepting yet; all of them or none."""
        return bind_listeners(config)
