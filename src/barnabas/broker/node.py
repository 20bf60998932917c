"""One process: sockets, logs, controller and broker, wired together, started and stopped.

Everything runs on the loop thread; slow disk work goes to the storage workers.  Starting takes the
log directories (a second broker on them is refused), replays the metadata journal, recovers logs
where that is needed, registers with the controller and only then accepts connections.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.clock import SYSTEM_CLOCK
from barnabas.base.errors import ApiError
from barnabas.base.settings import resolve_topic
from barnabas.broker.binding import bind_listeners
from barnabas.broker.dispatch import load_handlers
from barnabas.broker.groups import Groups
from barnabas.broker.handlers.producer_ids import ProducerIds
from barnabas.broker.net.requests import Requests
from barnabas.broker.net.server import Server
from barnabas.broker.net.turn import Turn
from barnabas.broker.registration import heartbeat, register
from barnabas.broker.state import Broker
from barnabas.broker.transactions import Transactions
from barnabas.controller.bootstrap import new_cluster_id, read_bootstrap
from barnabas.controller.controller import Controller
from barnabas.controller.decider.decision import Environment
from barnabas.controller.decider.features import SUPPORTED
from barnabas.controller.embedded_journal import DIRECTORY, EmbeddedJournal
from barnabas.controller.image import ClusterImage, ImageChanges, ResourceType
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.controller.sessions import BrokerSessions
from barnabas.replication.fetch_session import FetchSessions
from barnabas.replication.replicas import ReplicaManager
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.directory import LogDirectory, read_meta
from barnabas.storage.fs import FilePool
from barnabas.storage.manager import LogManager, StorageSettings
from barnabas.storage.workers import ThreadWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.base.clock import Clock
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.binding import Binding
    from barnabas.storage.log import Log

logger = logging.getLogger("barnabas.node")

GC_THRESHOLDS = (50_000, 20, 20)
"""Requests leave next to no cycles behind, and all that wait for one write are alive at once: with
Python's 700 a sixth of the time that commits take goes into looking for garbage."""

TICK_S = 1.0


