"""Everything that can be broken, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from barnabas.lab.faults.disk_state import DiskState, Felt
from barnabas.lab.faults.expelling import expel
from barnabas.lab.faults.fault import Fault, NotPossible
from barnabas.lab.faults.gate import CLIENTS
from barnabas.lab.faults.held_fetch import Hold
from barnabas.lab.faults.relays import Cut, Standing, Trigger
from barnabas.lab.faults.rules import Action, Match, Rule, api_key

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.cluster.broker import LabBroker
    from barnabas.lab.faults.conditions import Condition
    from barnabas.lab.faults.passing import Direction


class Which(TypedDict, total=False):
    """Which messages a fault strikes; what is left out does not matter."""

    api: str | None
    """Its name in the protocol: `Produce`, `Fetch`, `OffsetCommit`, ..."""
    direction: Direction
    """`request` if left out, or `response`."""
    topic: str | None
    partition: int | None
    """Messages that name it, for others too perhaps."""
    client: str | None
    """Of this client id.  What brokers send each other has the client id `broker-N`."""
    broker: int | None
    """What this node is asked, and answers."""
    times: int | None
    """So often at most."""
    when: Condition | None
    """Only while this holds; it is asked after the message itself was counted."""


class Faults:
    """Of one cluster.  Any thread may call; every fault is lifted at the end of the cluster.

    The first four take the keywords of `Which`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._relays = cluster.relays
        self._lock = threading.Lock()
        self._made: list[Fault] = []
        self._disks_lock = threading.Lock()
        self._disks: dict[int, Mapping[Fault, DiskState]] = {}
        """What is wrong with each broker's disk; a new mapping with every change."""

    @property
    def made(self) -> list[Fault]:
        """All of them so far, lifted or not, in order."""
        return list(self._made)

    # -- messages

    def drop(self, *, close: bool = True, **which: Unpack[Which]) -> Fault:
        """A message gets lost.  As TCP loses nothing, its connection ends with it; with
        `close=False` it is swallowed and the connection goes on, which no network does."""
        return self._rule(Action.DROP if close else Action.SWALLOW, which)

    def delay(self, seconds: float, **which: Unpack[Which]) -> Fault:
        """A message, and all that follow it on its connection, come so much later."""
        return self._rule(Action.DELAY, which, seconds)

    def duplicate(self, **which: Unpack[Which]) -> Fault:
        """A message comes twice.  Of a request that came twice the second answer is swallowed."""
        return self._rule(Action.DUPLICATE, which)

    def reorder(self, *, wait_s: float = 1.0, **which: Unpack[Which]) -> Fault:
        """A message is overtaken by the next one of its connection, if one comes in `wait_s`."""
        return self._rule(Action.REORDER, which, wait_s)

    def lose_ack(
        self,
        topic: str,
        partition: int | None = None,
        times: int | None = 1,
        *,
        when: Condition | None = None,
    ) -> Fault:
        """The leader has appended, and acknowledges; the answer is lost with its connection."""
        which: Which = {"api": "Produce", "direction": "response", "topic": topic}
        return self._rule(
            Action.DROP,
            {**which, "partition": partition, "times": times, "when": when},
            acknowledges=True,
        )

    def _rule(
        self, action: Action, which: Which, seconds: float = 0.0, *, acknowledges: bool = False
    ) -> Fault:
        api, topic = which.get("api"), which.get("topic")
        if topic is None and which.get("partition") is not None:
            raise ValueError("a partition, but of which topic?")
        match = Match(
            direction=which.get("direction") or "request",
            api=None if api is None else api_key(api),
            topic=topic,
            partition=which.get("partition"),
            client=which.get("client"),
            broker=which.get("broker"),
            acknowledges=acknowledges,
        )
        if topic is not None:
            self._cluster.try_to_know(topic)
        rule = Rule(
            match=match,
            action=action,
            seconds=seconds,
            when=which.get("when"),
            left=which.get("times"),
        )
        return self._stand(f"{action.value} {match}", lambda fault: Standing(fault, rule), "rules")

    # -- links

    def cut(self, one: int, other: int, *, silent: bool = False) -> Fault:
        """Two nodes do not reach each other, both ways; everybody else reaches both.

        Their connections end, and new ones end at once.  With `silent` nothing ends: what they say
        is held until the cut is lifted, so that they find out by waiting.
        """
        for node in (one, other):
            self._known(node)
        return self._cut(f"cut {one} from {other}", [frozenset((one, other))], silent=silent)

    def isolate(self, broker: int, *, clients: bool = False, silent: bool = False) -> Fault:
        """A broker reaches no other node, the controller included; clients still reach it, unless
        `clients`."""
        self._known(broker)
        others = {*self._cluster.nodes(), *([CLIENTS] if clients else [])} - {broker}
        pairs = [frozenset((broker, other)) for other in sorted(others)]
        return self._cut(f"isolate {broker}", pairs, silent=silent)

    def cut_controller(self, broker: int, *, silent: bool = False) -> Fault:
        """A broker does not reach the controller, but all else.  On ZooKeeper that is the broker
        that is controller now, and ZooKeeper itself."""
        self._known(broker)
        others = self._cluster.controllers() - {broker}
        if not others:
            raise NotPossible(f"broker {broker} is its own controller")
        pairs = [frozenset((broker, other)) for other in sorted(others)]
        return self._cut(f"cut {broker} from the controller", pairs, silent=silent)

    def _known(self, node: int) -> None:
        self._ours(f"cut {node} off")
        if node not in self._cluster.nodes():
            raise ValueError(f"there is no node {node}; nodes are {self._cluster.nodes()}")

    def _cut(self, text: str, pairs: Iterable[frozenset[int]], *, silent: bool) -> Fault:
        standing: list[Cut] = []
        fault = Fault(text, lambda: self._relays.call(lambda: self._mend(standing)))
        standing += [Cut(fault, pair, silent=silent) for pair in pairs]

        def begin() -> None:
            self._relays.cuts += standing
            self._relays.end_cut_connections()

        self._relays.call(begin)
        return self._note(fault)

    def _mend(self, cuts: Iterable[Cut]) -> None:
        for cut in cuts:
            self._relays.cuts.remove(cut)
            cut.lifted.set()

    # -- replication

    def hold_replication(
        self, topic: str, partition: int, at_offset: int, follower: int | None = None
    ) -> Fault:
        """Followers, or one of them, get no record of the partition at this offset or behind it.

        They go on fetching, and stay in sync as long as `replica.lag.time.max.ms` lets them.
        Batches are not cut in two: a follower stops before the batch that has the offset.
        """
        self._ours("hold replication")
        hold = Hold(
            topic=topic,
            topic_id=self._cluster.topic_id(topic),
            partition=partition,
            at_offset=at_offset,
            follower=follower,
        )
        who = "followers" if follower is None else f"follower {follower}"
        text = f"hold {who} of {topic}-{partition} at {at_offset}"
        return self._stand(text, lambda fault: Standing(fault, hold), "holds")

    # -- disks: what is wrong with one adds up

    def slow_disk(self, broker: int, seconds: float) -> Fault:
        """Every write and flush of this node takes so much longer."""
        return self._disk(broker, f"slow disk of {broker}", DiskState(slow_s=seconds))

    def full_disk(self, broker: int) -> Fault:
        """Every write of this node fails as on a disk without room."""
        return self._disk(broker, f"full disk of {broker}", DiskState(full=True))

    def _disk(self, broker: int, text: str, state: DiskState) -> Fault:
        self._ours("break a disk")
        node = self._cluster.brokers[broker]
        fault = self._note(Fault(text, lambda: self._mend_disk(node, fault)))
        with self._disks_lock:
            bad = self._disks[broker] = {**self._disks.get(broker, {}), fault: state}
            node.on_disk_felt = lambda felt: self._felt(broker, felt)
            node.set_disk(DiskState.together(bad.values()))
        return fault

    def _mend_disk(self, node: LabBroker, fault: Fault) -> None:
        """What else is wrong with the disk stays so."""
        with self._disks_lock:
            bad = {each: state for each, state in self._disks[node.id].items() if each is not fault}
            try:
                node.set_disk(DiskState.together(bad.values()))
            finally:
                self._disks[node.id] = bad  # what was felt until here was felt of this one, too

    def _felt(self, broker: int, felt: Felt) -> None:
        """On the thread that hears the node; it must not wait for who changes the disk."""
        for fault, state in self._disks[broker].items():
            if state.causes(felt):
                fault.hit()

    # -- groups

    def expire_session(self, group: str, member: str | None = None) -> Fault:
        """The coordinator forgets a member (by member id, client id or instance id), or all, as it
        does when a session ends; the member learns of it with its next heartbeat.

        Done at once, with the call that operators have for it; nothing is left to lift.
        """
        fault = Fault(f"expire session of {member or 'all'} in {group}")
        fault.hit(expel(self._cluster.eyes, group, member))
        return self._note(fault)

    # -- moments

    def at(self, when: Condition, action: Callable[[], object], text: str = "") -> Fault:
        """Do something once, at the moment when the condition first holds.

        No frame passes meanwhile.  When `cluster.brokers[1].kill` is the action, nothing that the
        broker said is heard any more, not even the answer that made the condition true.

        The action must not wait for the cluster itself: kill, freeze and thaw brokers, `stop` them
        (it does not wait here), make and lift faults, set events.  `wait_hits()` returns when it is
        done; what it raises, `wait_hits` raises.
        """
        self._cluster.try_to_know(*when.topics)
        fault = self._stand(
            text or f"at {when}", lambda fault: Trigger(fault, action, when), "triggers"
        )
        self._relays.call(self._relays.noted)
        return fault

    # -- all of them

    def _ours(self, what: str) -> None:
        if not self._cluster.brokers:
            raise NotPossible(f"cannot {what} in a cluster that is not the lab's own")

    def lift_all(self) -> None:
        """Everything is well again."""
        for fault in reversed(self.made):
            fault.lift()

    def _note(self, fault: Fault) -> Fault:
        with self._lock:
            self._made.append(fault)
        return fault

    def _stand(self, text: str, make: Callable[[Fault], Standing[Any]], where: str) -> Fault:
        """Put something into a list of the relays, until its fault is lifted."""
        standing_list: list[Standing[Any]] = getattr(self._relays, where)

        def end() -> None:
            if standing in standing_list:
                standing_list.remove(standing)
            standing.lifted.set()

        fault = Fault(text, lambda: self._relays.call(end))
        standing = make(fault)
        self._relays.call(lambda: standing_list.append(standing))
        return self._note(fault)
