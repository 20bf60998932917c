"""What ties a node to ZooKeeper: the session, the cluster's id, the election, its own entry.

`/brokers/ids/<id>` is there for people and tools that look; whether a broker lives the controller
knows from its heartbeats.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.controller_part import ControllerPart
from barnabas.broker.election import Election
from barnabas.broker.membership import CannotJoin
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.bootstrap import initial_records, new_cluster_id
from barnabas.controller.zookeeper import (
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    SessionGone,
    SessionState,
    Step,
    ZooKeeperError,
    ensure,
)
from barnabas.controller.zookeeper_layout import ControllerNode, Endpoint
from barnabas.controller.zookeeper_origin import NotFirst, bring_in, read_origin

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.machine import Machine
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.controller.zookeeper import ZooKeeper, ZooKeeperClient
    from barnabas.controller.zookeeper_journal import ZooKeeperJournal

logger = logging.getLogger("barnabas.zookeeper")

APACHE_TOPICS = "/brokers/topics"


class ZooKeeperPart:
    """In this order: `start`, `controller_part`, `stand`, `announce`; in the end `close`."""

    def __init__(
        self,
        config: BrokerConfig,
        zk: ZooKeeperClient,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        listeners: Sequence[BoundListener],
    ) -> None:
        self._config = config
        self._zk = zk
        self._loop = loop
        self._clock = clock
        self._endpoints = tuple(
            Endpoint(
                listener=listener.name,
                security_protocol=listener.security_protocol,
                host=listener.advertised_host,
                port=listener.advertised_port,
            )
            for listener in listeners
        )
        self._listeners = listeners
        self.listener = config.listeners().inter_broker
        """The one over which brokers talk to each other, and to the controller."""
        self._opened: ZooKeeperJournal | None = None
        self._election: Election | None = None
        self._has_session = asyncio.Event()
        self._announcing: asyncio.Task[None] | None = None

    async def start(self, known_id: str | None, *, may_begin: bool) -> str:
        """Connect; the cluster's id.  For the rest see `agree_on_cluster_id`."""
        await self._zk.start()
        try:
            return await agree_on_cluster_id(self._zk, known_id, may_begin=may_begin)
        except ZooKeeperError as error:
            raise CannotJoin(f"ZooKeeper: {error!r}") from None

    async def bring_in(self, files: JournalFiles, cluster_id: str) -> None:
        """If this node was a cluster of its own, let the one in ZooKeeper begin with its metadata.

        `CannotJoin` if that one has begun already: nobody there would know this node's topics.
        """
        origin = read_origin(files, node_id=self._config.node_id, cluster_id=cluster_id)
        if origin is None:
            return
        try:
            if await bring_in(self._zk, origin, now_ms=self._clock.now_ms()):
                logger.info("the metadata of this node is in ZooKeeper now")
        except NotFirst:
            raise CannotJoin(
                f"{self._config.metadata_log_dir} is that of a cluster of its own, and ZooKeeper "
                "holds another's metadata, which knows nothing of its topics. Start this node "
                "before any other, with a new path in zookeeper.connect."
            ) from None
        except ZooKeeperError as error:
            raise CannotJoin(f"ZooKeeper: {error!r}") from None

    def controller_part(self, machine: Machine, cluster_id: str) -> ControllerPart:
        """The controller that this node is when it is elected."""
        return ControllerPart(
            self._config,
            machine,
            self._loop,
            cluster_id=cluster_id,
            open_journal=self._journal,
            bootstrap=initial_records,
            listeners=[one for one in self._listeners if one.name == self.listener],
        )

    def _journal(self) -> ZooKeeperJournal:
        assert self._opened is not None, "a controller is elected before it is activated"
        return self._opened

    def stand(self, part: ControllerPart) -> Election:
        """Take part in the election from now on; it knows where the controller is."""

        def elected(journal: ZooKeeperJournal, dead: int | None) -> None:
            self._opened = journal
            controller = part.activate()
            if dead is not None and dead in controller.image.brokers:
                controller.fence(dead)

        self._election = Election(
            self._zk,
            self._loop,
            me=ControllerNode(node_id=self._config.node_id, endpoints=self._endpoints),
            listener=self.listener,
            clock=self._clock,
            grace_s=self._config.int("controller.broker.grace.ms") / 1000,
            on_elected=elected,
            on_deposed=part.deactivate,
            is_candidate="controller" in self._config.list("process.roles"),
        )
        self._election.start()
        return self._election

    def announce(self) -> None:
        """Show this broker to those who look."""
        self._zk.listen(self._session_changed)
        self._announcing = self._loop.create_task(self._announce())

    async def close(self) -> None:
        if self._announcing is not None:
            self._announcing.cancel()
        if self._election is not None:
            await self._election.stop()
        await self._zk.close()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._has_session.set()

    async def _announce(self) -> None:
        """Again whenever there is a new session: the entry went with the old one."""
        path = layout.broker_path(self._config.node_id)
        while True:
            self._has_session.clear()
            try:
                found = await self._zk.look(path)
                if found is None or found.owner != self._zk.session:
                    await self._zk.write(*self._entry(path, replace=found is not None))
            except (NodeExists, NoNode):
                continue  # a former process's entry came or went: look again
            except (ConnectionLost, SessionGone):
                await self._zk.connected()
                continue
            except ZooKeeperError as error:
                logger.warning("%s cannot be written: %r", path, error)
            await self._has_session.wait()

    def _entry(self, path: str, *, replace: bool) -> list[Step]:
        data = layout.encode_broker(
            self._endpoints,
            rack=self._config.optional_str("broker.rack"),
            now_ms=self._clock.now_ms(),
        )
        create = Create(path, data, ephemeral=True)
        return [Delete(path), create] if replace else [create]


async def agree_on_cluster_id(zk: ZooKeeper, known_id: str | None, *, may_begin: bool) -> str:
    """The id that stands in ZooKeeper; the first node writes it.  `CannotJoin` if it is another.

    `known_id`: what the log directories say.  `may_begin`: this node has metadata to begin a
    cluster with.  Without it, directories that belong to a cluster belong to one that is elsewhere:
    here nobody would know their topics, and all of them would be moved aside.
    """
    found = await zk.look(layout.CLUSTER_ID)
    if found is None and known_id is not None and not may_begin:
        raise CannotJoin(
            f"the log directories belong to cluster {known_id}, and in ZooKeeper there is none: "
            "zookeeper.connect names another server or path than before."
        )
    if await zk.look(layout.ROOT) is None and await zk.look(APACHE_TOPICS) is not None:
        raise CannotJoin(
            "this ZooKeeper holds a cluster of Apache Kafka. Name another path at the end of "
            "zookeeper.connect, such as /barnabas."
        )
    await ensure(zk, *layout.PERSISTENT)
    if found is None:
        try:
            await zk.write(
                Create(layout.CLUSTER_ID, layout.encode_cluster_id(known_id or new_cluster_id()))
            )
        except NodeExists:
            pass  # another node was faster: its id counts
        found = await zk.look(layout.CLUSTER_ID)
        assert found is not None, "what was just written is there"
    cluster_id = layout.decode_cluster_id(found.data)
    if known_id is not None and known_id != cluster_id:
        raise CannotJoin(
            f"the log directories belong to cluster {known_id}, ZooKeeper to {cluster_id}"
        )
    return cluster_id
