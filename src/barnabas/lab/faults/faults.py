"""Everything that can be broken, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from barnabas.lab.faults.conditions import Condition
    from barnabas.lab.faults.fault import Fault

Direction = Literal["request", "response"]


class Faults:
    """Of one cluster.  Any thread may call; every fault is lifted at the end of the cluster.

    What the first four have in common:
    `api`: its name in the protocol (`Produce`, `Fetch`, `OffsetCommit`, ...); None: any.
    `topic`, `partition`: only messages that name it.  `client`: only of this client id; what
    brokers send each other has the client id `broker-N`.  `broker`: only to or from this node.
    `times`: strike so often at most.  `when`: strike only while this condition holds; it is asked
    after the frame in question was counted.
    """

    def drop(
        self,
        *,
        api: str | None = None,
        direction: Direction = "request",
        topic: str | None = None,
        partition: int | None = None,
        client: str | None = None,
        broker: int | None = None,
        times: int | None = None,
        when: Condition | None = None,
        close: bool = True,
    ) -> Fault:
        """A message gets lost.  As TCP loses nothing, its connection ends with it; with
        `close=False` it is swallowed and the connection goes on, which no network does."""

    def delay(
        self,
        seconds: float,
        *,
        api: str | None = None,
        direction: Direction = "request",
        topic: str | None = None,
        partition: int | None = None,
        client: str | None = None,
        broker: int | None = None,
        times: int | None = None,
        when: Condition | None = None,
    ) -> Fault:
        """A message, and all that follow it on its connection, come so much later."""

    def duplicate(
        self,
        *,
        api: str | None = None,
        direction: Direction = "request",
        topic: str | None = None,
        partition: int | None = None,
        client: str | None = None,
        broker: int | None = None,
        times: int | None = None,
        when: Condition | None = None,
    ) -> Fault:
        """A message comes twice.  Of a request that came twice the second answer is swallowed."""

    def reorder(
        self,
        *,
        api: str | None = None,
        direction: Direction = "request",
        topic: str | None = None,
        partition: int | None = None,
        client: str | None = None,
        broker: int | None = None,
        times: int | None = None,
        when: Condition | None = None,
        wait_s: float = 1.0,
    ) -> Fault:
        """A message is overtaken by the next one of its connection, if one comes in `wait_s`."""

    def lose_ack(
        self,
        topic: str,
        partition: int | None = None,
        times: int | None = 1,
        *,
        when: Condition | None = None,
    ) -> Fault:
        """The leader has appended, and acknowledges; the answer is lost with its connection."""

    def cut(self, one: int, other: int, *, silent: bool = False) -> Fault:
        """Two nodes do not reach each other, both ways; everybody else reaches both.

        Their connections end, and new ones end at once.  With `silent` nothing ends: what they say
        is held until the cut is lifted, so that they find out by waiting.
        """

    def isolate(self, broker: int, *, clients: bool = False, silent: bool = False) -> Fault:
        """A broker reaches no other node, the controller included; clients still reach it, unless
        `clients`."""

    def cut_controller(self, broker: int, *, silent: bool = False) -> Fault:
        """A broker does not reach the controller (on ZooKeeper: ZooKeeper), but all else."""

    def hold_replication(
        self, topic: str, partition: int, at_offset: int, follower: int | None = None
    ) -> Fault:
        """Followers, or one of them, get no record of the partition at this offset or behind it.

        They go on fetching, and stay in sync as long as `replica.lag.time.max.ms` lets them.
        Batches are not cut in two: a follower stops before the batch that has the offset.
        """

    def slow_disk(self, broker: int, seconds: float) -> Fault:
        """Every write and flush of this node takes so much longer."""

    def full_disk(self, broker: int) -> Fault:
        """Every write of this node fails as on a disk without room."""

    def expire_session(self, group: str, member: str | None = None) -> Fault:
        """The coordinator forgets a member (by member id, client id or instance id), or all, as it
        does when a session ends; the member learns of it with its next heartbeat.

        Done at once, with the call that operators have for it; nothing is left to lift.
        """

    def at(self, when: Condition, action: Callable[[], object], text: str = "") -> Fault:
        """Do something once, at the moment when the condition first holds.

        No frame passes meanwhile: when `cluster.brokers[1].kill` is the action, nothing that the
        broker would have said next is heard.  So the action must not wait for the cluster itself:
        stop, kill, freeze and thaw brokers, make and lift faults, set events.  `wait_hits()`
        returns when it is done; what it raises, `wait_hits` raises.
        """

    def lift_all(self) -> None:
        """Everything is well again."""
