"""One process: a broker, a controller or both, wired together, started and stopped.

Everything runs on the loop thread.  Starting binds the sockets, takes the log directories (a second
broker on them is refused), brings the metadata up to date, recovers logs where that is needed,
registers with the controller and only then lets clients in.

`process.roles` says what a node is.  With the controller in the same process the broker calls it;
with one elsewhere it follows its metadata log over the network (`joining.py`).  With
`zookeeper.connect` every node is a broker and may be elected controller (`zookeeper_part.py`); it
reaches the controller over the network then, also if that is itself.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError
from barnabas.broker.broker_part import BrokerPart
from barnabas.broker.controller_part import ControllerPart
from barnabas.broker.disks import (
    check_not_of_a_cluster,
    has_journal,
    known_cluster_id,
    retire_journal,
)
from barnabas.broker.dispatch import load_controller_handlers, load_handlers
from barnabas.broker.machine import Machine
from barnabas.broker.net.planes import Planes
from barnabas.broker.net.requests import Requests
from barnabas.broker.net.server import Server
from barnabas.broker.net.turn import NothingWritten, Turn
from barnabas.broker.registration import leave, register
from barnabas.controller.bootstrap import new_cluster_id, read_bootstrap
from barnabas.controller.decider.features import SUPPORTED
from barnabas.controller.embedded_journal import DIRECTORY, EmbeddedJournal
from barnabas.storage.directory import LogDirectory

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.binding import Binding
    from barnabas.broker.controller_link import Whereabouts
    from barnabas.broker.joining import Joining
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.state import Broker
    from barnabas.broker.zookeeper_part import ZooKeeperPart
    from barnabas.controller.controller import Controller
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.storage.fs import FilePool
    from barnabas.storage.manager import LogManager
    from barnabas.storage.workers import Workers

logger = logging.getLogger("barnabas.node")

TICK_S = 1.0


class Node:
    """`start`, then `stop`, on one event loop."""

    def __init__(self, config: BrokerConfig, machine: Machine | None = None) -> None:
        self.machine = machine or Machine()
        self.clock = self.machine.clock
        self.failed = asyncio.Event()
        """Set when the node cannot go on: its last log directory failed, or another process has
        taken its place."""
        self.broker_part: BrokerPart | None = None
        self.controller_part: ControllerPart | None = None
        self._config = config
        self._joining: Joining | None = None
        self._zookeeper: ZooKeeperPart | None = None
        self._journal_worker: Workers | None = None
        self._loop = asyncio.get_running_loop()
        self._began = self.clock.monotonic()
        self._ticker: asyncio.TimerHandle | None = None
        self._bindings: list[Binding] = []
        self._taken: list[LogDirectory] = []

    @property
    def config(self) -> BrokerConfig:
        """With the dynamic settings of the broker, if it is one."""
        return self._config if self.broker_part is None else self.broker_part.config

    @property
    def broker(self) -> Broker:
        assert self.broker_part is not None, "this node is no broker"
        return self.broker_part.broker

    @property
    def logs(self) -> LogManager:
        assert self.broker_part is not None, "this node is no broker"
        return self.broker_part.logs

    @property
    def controller(self) -> Controller:
        """The one in this process."""
        assert self.controller_part is not None, "this node is no controller"
        assert self.controller_part.active is not None, "this node is not the controller now"
        return self.controller_part.active.controller

    # -- starting

    async def start(self) -> None:
        self._bindings = self.machine.bind(self._config)
        try:
            await self._start()
        except BaseException:
            for binding in self._bindings:
                binding.sock.close()
            for directory in self._taken:
                directory.close()
            if self._joining is not None:
                self._joining.close()
            if self._zookeeper is not None:
                await self._zookeeper.close()
            raise

    async def _start(self) -> None:
        config, pool = self._config, self.machine.file_pool()
        roles = config.list("process.roles")
        cluster_id = known_cluster_id(config, pool)
        if config.optional_str("zookeeper.connect"):
            await self._start_with_zookeeper(pool, cluster_id)
        else:
            await self._start_by_roles(roles, pool, cluster_id)
        self._tick()
        self._say_started(roles)

    async def _start_by_roles(
        self, roles: tuple[str, ...], pool: FilePool, cluster_id: str | None
    ) -> None:
        if "controller" not in roles:
            self._joining = self._join(cluster_id)
            cluster_id = await self._joining.cluster_id()
        elif cluster_id is None:
            cluster_id = new_cluster_id()
        if "broker" in roles:
            if self._joining is None:
                check_not_of_a_cluster(self._config, pool, self._own_journal())
            self.broker_part = self._make_broker_part(pool, cluster_id)
        if "controller" in roles:
            self._take_metadata_directory(pool, cluster_id)
            self._activate_controller(cluster_id)
        if self.broker_part is None:
            await self._serve_controller()
        elif self._joining is None:
            await self._start_broker_beside_controller(self.broker_part)
        else:
            await self._start_broker(self.broker_part, self._joining)

    def _own_journal(self) -> JournalFiles:
        return self.machine.journal_files(f"{self._config.metadata_log_dir}/{DIRECTORY}")

    def _make_broker_part(self, pool: FilePool, cluster_id: str) -> BrokerPart:
        part = BrokerPart(
            self._config,
            self.machine,
            self._loop,
            pool,
            cluster_id=cluster_id,
            on_no_directory=self.failed.set,
        )
        part.logs.take()
        self._taken += part.logs.directories
        return part

    def _join(self, cluster_id: str | None, whereabouts: Whereabouts | None = None) -> Joining:
        from barnabas.broker.joining import Joining

        return Joining(
            self._config,
            self._loop,
            cluster_id=cluster_id,
            on_expelled=self.failed.set,
            whereabouts=whereabouts,
        )

    def _take_metadata_directory(self, pool: FilePool, cluster_id: str) -> None:
        """Before the journal is read: until then another process may still write it."""
        metadata = LogDirectory(pool, self._config.metadata_log_dir)
        if all(metadata.path != directory.path for directory in self._taken):
            self._taken.append(metadata)
            metadata.open(cluster_id=cluster_id, node_id=self._config.node_id)

    def _activate_controller(self, cluster_id: str) -> None:
        config, files = self._config, self.machine.journal_files
        # Of its own: a change of metadata must not wait until a large segment is flushed.
        worker = self._journal_worker = self.machine.workers(self._loop, threads=1)
        self.controller_part = ControllerPart(
            config,
            self.machine,
            self._loop,
            cluster_id=cluster_id,
            open_journal=lambda: EmbeddedJournal(
                self._own_journal(),
                node_id=config.node_id,
                worker=worker.submit,
            ),
            bootstrap=lambda: read_bootstrap(files(config.metadata_log_dir)),
            listeners=[one.listener for one in self._bindings if one.listener.is_controllers],
        )
        self.controller_part.activate()

    async def _serve_controller(self) -> None:
        self._turn = Turn(self._loop, NothingWritten(), self.machine.clock)
        assert self.controller_part is not None
        requests = Requests(self.controller_part, load_controller_handlers())
        self._server = Server(self._turn, requests, self._config)
        await self._listen(controllers=True)

    async def _start_broker_beside_controller(self, part: BrokerPart) -> None:
        controller = self.controller
        part.load(controller.image, controller, self._client_listeners())
        controller.follow(part.follow)
        self._make_server(part)
        await self._listen(controllers=True)
        part.broker.epoch = await register(part.broker, SUPPORTED)
        await self._listen(controllers=False)
        part.load_coordinators()

    async def _start_broker(self, part: BrokerPart, joining: Joining) -> None:
        listeners = self._client_listeners()
        epoch = await joining.register(listeners, part.logs)
        part.load(joining.image, joining.controller, listeners, epoch=epoch)
        joining.follow(part)
        self._make_server(part)
        await self._listen(controllers=False)
        part.load_coordinators()
        await joining.enter()

    async def _start_with_zookeeper(self, pool: FilePool, known_id: str | None) -> None:
        """The listener between brokers is served first: this node may be the controller that it,
        and all the others, wait for."""
        from barnabas.broker.zookeeper_part import ZooKeeperPart

        listeners = self._client_listeners()
        zookeeper = self._zookeeper = ZooKeeperPart(
            self._config,
            self.machine.zookeeper(self._loop, self._config),
            self._loop,
            self.clock,
            listeners,
        )
        own = self._own_journal()
        was_alone = has_journal(own)
        cluster_id = await zookeeper.start(known_id, may_begin=was_alone)
        part = self.broker_part = self._make_broker_part(pool, cluster_id)
        if was_alone:
            self._take_metadata_directory(pool, cluster_id)
            await zookeeper.bring_in(own, cluster_id)
            retire_journal(self._config, pool)
        self.controller_part = zookeeper.controller_part(self.machine, cluster_id)
        planes = Planes(Requests(self.controller_part, load_controller_handlers()))
        self._turn = part.turn
        self._server = Server(part.turn, planes, self._config)
        between = [one for one in self._bindings if one.listener.name == zookeeper.listener]
        await self._listen_on(between)
        joining = self._joining = self._join(cluster_id, zookeeper.stand(self.controller_part))
        await joining.cluster_id()
        epoch = await joining.register(listeners, part.logs)
        part.load(joining.image, joining.controller, listeners, epoch=epoch)
        joining.follow(part)
        self._follow_settings(part)
        planes.broker = Requests(part.broker, load_handlers())
        await self._listen_on([one for one in self._bindings if one not in between])
        part.load_coordinators()
        await joining.enter()
        zookeeper.announce()

    async def _listen_on(self, bindings: list[Binding]) -> None:
        for binding in bindings:
            self._server.tune(binding.sock)
            await self._server.listen(binding.sock, binding.listener)

    def _client_listeners(self) -> list[BoundListener]:
        return [one.listener for one in self._bindings if not one.listener.is_controllers]

    def _make_server(self, part: BrokerPart) -> None:
        self._turn = part.turn
        self._server = Server(part.turn, Requests(part.broker, load_handlers()), part.config)
        self._follow_settings(part)

    def _follow_settings(self, part: BrokerPart) -> None:
        part.on_config = self._server.configure
        part.on_quotas = self._server.quotas_changed
        self._server.quotas = part.broker.quotas

    async def _listen(self, *, controllers: bool) -> None:
        for binding in self._bindings:
            if binding.listener.is_controllers is controllers:
                self._server.tune(binding.sock)
                requests = None
                if controllers and self.broker_part is not None:
                    assert self.controller_part is not None
                    requests = Requests(self.controller_part, load_controller_handlers())
                await self._server.listen(binding.sock, binding.listener, requests)

    def _say_started(self, roles: tuple[str, ...]) -> None:
        config, part = self.config, self.broker_part
        what = "broker" if part is not None else "controller"
        directories = config.log_dirs if part is not None else (config.metadata_log_dir,)
        logger.info(
            "started: %s %d, %s, data in %s, %d partitions, %.2f s",
            what,
            config.node_id,
            ", ".join(str(binding.listener) for binding in self._bindings),
            ", ".join(directories),
            len(part.broker.replicas.all()) if part is not None else self._partition_count(),
            self.clock.monotonic() - self._began,
        )

    def _partition_count(self) -> int:
        return self.controller.image.partition_count

    # -- time

    def _tick(self) -> None:
        """About once a second: retention, checkpoints, flushes, sessions, idle connections.

        A fault in one of them does not keep the others from being done.
        """
        self._ticker = self._loop.call_later(TICK_S, self._tick)
        chores = [] if self.broker_part is None else self.broker_part.chores(self.clock.now_ms())
        if self.controller_part is not None:
            chores.append(self.controller_part.tick)
        chores.append(partial(self._server.close_idle, self._turn.now))
        for work in chores:
            try:
                work()
            except Exception:
                logger.exception("periodic work failed")
        self._turn.schedule()

    # -- stopping

    async def stop(self) -> None:
        """A clean shutdown: the next start trusts what it finds and recovers nothing."""
        if self._joining is None:
            self._server.stop_accepting()
        is_orderly = self.config.bool("controlled.shutdown.enable")
        if self.broker_part is not None and is_orderly and not self.failed.is_set():
            await self._leave()
        # Not before: a controller that is about to leave must still notice who is gone.
        if self._ticker is not None:
            self._ticker.cancel()
        if self._zookeeper is not None:
            await self._zookeeper.close()  # now, so that the next controller is elected meanwhile
        self._server.stop_accepting()
        if self.broker_part is not None:
            self.broker_part.stop()
        self._server.close_all()
        self._turn.stop()
        if self._joining is not None:
            self._joining.close()
        await asyncio.sleep(0)  # one turn, in which the transports close their sockets
        if self.controller_part is not None:
            self.controller_part.close()
        if self._journal_worker is not None:
            self._journal_worker.close()
        if self.broker_part is not None:
            self.broker_part.close()
        for directory in self._taken:
            directory.close()
        logger.info("stopped: %s", self)

    async def _leave(self) -> None:
        """Tell the controller.  If it cannot note it, logs are closed cleanly all the same."""
        try:
            if self._joining is not None:
                await self._joining.leave()
            else:
                await leave(self.broker)
        except ApiError as error:
            logger.warning("leaving without the controller's knowledge: %s", error)

    def __str__(self) -> str:
        what = "controller" if "broker" not in self._config.list("process.roles") else "broker"
        return f"{what} {self._config.node_id}"
