"""Everything that one seed makes: time, network, machines, and the real nodes on them.

A machine keeps its disk and its clock; a process on it is one life of a node.  `kill` and
`cut_power` end it without a word, `stop` shuts the node down as an operator would.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.base import ids
from barnabas.base.errors import ApiError
from barnabas.base.settings import BrokerConfig
from barnabas.broker.membership import CannotJoin
from barnabas.broker.node import Node
from barnabas.lab.sim.disk import SimDisk
from barnabas.lab.sim.loop import VirtualLoop
from barnabas.lab.sim.machine import SimClock, SimMachine
from barnabas.lab.sim.network import Network
from barnabas.lab.sim.process import CURRENT, OUTSIDE, Process
from barnabas.lab.sim.zookeeper import SimZooKeeperServer

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
LOG_LINES = 400
"""The last lines of all nodes' logs that are kept, to be shown if a run fails."""


class SimHost:
    """One machine, and the node that lives on it now, if any."""

    def __init__(self, world: World, name: str, settings: Mapping[str, str]) -> None:
        self.name = name
        self.settings = dict(settings)
        self.disk = SimDisk()
        self.clock = SimClock(world.loop)
        self.random = Random(world.random.getrandbits(64))
        self.process: Process | None = None
        self.node: Node | None = None
        self.is_started = False
        self._world = world
        self._lives = 0

    @property
    def is_up(self) -> bool:
        """A process is there, started or starting."""
        return self.process is not None and self.process.is_alive

    @property
    def address(self) -> tuple[str, int]:
        return self.name, 9092

    def start(self) -> asyncio.Task[None]:
        """Begin a new life; the task ends when the node serves, or when it could not start."""
        assert not self.is_up, f"{self.name} is up"
        world = self._world
        self._lives += 1
        process = self.process = Process(self.name, self._lives)
        process.on_end.append(lambda power: world.network.ended(process, power_lost=power))
        world.network.back(self.name)
        machine = SimMachine(
            world.network,
            self.disk,
            process,
            clock=self.clock,
            random=self.random,
            zookeeper=world.zookeeper,
        )
        config = BrokerConfig.from_properties(self.settings)
        return world.loop.create_task(
            self._live(process, config, machine), context=process.context()
        )

    async def start_and_wait(self) -> bool:
        """Start, and wait until the node serves; False if it has ended instead."""
        self.start()
        while self.is_up:
            if self.is_started:
                return True
            await asyncio.sleep(0.05)
        return False

    async def _live(self, process: Process, config: BrokerConfig, machine: SimMachine) -> None:
        self.is_started = False
        self.node = node = Node(config, machine)
        try:
            await node.start()
        except (ApiError, CannotJoin) as error:
            self._world.note(f"{process} could not start: {error}")
            process.kill()
            return
        except Exception as error:
            self._world.fault(f"{process} could not start: {_where(error)}")
            process.kill()
            return
        self.is_started = True
        self._world.loop.create_task(self._watch(process, node))

    async def _watch(self, process: Process, node: Node) -> None:
        await node.failed.wait()
        self._world.note(f"{process} gave up")
        self.kill()

    def kill(self) -> None:
        """As `kill -9`: the page cache stays."""
        self._end(power_lost=False)

    def cut_power(self) -> None:
        """The machine goes dark: what was not flushed may be lost, and nobody is told."""
        if self._end(power_lost=True):
            self.disk.lose_power(self.random)

    def _end(self, *, power_lost: bool) -> bool:
        process, self.node, self.is_started = self.process, None, False
        if process is None or not process.is_alive:
            return False
        process.kill(power_lost=power_lost)
        return True

    async def stop(self) -> None:
        """Shut down cleanly.  If the node dies on the way, that is its end too."""
        process, node = self.process, self.node
        if process is None or node is None or not self.is_started:
            self.kill()
            return
        self.is_started = False
        stopping = self._world.loop.create_task(node.stop(), context=process.context())
        while process.is_alive and not stopping.done():
            await asyncio.sleep(0.05)
        if stopping.done():
            stopping.result()
        self.node = None
        process.kill()

    def pause(self, seconds: float) -> None:
        """As SIGSTOP, for a while."""
        if self.process is not None:
            self.process.paused_until = self._world.loop.time() + seconds


class World:
    """All of a simulation.  Use it as `with World(seed) as world: world.run(...)`."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.loop = VirtualLoop(Random(self.random.getrandbits(64)))  # type: ignore[abstract]
        self.loop.on_exception = self._uncaught
        self.network = Network(self.loop, Random(self.random.getrandbits(64)))
        self.zookeeper = SimZooKeeperServer(self.network)
        self.hosts: dict[str, SimHost] = {}
        self.faults: list[str] = []
        """What went wrong inside, that never should."""
        self.lines: list[str] = []
        self._began = self.loop.time()

    def add(self, name: str, settings: Mapping[str, str]) -> SimHost:
        self.hosts[name] = SimHost(self, name, settings)
        return self.hosts[name]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` as somebody outside of all machines; nodes live on until the next call."""
        with self._surroundings():
            return self.loop.run(work)

    def client_context(self, name: str) -> Any:
        """A context for the tasks of a client program on a machine of that name."""
        return Process(name).context()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            host.kill()
        self.loop.close()

    # -- what is said

    @property
    def elapsed(self) -> float:
        return self.loop.time() - self._began

    def note(self, line: str) -> None:
        self.lines.append(f"{self.elapsed:9.4f} {line}")
        if len(self.lines) > 2 * LOG_LINES:
            del self.lines[:LOG_LINES]

    def fault(self, line: str) -> None:
        self.note(f"FAULT {line}")
        self.faults.append(line)

    def _uncaught(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self.fault(f"uncaught: {context.get('message')}: {error!r}")

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        """Ids come from the seed, and what nodes log is kept."""
        source, ids.source = ids.source, self.random.randbytes
        logger = logging.getLogger("barnabas")
        level, propagate = logger.level, logger.propagate
        handler = _Listener(self)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        token = CURRENT.set(OUTSIDE)
        try:
            yield
        finally:
            CURRENT.reset(token)
            ids.source = source
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Listener(logging.Handler):
    """A line that comes with a traceback is a fault: nothing from outside explains it."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if not CURRENT.get().is_alive:
            return  # a killed process, being collected as garbage
        line = f"{CURRENT.get()} {record.levelname} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            self._world.fault(f"{line}: {_where(record.exc_info[1])}")
        else:
            self._world.note(line)


def _where(error: BaseException) -> str:
    """The exception, and the innermost frames that raised it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename.rpartition('barnabas/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{error!r} at {' < '.join(reversed(frames[-6:]))}"