class Node:
    """A broker with its own controller.  `start`, then `stop`, on one event loop."""

    def __init__(self, config: BrokerConfig, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.config = config
        self.clock = clock
        self.broker: Broker
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._ticker: asyncio.TimerHandle | None = None
        self._bindings: list[Binding] = []
        self._taken: list[LogDirectory] = []
        self.failed = asyncio.Event()
        """Set when the broker cannot go on: its last log directory failed."""

    # -- starting

    async def start(self) -> None:
        self._bindings = bind_listeners(self.config)
        try:
            await self._start()
        except BaseException:
            for binding in self._bindings:
                binding.sock.close()
            for directory in self._taken:
                directory.close()
            raise

    async def _start(self) -> None:
        config, node_id = self.config, self.config.node_id
        pool = FilePool()
        cluster_id = _cluster_id(config, pool)
        workers = ThreadWorkers(self._loop.call_soon_threadsafe)
        # Of its own: a change of metadata must not wait until a large segment is flushed.
        self._journal_worker = ThreadWorkers(self._loop.call_soon_threadsafe, threads=1)
        self.logs = LogManager(
            StorageSettings.of(config),
            node_id=node_id,
            cluster_id=cluster_id,
            workers=workers,
            pool=pool,
        )
        self._take_directories(pool, cluster_id)
        journal = EmbeddedJournal(
            DirectoryFiles(f"{config.metadata_log_dir}/{DIRECTORY}"),
            node_id=node_id,
            worker=self._journal_worker.submit,
        )
        sessions = BrokerSessions(config.int("broker.session.timeout.ms"))
        self.controller = Controller(
            journal=journal,
            image=ClusterImage(cluster_id),
            env=Environment(config=config, sessions=sessions),
            now_ms=self.clock.now_ms,
        )
        self.controller.load(
            read_bootstrap(DirectoryFiles(config.metadata_log_dir)) if journal.is_empty else ()
        )
        config = self.config = self._effective_config()
        self.logs.settings = StorageSettings.of(config)
        self.logs.load(self.clock.now_ms(), self._log_config)
        for directory in self.logs.directories:
            if directory.logs and not directory.was_clean:
                logger.warning(
                    "%s was not closed cleanly: %d logs checked",
                    directory.path,
                    len(directory.logs),
                )
        self.logs.on_directory_failed = lambda _: self._directory_failed()
        self._cleaner = Cleaner(
            pool,
            ThreadWorkers(self._loop.call_soon_threadsafe, threads=1),
            settings=CleanerSettings.of(config),
            clock=self.clock,
            on_failure=lambda log, failure: self.logs.fail_directory(
                self.logs.directory_of(log), failure
            ),
        )
        self.logs.on_log_gone = self._cleaner.forget
        self._build_broker(cluster_id)
        self.epoch = await register(self.broker, SUPPORTED)
        self.logs.move_aside_unknown(self._is_known)
        for binding in self._bindings:
            await self._server.listen(binding.sock, binding.listener)
        # Not before members can reach us: from here on their sessions count.
        self.broker.groups.load_all()
        self.broker.transactions.load_all()
        self._tick()
        gc.freeze()  # what is there now stays: the collector need not look at it again
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
        logger.info(
            "started: broker %d, %s, data in %s, %d partitions, %.2f s",
            node_id,
            ", ".join(str(binding.listener) for binding in self._bindings),
            ", ".join(config.log_dirs),
            len(self.broker.replicas.all()),
            time.monotonic() - self._began,
        )

    def _take_directories(self, pool: FilePool, cluster_id: str) -> None:
        """Before the journal is read: until then another process may still write it."""
        self.logs.take()
        self._taken += self.logs.directories
        metadata = LogDirectory(pool, self.config.metadata_log_dir)
        if all(metadata.path != directory.path for directory in self._taken):
            self._taken.append(metadata)
            metadata.open(cluster_id=cluster_id, node_id=self.config.node_id)

    def _build_broker(self, cluster_id: str) -> None:
        config, image = self.config, self.controller.image
        replicas = ReplicaManager(
            node_id=config.node_id, logs=self.logs, topic_config=self._log_config
        )
        self.broker = Broker(
            node_id=config.node_id,
            cluster_id=cluster_id,
            config=config,
            image=image,
            controller=self.controller,
            replicas=replicas,
            logs=self.logs,
            sessions=FetchSessions(slots=config.int("max.incremental.fetch.session.cache.slots")),
            producer_ids=ProducerIds(),
            clock=self.clock,
            judges=ThreadWorkers(self._in_a_turn, threads=1),
            listeners=[binding.listener for binding in self._bindings],
        )
        self._turn = Turn(self._loop, replicas)
        self._server = Server(self._turn, Requests(self.broker, load_handlers()), config)
        for binding in self._bindings:
            self._server.tune(binding.sock)
        self.broker.groups = Groups(self.broker, self._loop, schedule_turn=self._turn.schedule)
        self.broker.transactions = Transactions(
            self.broker, self._loop, schedule_turn=self._turn.schedule
        )
        replicas.load(image)
        self.controller.follow(self._metadata_changed)

    def _in_a_turn(self, work: Callable[[], None]) -> None:
        """For a worker thread: have the loop thread do `work`, then what follows an append."""
        self._loop.call_soon_threadsafe(self._turn.call, work)

    def _is_known(self, log: Log) -> bool:
        topic = self.controller.image.topics_by_id.get(log.topic_id)
        return topic is not None and log.partition < len(topic.partitions)

    # -- following the metadata

    def _metadata_changed(self, image: ClusterImage, changes: ImageChanges) -> None:
        own = {(ResourceType.BROKER, ""), (ResourceType.BROKER, str(self.config.node_id))}
        if changes.configs & own:
            self.config = self.broker.config = self._effective_config()
            self._server.configure(self.config)
            self._cleaner.settings = CleanerSettings.of(self.config)
            self.logs.settings = StorageSettings.of(self.config)
            for topic in image.topics:
                self.broker.replicas.reconfigure(topic)
        self.broker.replicas.apply(image, changes)
        self.broker.groups.apply(changes)
        self.broker.transactions.apply(changes)
        for kind, name in changes.configs:
            if kind == ResourceType.TOPIC:
                self.broker.replicas.reconfigure(name)
        self._turn.schedule()

    def _effective_config(self) -> BrokerConfig:
        image = self.controller.image
        return self.config.with_dynamic(
            image.config(ResourceType.BROKER, ""),
            image.config(ResourceType.BROKER, str(self.config.node_id)),
        )

    def _log_config(self, topic: str) -> LogConfig:
        overrides = self.controller.image.topic_config(topic)
        return LogConfig.of_topic(resolve_topic(self.config, overrides))

    def _directory_failed(self) -> None:
        self.broker.replicas.forget_failed_logs()
        if not self.logs.usable_directories():
            logger.critical("no log directory is left: stopping")
            self.failed.set()

    # -- time

    def _tick(self) -> None:
        """About once a second: retention, checkpoints, flushes, idle connections.

        A fault in one of them does not keep the others from being done.
        """
        self._ticker = self._loop.call_later(TICK_S, self._tick)
        now_ms = self.clock.now_ms()
        for work in (
            partial(self.logs.tick, now_ms),
            partial(self._cleaner.tick, self.logs.logs.values(), now_ms),
            self.broker.replicas.retry_full_disk,
            partial(self.broker.transactions.forget_old, now_ms),
            self.controller.tick,
            partial(self._server.close_idle, self._turn.now),
        ):
            try:
                work()
            except Exception:
                logger.exception("periodic work failed")
        self._turn.schedule()

    # -- stopping

    async def stop(self) -> None:
        """A clean shutdown: the next start trusts what it finds and recovers nothing."""
        self._server.stop_accepting()
        if self._ticker is not None:
            self._ticker.cancel()
        if not self.failed.is_set():
            await self._leave()
        self.broker.transactions.stop()
        self.broker.groups.stop()
        self._turn.write()
        self._server.close_all()
        self._turn.stop()
        await asyncio.sleep(0)  # one turn, in which the transports close their sockets
        self.controller.close()
        self._journal_worker.close()
        self._cleaner.close()
        self.broker.judges.close()
        self.logs.close(broker_epoch=self.epoch)
        for directory in self._taken:
            directory.close()
        logger.info("stopped: broker %d", self.config.node_id)

    async def _leave(self) -> None:
        """Tell the controller.  If it cannot note it, logs are closed cleanly all the same."""
        try:
            await heartbeat(self.broker, self.epoch, leaving=True)
        except ApiError as error:
            logger.warning("leaving without the controller's knowledge: %s", error)


def _cluster_id(config: BrokerConfig, pool: FilePool) -> str:
    """The one that a log directory belongs to, or a new one."""
    for directory in (*config.log_dirs, config.metadata_log_dir):
        meta = read_meta(pool, directory)
        if meta is not None:
            return meta.cluster_id
    return new_cluster_id()
