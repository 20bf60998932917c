"""Run a node until a signal ends it: event loop, logging, exit status."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.machine import Machine
    from barnabas.broker.node import Node

logger = logging.getLogger("barnabas.node")

SWITCH_S = 0.001
"""A thread that computes (compaction, a look into batches) gives way to the loop this often."""

GC_THRESHOLDS = (10_000, 20, 20)
"""Requests leave next to no cycles behind, and all that wait for one write are alive at once: with
Python's 700 a sixth of the time that commits take goes into looking for garbage.  With more, a
search that does find something stops the broker for tens of milliseconds."""

STOP_WITH = "BARNABAS_STOP_WITH"
"""Environment: the process that this one belongs to."""
LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def run(config: BrokerConfig, *, log_level: str = "info", machine: Machine | None = None) -> int:
    """Start a broker and serve until SIGTERM or Ctrl-C; the exit status."""
    gc.disable()  # modules, declarations and logs are made to stay; switched on once they are there
    from barnabas.base.errors import ApiError
    from barnabas.broker.binding import CannotListen
    from barnabas.broker.membership import CannotJoin
    from barnabas.storage.directory import DirectoryRefused

    logging.basicConfig(stream=sys.stdout, level=log_level.upper(), format=LOG_FORMAT)
    logging.raiseExceptions = False  # whoever read the log has gone: the broker goes on
    _allow_many_files()
    sys.setswitchinterval(SWITCH_S)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(config, machine))
    except (ApiError, CannotJoin, CannotListen, DirectoryRefused) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _allow_many_files() -> None:
    """Connections and logs need descriptors: take as many as the operator lets us have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: it costs less CPU than asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _stop_with(process: str | None, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when that process ends, however it does."""
    if process is None:
        return
    try:
        handle = os.pidfd_open(int(process))
    except ProcessLookupError:
        stop.set()
        return

    def ended() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        stop.set()

    loop.add_reader(handle, ended)


async def _started(node: Node, stop: asyncio.Event) -> bool:
    """False if it was told to stop before: it may wait long, for a controller for one."""
    starting = asyncio.ensure_future(node.start())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
    if starting.cancelled():
        logger.info("stopped: %s, before it had started", node)
        return False
    await starting
    return True


async def _serve(config: BrokerConfig, machine: Machine | None) -> int:
    from barnabas.broker.node import Node

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    _stop_with(os.environ.get(STOP_WITH), loop, stop)
    node = Node(config, machine)
    if not await _started(node, stop):
        return 0
    gc.freeze()  # what is there now stays: the collector need not look at it again
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    waiting = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(node.failed.wait())]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    logger.info("stopping: %s", node)
    await node.stop()
    return 1 if node.failed.is_set() else 0
