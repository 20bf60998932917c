"""Which node is the controller: the election in ZooKeeper, as one node takes part in it.

The node looks at `/controller`, and looks again whenever that changes.  If there is none it stands
itself; if it wins, it opens the journal and decides from then on, until it finds that another one
was elected or that its session has ended.  The steps are in `controller/zookeeper_claim.py`, and
with them what makes it safe.  Here is what makes it quick: a controller whose process is known to
be dead, because its port refuses connections, is replaced before its session ends.

While ZooKeeper cannot be reached everything stays as it is: the controller that was elected goes
on answering, and what it would have to write waits.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError
from barnabas.broker.probing import is_dead
from barnabas.controller.zookeeper import (
    ConnectionLost,
    SessionGone,
    SessionState,
    ZooKeeperError,
)
from barnabas.controller.zookeeper_claim import (
    Claim,
    Deposed,
    Holder,
    claim,
    look_at_controller,
    resign,
)
from barnabas.controller.zookeeper_journal import ZooKeeperJournal, open_journal

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.client.node_connection import Address
    from barnabas.controller.zookeeper import ZooKeeper
    from barnabas.controller.zookeeper_layout import ControllerNode

logger = logging.getLogger("barnabas.election")

REFUSED_S = 1.0
"""How long to wait after ZooKeeper has refused something, before it is tried again."""
FAILED_S, FAILED_S_MAX = 1.0, 60.0
"""How long a node that was elected and could not be the controller leaves it to others: each time
twice as long."""
RESIGN_S_MAX = 2.0
"""A node that stops does not wait longer for a ZooKeeper that does not answer."""

OnElected = Callable[[ZooKeeperJournal, int | None], None]
"""Gets the journal, and the id of the controller that was found dead, if that is why."""


class Election:
    """`start`, then `stop`.  It also knows where the controller is (`Whereabouts`)."""

    def __init__(
        self,
        zk: ZooKeeper,
        loop: asyncio.AbstractEventLoop,
        *,
        me: ControllerNode,
        listener: str,
        clock: Clock,
        grace_s: float,
        on_elected: OnElected,
        on_deposed: Callable[[], None],
        is_candidate: bool = True,
    ) -> None:
        """`listener`: the one over which brokers talk to the controller; `grace_s`: how long a
        controller's port refuses connections, at most, before it counts as dead."""
        self._zk = zk
        self._loop = loop
        self._me = me
        self._listener = listener
        self._clock = clock
        self._grace_s = grace_s
        self._on_elected = on_elected
        self._on_deposed = on_deposed
        self._is_candidate = is_candidate
        self._is_new = True
        self._failures = 0
        self._resting: asyncio.TimerHandle | None = None
        """Until then this node does not stand: it could not be the controller."""
        self._holder: Holder | None = None
        self._dead: Holder | None = None
        self._claim: Claim | None = None
        self._is_active = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._probing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._zk.listen(self._session_changed)
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """Stand no more; if this node is the controller, another one can be at once."""
        if self._resting is not None:
            self._resting.cancel()
        for task in (self._probing, self._task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        held = self._claim
        self._lose()
        if held is not None:
            await self._resign(held)

    @property
    def epoch(self) -> int | None:
        """Of this node as the controller; None while it is not."""
        return self._claim.epoch if self._claim is not None and self._is_active else None

    # -- where it is

    def address(self) -> Address | None:
        """Where brokers reach the controller; None while there is none."""
        if self._holder is None:
            return None
        for point in self._holder.node.endpoints:
            if point.listener == self._listener:
                return point.host, point.port
        return None

    def not_there(self, address: Address) -> None:
        """The controller does not answer there: find out whether it is dead."""
        holder = self._holder
        if holder is None or self._claim is not None or address != self.address():
            return
        if self._probing is None or self._probing.done():
            self._probing = self._loop.create_task(self._probe(holder, address))

    async def _probe(self, holder: Holder, address: Address) -> None:
        if await is_dead(self._loop, [address], grace_s=self._grace_s) and self._holder == holder:
            self._dead = holder
            self._changed.set()

    # -- standing

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._look()
            except (ConnectionLost, SessionGone) as error:
                logger.info("the election is looked at again: %s", type(error).__name__)
                await self._zk.connected()
                continue
            except ZooKeeperError as error:
                logger.warning("ZooKeeper does not let this node take part: %r", error)
                await asyncio.sleep(REFUSED_S)
                continue
            except Exception as error:
                # The journal cannot be read, or a fault of ours.  The others may be luckier.
                await self._leave_it_to_others(error)
            await self._changed.wait()

    async def _look(self) -> None:
        holder = await look_at_controller(self._zk, watch=self._changed.set)
        if self._claim is not None:
            if holder is not None and holder.session == self._claim.session:
                return
            self._lose()
        if holder != self._holder:
            self._holder = holder
            if holder is not None:
                logger.info("node %d is the controller", holder.node.node_id)
        may_stand = holder is None or self._may_replace(holder)
        self._is_new = False
        if self._is_candidate and may_stand and self._resting is None:
            await self._stand(holder)

    def _may_replace(self, holder: Holder) -> bool:
        """Whether it is known to be dead, or is an attempt of our own whose answer was lost, or the
        process that this one follows: it had the id and the addresses that are bound here now."""
        is_former_self = self._is_new and holder.node == self._me
        return is_former_self or holder == self._dead or holder.session == self._zk.session

    async def _stand(self, holder: Holder | None) -> None:
        dead = holder.node.node_id if holder is not None and holder == self._dead else None
        if dead is not None:
            logger.warning("the controller, node %d, is dead: standing for election", dead)
        won = await claim(self._zk, self._me, now_ms=self._clock.now_ms(), instead_of=holder)
        if won is None:
            self._changed.set()  # somebody else was faster: see who
            return
        self._claim = won
        try:
            journal = await open_journal(
                self._zk,
                won,
                node_id=self._me.node_id,
                spawn=self._loop.create_task,
                on_deposed=self._changed.set,
            )
        except Deposed:
            self._claim = None
        if self._claim is not won:
            self._changed.set()
            return
        logger.info("this node is the controller, epoch %d", won.epoch)
        self._holder = Holder(node=self._me, session=won.session)
        self._is_active = True
        self._on_elected(journal, dead)
        self._failures = 0
        self._changed.set()  # to watch it

    def _lose(self) -> None:
        self._claim = None
        if self._is_active:
            self._is_active = False
            logger.info("this node is not the controller any more")
            self._on_deposed()

    async def _leave_it_to_others(self, error: Exception) -> None:
        """For a while: what kept this node from being the controller may be over then."""
        pause_s = min(FAILED_S * 2**self._failures, FAILED_S_MAX)
        self._failures += 1
        logger.critical(
            "this node cannot be the controller, and does not stand for %g s: %s",
            pause_s,
            error,
            exc_info=None if isinstance(error, ApiError) else error,
        )
        self._resting = self._loop.call_later(pause_s, self._rested)
        held = self._claim
        self._lose()
        if held is not None:
            await self._resign(held)

    def _rested(self) -> None:
        self._resting = None
        self._changed.set()

    async def _resign(self, held: Claim) -> None:
        try:
            await asyncio.wait_for(resign(self._zk, held), RESIGN_S_MAX)
        except (ZooKeeperError, TimeoutError) as error:
            logger.warning("the next controller must wait for this session's end: %r", error)

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.GONE:
            self._lose()
        if state is SessionState.CONNECTED:
            self._changed.set()
