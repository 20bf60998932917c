"""The broker of a node: its logs, partitions and coordinators, made from the metadata it follows.

Everything runs on the loop thread; slow disk work goes to the storage workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.settings import resolve_topic
from barnabas.broker.directories import Directories
from barnabas.broker.groups import Groups
from barnabas.broker.handlers.producer_ids import ProducerIds
from barnabas.broker.net.turn import NothingWritten, Turn, TurningWorkers
from barnabas.broker.replicating import Replicating
from barnabas.broker.state import Broker
from barnabas.broker.transactions import Transactions
from barnabas.client.node_connection import NodeConnections
from barnabas.controller.image import ClusterImage, ImageChanges, ResourceType
from barnabas.replication.fetch_session import FetchSessions
from barnabas.replication.replicas import ReplicaManager
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.manager import LogManager, StorageSettings

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.machine import Machine
    from barnabas.broker.state import ControllerPort
    from barnabas.replication.partition import Partition
    from barnabas.storage.directory import LogDirectory
    from barnabas.storage.fs import FilePool
    from barnabas.storage.log import Log

logger = logging.getLogger("barnabas.node")


class BrokerPart:
    """`load`, then `follow` every change of metadata; `close` in the end.

    Its log directories are taken (`logs.take`) by the node, before anything in them is read.
    """

    def __init__(
        self,
        config: BrokerConfig,
        machine: Machine,
        loop: asyncio.AbstractEventLoop,
        pool: FilePool,
        *,
        cluster_id: str,
        on_no_directory: Callable[[], None],
    ) -> None:
        """`on_no_directory`: the last log directory has failed."""
        self.config = config
        self.broker: Broker
        self.turn = Turn(loop, NothingWritten(), machine.clock)
        self.on_config: Callable[[BrokerConfig], None] = lambda config: None
        """Told when a dynamic setting has changed."""
        self.on_quotas: Callable[[], None] = lambda: None
        """Told when a quota of a client has."""
        self._machine = machine
        self._clock = machine.clock
        self._loop = loop
        self._pool = pool
        self._cluster_id = cluster_id
        self._on_no_directory = on_no_directory
        self._image: ClusterImage
        self.logs = LogManager(
            StorageSettings.of(config),
            node_id=config.node_id,
            cluster_id=cluster_id,
            workers=machine.workers(loop),
            pool=pool,
        )

    # -- starting

    def load(
        self,
        image: ClusterImage,
        controller: ControllerPort,
        listeners: Sequence[BoundListener],
        *,
        epoch: int = -1,
    ) -> None:
        """Recover the logs where that is needed, and open the partitions of `image`.

        `epoch` is that of the registration, where this broker has registered before.
        """
        self._image = image
        config = self.config = self._effective_config()
        self.logs.settings = StorageSettings.of(config)
        self.logs.load(self._clock.now_ms(), self._log_config, is_only_copy=self._is_only_copy)
        for directory in self.logs.directories:
            if directory.logs and not directory.was_clean:
                logger.warning(
                    "%s was not closed cleanly: %d logs checked",
                    directory.path,
                    len(directory.logs),
                )
        self.logs.on_directory_failed = lambda _: self._directory_failed()
        self._cleaner = Cleaner(
            self._pool,
            self._machine.workers(self._loop, threads=1),
            settings=CleanerSettings.of(config),
            clock=self._clock,
            on_failure=lambda log, failure: self.logs.fail_directory(
                self.logs.directory_of(log), failure
            ),
        )
        self.logs.on_log_gone = self._cleaner.forget
        self.logs.on_log_moved = self._log_moved
        self._build(controller, listeners, epoch)

    def _build(
        self, controller: ControllerPort, listeners: Sequence[BoundListener], epoch: int
    ) -> None:
        config = self.config
        replicas = ReplicaManager(
            node_id=config.node_id,
            logs=self.logs,
            topic_config=self._log_config,
            lag_s=config.int("replica.lag.time.max.ms") / 1000,
            monotonic=self._clock.monotonic,
        )
        broker = self.broker = Broker(
            node_id=config.node_id,
            cluster_id=self._cluster_id,
            config=config,
            image=self._image,
            controller=controller,
            replicas=replicas,
            logs=self.logs,
            sessions=FetchSessions(
                slots=config.int("max.incremental.fetch.session.cache.slots"),
                rng=self._machine.random,
            ),
            producer_ids=ProducerIds(),
            clock=self._clock,
            epoch=epoch,
            judges=TurningWorkers(self._machine.workers(self._loop, threads=1), self.turn),
            listeners=list(listeners),
            inter_broker_listener=config.listeners().inter_broker,
        )
        broker.connections = NodeConnections(
            self._loop, client_id=f"broker-{config.node_id}", address_of=broker.address_of
        )
        self.turn.replicas = replicas
        schedule = self.turn.schedule
        broker.replicating = Replicating(broker, self._loop, schedule_turn=schedule)
        broker.directories = Directories(broker, self._loop)
        broker.groups = Groups(broker, self._loop, schedule_turn=schedule)
        broker.transactions = Transactions(broker, self._loop, schedule_turn=schedule)
        broker.quotas.apply(self._image.quotas)
        replicas.load(self._image)
        replicas.on_unopened = self._open_soon

    def load_coordinators(self) -> None:
        """Take charge of groups and transactions; logs that nobody knows are moved aside first.

        Not before clients can reach this broker: from here on the sessions of members count.
        """
        unknown = self.logs.move_aside_unknown(self._is_known)
        if unknown:
            logger.warning(
                "the cluster has no such replicas here (any more), moved aside as ...-stray: %s",
                ", ".join(sorted(unknown)),
            )
        self.broker.directories.load()
        self.broker.groups.load_all()
        self.broker.transactions.load_all()

    def _is_known(self, log: Log) -> bool:
        """Whether this broker is to have it: a topic may be gone, or a replica moved, meanwhile."""
        topic = self._image.topics_by_id.get(log.topic_id)
        if topic is None or log.partition >= len(topic.partitions):
            return False
        return self.config.node_id in topic.partitions[log.partition].replicas

    def _is_only_copy(self, topic: str, partition: int) -> bool:
        """Whether no other replica has all that this one has; it may be empty, or behind."""
        found = self._image.partition(topic, partition)
        return found is not None and not set(found.isr) - {self.config.node_id}

    # -- following the metadata

    def follow(self, image: ClusterImage, changes: ImageChanges) -> None:
        """`image` has changed: open and drop logs, put settings into effect."""
        own = {(ResourceType.BROKER, ""), (ResourceType.BROKER, str(self.config.node_id))}
        if changes.configs & own:
            self.config = self.broker.config = self._effective_config()
            self.on_config(self.config)
            self._cleaner.settings = CleanerSettings.of(self.config)
            self.logs.settings = StorageSettings.of(self.config)
            for topic in image.topics:
                self.broker.replicas.reconfigure(topic)
        if changes.quotas:
            self.broker.quotas.apply(image.quotas)
            self.on_quotas()
        self.broker.groups.before_changes()
        self.broker.replicas.apply(image, changes)
        self.broker.fenced_lately.apply(image, changes)
        self.broker.replicating.apply(changes)
        self.broker.directories.apply(changes)
        self.broker.groups.apply(changes)
        self.broker.transactions.apply(changes)
        for kind, name in changes.configs:
            if kind == ResourceType.TOPIC:
                self.broker.replicas.reconfigure(name)
        self.turn.schedule()

    def registered_again(self, epoch: int) -> None:
        """The controller knows this broker anew, as it was when it started."""
        self.broker.epoch = epoch
        self.broker.directories.registered_again()

    def _open_soon(self) -> None:
        self._loop.call_soon(self._open_more)

    def _open_more(self) -> None:
        """Logs that are too many for one turn of the loop."""
        self._follow(self.broker.replicas.open_more())

    def _retry_full_disk(self) -> None:
        self._follow(self.broker.replicas.retry_full_disk())

    def _follow(self, opened: Sequence[Partition]) -> None:
        """Logs were opened since the metadata changed: coordinators can load theirs now."""
        for partition in opened:
            for coordination in (self.broker.groups, self.broker.transactions):
                if partition.topic == coordination.topic:
                    coordination.follow(partition.index)
        if opened:
            self.turn.schedule()

    def _effective_config(self) -> BrokerConfig:
        return self.config.with_dynamic(
            self._image.config(ResourceType.BROKER, ""),
            self._image.config(ResourceType.BROKER, str(self.config.node_id)),
        )

    def _log_config(self, topic: str) -> LogConfig:
        overrides = self._image.topic_config(topic)
        return LogConfig.of_topic(resolve_topic(self.config, overrides))

    def _log_moved(self, log: Log, source: LogDirectory) -> None:
        self._cleaner.moved(log, source.path)
        self.broker.directories.moved(log)

    def _directory_failed(self) -> None:
        self.broker.replicas.forget_failed_logs()
        self.broker.directories.failed()
        if not self.logs.usable_directories():
            logger.critical("no log directory is left: stopping")
            self._on_no_directory()

    # -- time

    def chores(self, now_ms: int) -> list[Callable[[], object]]:
        """What is to be done about once a second."""
        return [
            partial(self.logs.tick, now_ms),
            partial(self._cleaner.tick, self.logs.logs.values(), now_ms),
            self._retry_full_disk,
            self.broker.directories.tick,
            partial(self.broker.transactions.forget_old, now_ms),
        ]

    # -- stopping

    def stop(self) -> None:
        """Answer nothing new, and write what was promised."""
        self.broker.transactions.stop()
        self.broker.groups.stop()
        self.broker.replicating.stop()
        self.broker.connections.close()
        self.turn.write()

    def close(self) -> None:
        """Close the logs cleanly: the next start trusts what it finds and recovers nothing."""
        self._cleaner.close()
        self.broker.judges.close()
        self.logs.close(broker_epoch=self.broker.epoch)
