"""Who may write the journal: the election, one step at a time.

A candidate makes `/controller`, which goes with its session, and counts `/controller_epoch` up in
the same transaction.  The version that the epoch's node has then is its claim: every write checks
it.  Safety rests on that alone.  Sessions, watches and time only decide how soon a dead controller
is replaced, so that one that is known to be dead can be replaced before its session has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from barnabas.base.errors import NotController, StorageFailed
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper import (
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    Put,
    SessionGone,
    Step,
    ZooKeeper,
)
from barnabas.controller.zookeeper_layout import ControllerNode


class Deposed(NotController):
    """Another controller was elected, or may be: this one must not decide any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to write, won in an election."""

    epoch: int
    version: int
    """Of `/controller_epoch` since then: as long as it is this, nobody else was elected."""
    session: int
    """With which `/controller` was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The controller that stands in ZooKeeper."""

    node: ControllerNode
    session: int


async def look_at_controller(
    zk: ZooKeeper, *, watch: Callable[[], None] | None = None
) -> Holder | None:
    """Who is the controller; None if there is none.  `watch` is called when that may change."""
    found = await zk.look(layout.CONTROLLER, watch=watch)
    if found is None:
        return None
    return Holder(node=ControllerNode.decode(found.data), session=found.owner)


async def claim(
    zk: ZooKeeper, me: ControllerNode, *, now_ms: int, instead_of: Holder | None = None
) -> Claim | None:
    """Try to become the controller; None if somebody else was faster.

    `instead_of` is the controller that is to be deposed: it is dead, or it is an earlier session or
    a lost attempt of our own.
    """
    session = await zk.connected()
    epoch, version = await _epoch(zk)
    node = me.encode(now_ms)
    steps: list[Step] = [Put(layout.CONTROLLER_EPOCH, str(epoch + 1).encode(), version)]
    if instead_of is not None:
        # The epoch was read first: if it still stands, so does this controller.
        if await look_at_controller(zk) != instead_of:
            return None
        steps.append(Delete(layout.CONTROLLER))
    steps.append(Create(layout.CONTROLLER, node, ephemeral=True))
    try:
        await zk.write(*steps)
    except (NodeExists, NoNode, BadVersion):
        return None
    return Claim(epoch=epoch + 1, version=version + 1, session=session)


async def _epoch(zk: ZooKeeper) -> tuple[int, int]:
    """The epoch of the last controller, and the version of the node that holds it."""
    found = await zk.look(layout.CONTROLLER_EPOCH)
    if found is None:
        try:
            await zk.write(Create(layout.CONTROLLER_EPOCH, b"0"))
        except NodeExists:
            return await _epoch(zk)
        return 0, 0
    if not found.data.isdigit():
        raise StorageFailed(f"{layout.CONTROLLER_EPOCH} in ZooKeeper is no number: {found.data!r}")
    return int(found.data), found.version


async def resign(zk: ZooKeeper, claim: Claim) -> None:
    """Let others stand at once, instead of when the session ends."""
    try:
        await zk.write(Check(layout.CONTROLLER_EPOCH, claim.version), Delete(layout.CONTROLLER))
    except (NoNode, BadVersion):
        pass  # the place was free, or another's, already


async def check_claim(zk: ZooKeeper, claim: Claim) -> None:
    """Wait for a connection, then make sure that nobody was elected since.  `Deposed` otherwise."""
    while True:
        if await zk.connected() != claim.session:
            raise Deposed("the session with ZooKeeper has ended")
        try:
            epoch = await zk.look(layout.CONTROLLER_EPOCH)
        except (ConnectionLost, SessionGone):
            continue
        if epoch is None or epoch.version != claim.version:
            raise Deposed(f"a controller was elected after epoch {claim.epoch}")
        return
