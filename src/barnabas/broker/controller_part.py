"""The controller of a node: opened, served to brokers that are elsewhere, closed.

A node that has the controller's role activates it at its start and keeps it; one that is elected
activates it when it wins and deactivates it when it loses.  In between it refuses everything with
NOT_CONTROLLER.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import NotController
from barnabas.broker.probing import is_dead
from barnabas.controller import decider
from barnabas.controller.controller import Controller
from barnabas.controller.decider.decision import Environment
from barnabas.controller.image import ClusterImage
from barnabas.controller.sessions import BrokerSessions

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.machine import Machine
    from barnabas.broker.metadata_feed import MetadataFeed
    from barnabas.broker.net.connection import Connection
    from barnabas.client.node_connection import Address
    from barnabas.controller.journal import Journal
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.controller")

Probe = Callable[..., Awaitable[bool]]
"""`is_dead`, or what a test says."""

LATE_S = 0.1
"""A timer that is later than that: this process was held up, and has not read what came."""


@dataclass(frozen=True, slots=True)
class Active:
    """What there is only while this node is the controller."""

    journal: Journal
    controller: Controller
    feed: MetadataFeed | None
    """For brokers that are elsewhere; None where there is no listener for them."""

    @property
    def epoch(self) -> int:
        return self.journal.epoch


class ControllerPart:
    """`submit` is the port that the broker beside it uses; handlers of controller listeners use it
    too."""

    def __init__(
        self,
        config: BrokerConfig,
        machine: Machine,
        loop: asyncio.AbstractEventLoop,
        *,
        cluster_id: str,
        open_journal: Callable[[], Journal],
        bootstrap: Callable[[], Sequence[Message]],
        listeners: Sequence[BoundListener] = (),
        probe: Probe = is_dead,
    ) -> None:
        """`open_journal` gets a journal that nobody else may write any more; `bootstrap` the first
        records of a journal that is empty; `probe` says whether a process is dead."""
        self.config = config
        self.clock = machine.clock
        self.node_id = config.node_id
        self.cluster_id = cluster_id
        self.listeners = tuple(listeners)
        """Where brokers reach it; none for a node on its own."""
        self.active: Active | None = None
        self._random = machine.random
        self._loop = loop
        self._workers = machine.workers(loop, threads=1)
        self._open_journal = open_journal
        self._bootstrap = bootstrap
        self._grace_s = config.int("controller.broker.grace.ms") / 1000
        self._heard_on: dict[int, Connection] = {}
        """The connection that each broker's last heartbeat came on."""
        self._probe = probe
        self._probing: set[asyncio.Task[None]] = set()

    def activate(self) -> Controller:
        """Open the journal, replay it, and decide from now on."""
        assert self.active is None, "a controller is activated once"
        journal = self._open_journal()
        controller = Controller(
            journal=journal,
            image=ClusterImage(self.cluster_id),
            env=Environment(
                config=self.config,
                sessions=BrokerSessions(self.config.int("broker.session.timeout.ms")),
                random=self._random,
            ),
            now_ms=self.clock.now_ms,
        )
        controller.load(self._bootstrap() if journal.is_empty else ())
        self.active = Active(journal, controller, self._feed(controller, journal))
        return controller

    def _feed(self, controller: Controller, journal: Journal) -> MetadataFeed | None:
        if not self.listeners:
            return None
        from barnabas.broker.metadata_feed import MetadataFeed

        return MetadataFeed(
            controller,
            self._loop,
            self.clock,
            self._workers,
            node_id=self.node_id,
            epoch=journal.epoch,
        )

    def deactivate(self) -> None:
        """Decide nothing any more.  Requests under way are never answered: who asked asks again."""
        active, self.active = self.active, None
        self._heard_on.clear()
        for task in self._probing:
            task.cancel()
        if active is not None:
            if active.feed is not None:
                active.feed.close()
            active.controller.close()

    def close(self) -> None:
        """For good."""
        self.deactivate()
        self._workers.close()

    def submit(self, request: Message, done: Callable[[Message], None]) -> None:
        """Have it carried out; refused if this node is not the controller."""
        if self.active is None:
            done(decider.refuse(request, NotController()))
        else:
            self.active.controller.submit(request, done)

    def tick(self) -> None:
        """Periodic work of the controller, every second or so."""
        if self.active is not None:
            self.active.controller.tick()

    # -- brokers that vanish

    def heard_of(self, broker_id: int, connection: Connection | None) -> None:
        """That broker's registration or heartbeat was accepted.

        If what it came on breaks, and nothing is heard of the broker within a grace, it is gone:
        sooner than its session would tell, and sooner still if its port refuses connections.
        """
        if connection is None or self._heard_on.get(broker_id) is connection:
            return
        self._heard_on[broker_id] = connection
        connection.when_lost(partial(self._connection_lost, broker_id, connection))

    def _connection_lost(self, broker_id: int, connection: Connection) -> None:
        if self.active is None or self._heard_on.get(broker_id) is not connection:
            return
        self._wait(broker_id, connection)
        broker = self.active.controller.image.brokers.get(broker_id)
        if broker is not None:
            places = [(endpoint.host, endpoint.port) for endpoint in broker.endpoints]
            task = self._loop.create_task(self._look_after(broker_id, connection, places))
            self._probing.add(task)
            task.add_done_callback(self._probing.discard)

    async def _look_after(
        self, broker_id: int, connection: Connection, places: list[Address]
    ) -> None:
        is_dead = await self._probe(self._loop, places, grace_s=self._grace_s)
        if is_dead and self._is_missing(broker_id, connection):
            self._gone(broker_id)

    def _wait(self, broker_id: int, connection: Connection) -> None:
        due = self._loop.time() + self._grace_s
        self._loop.call_at(due, self._grace_over, broker_id, connection, due)

    def _grace_over(self, broker_id: int, connection: Connection, due: float) -> None:
        if not self._is_missing(broker_id, connection):
            return
        if self._loop.time() - due > LATE_S or self._is_stalled:  # it could not have been heard
            self._wait(broker_id, connection)
            return
        self._gone(broker_id)

    def _is_missing(self, broker_id: int, connection: Connection) -> bool:
        """Whether that broker was not heard of since that connection broke."""
        return self.active is not None and self._heard_on.get(broker_id) is connection

    @property
    def _is_stalled(self) -> bool:
        return self.active is not None and self.active.controller.is_stalled

    def _gone(self, broker_id: int) -> None:
        assert self.active is not None, "a controller that was deposed fences nobody"
        del self._heard_on[broker_id]
        broker = self.active.controller.image.brokers.get(broker_id)
        if broker is not None and not broker.fenced:
            logger.warning("broker %d has closed its connection and not come back", broker_id)
        self.active.controller.fence(broker_id)
