"""Consumers as state machines: they behave as clients do, one step at a time."""

from __future__ import annotations

from typing import Any, TypeVar

from group_machine import GROUP, GroupMachine, Pending, assignment, given, subscription

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group.embedded import decode_assignment, decode_subscription
from barnabas.coordinator.group.state import Group

E = ErrorCode
T = TypeVar("T")


class ClassicClient:
    """An eager consumer of the classic protocol: it gives up everything before it joins again."""

    def __init__(
        self, machine: GroupMachine, topics: list[str], instance: str | None = None
    ) -> None:
        self.machine = machine
        self.topics = topics
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.owned: dict[str, list[int]] = {}
        self.joining: Pending | None = None
        self.syncing: Pending | None = None
        self.gone = False
        """Fenced by another of its instance id, or left: it does nothing any more."""
        self.generations: list[int] = []
        """All for which it got an assignment, in order, under its present id.  A generation that
        was only joined is not written yet, and may come again after a failure."""

    def step(self) -> None:
        """Do the next thing, unless it waits for an answer."""
        if self.gone:
            return
        if self.joining is not None:
            if not self.joining.waits:
                reply, self.joining = self.joining.reply, None
                self._joined(reply)
        elif self.syncing is not None:
            if not self.syncing.waits:
                reply, self.syncing = self.syncing.reply, None
                self._synced(reply)
        elif self.generation < 0:
            self._join()
        else:
            self._heartbeat()

    def _join(self) -> None:
        self.owned = {}
        self.joining = self.machine.join(
            self.member_id,
            instance=self.instance,
            protocols=[("range", subscription(*self.topics))],
        )

    def _joined(self, reply: Any) -> None:
        match reply.error_code:
            case E.NONE:
                self.member_id = reply.member_id
                self.generation = reply.generation_id
                plan = self._plan(reply) if reply.leader == self.member_id else {}
                if reply.skip_assignment:
                    plan = {}
                self.syncing = self.machine.sync(
                    self.member_id, self.generation, plan, instance=self.instance
                )
            case E.MEMBER_ID_REQUIRED:
                self.member_id = reply.member_id
            case E.UNKNOWN_MEMBER_ID:
                self._reset()
            case E.FENCED_INSTANCE_ID:
                self.gone = True
                self.owned = {}
            case E.REBALANCE_IN_PROGRESS | E.NOT_COORDINATOR:
                pass
            case _:
                raise AssertionError(f"join: {E(reply.error_code).name}")

    def _plan(self, reply: Any) -> dict[str, bytes]:
        """Partitions dealt out in turn, topic by topic."""
        readers = {m.member_id: decode_subscription(m.metadata).topics for m in reply.members}
        shares: dict[str, dict[str, list[int]]] = {member: {} for member in readers}
        for name in sorted({topic for topics in readers.values() for topic in topics}):
            info = self.machine.topics.get(name)
            takers = [member for member, topics in readers.items() if name in topics]
            for index in range(info.partitions if info else 0):
                shares[takers[index % len(takers)]].setdefault(name, []).append(index)
        return {m: assignment(self.machine.topics, share) for m, share in shares.items()}

    def _synced(self, reply: Any) -> None:
        match reply.error_code:
            case E.NONE:
                partitions, _ = decode_assignment(reply.assignment, self.machine.topics)
                self.generations.append(self.generation)
                self.owned = {
                    topic.decode().rstrip("."): sorted(indexes)
                    for topic, indexes in partitions.items()
                }
            case E.REBALANCE_IN_PROGRESS | E.NOT_COORDINATOR:
                self.generation = -1
            case E.ILLEGAL_GENERATION | E.UNKNOWN_MEMBER_ID:
                self._reset()
            case E.FENCED_INSTANCE_ID:
                self.gone = True
                self.owned = {}
            case _:
                raise AssertionError(f"sync: {E(reply.error_code).name}")

    def _heartbeat(self) -> None:
        code = self.machine.heartbeat(self.member_id, self.generation, instance=self.instance)
        match code:
            case E.NONE:
                pass
            case E.REBALANCE_IN_PROGRESS:
                self.generation = -1
                self._join()
            case E.ILLEGAL_GENERATION | E.UNKNOWN_MEMBER_ID:
                self._reset()
            case E.FENCED_INSTANCE_ID:
                self.gone = True
                self.owned = {}
            case _:
                raise AssertionError(f"heartbeat: {E(code).name}")

    def _reset(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.owned = {}
        self.generations = []

    def leave(self) -> None:
        self.gone = True
        self.owned = {}
        if self.member_id:
            self.machine.leave((self.member_id, self.instance))

    def commit(self, offset: int) -> int:
        return self.machine.commit(
            offset, member=self.member_id, epoch=self.generation, instance=self.instance
        )


class ModernClient:
    """A consumer of the newer protocol; answers to it may be lost."""

    def __init__(
        self,
        machine: GroupMachine,
        member_id: str,
        *,
        names: list[str] | None = None,
        regex: str | None = None,
        instance: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.machine = machine
        self.member_id = member_id
        self.names = names
        self.regex = regex
        self.instance = instance
        self.assignor = assignor
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}
        self.target: dict[str, list[int]] | None = None
        """What it was told to have, if that is not what it has."""
        self.full = True
        """Tell everything next time, because an answer may be lost."""
        self.gone = False
        self.epochs: list[int] = []
        """All that it was told since it joined, in order."""

    def step(self, *, lost: bool = False) -> None:
        """One heartbeat; with `lost` its answer does not arrive."""
        if self.gone:
            return
        if self.epoch == 0:
            self.owned = {}
        if self.target is not None:
            self.owned, self.target = self.target, None
            acknowledges = True
        else:
            acknowledges = False
        tell = self.full or self.epoch == 0
        reply = self.machine.consume(
            self.member_id,
            self.epoch,
            names=self._told(self.names, []) if tell else None,
            regex=self._told(self.regex, "") if tell else None,
            owned=self.owned if tell or acknowledges else None,
            instance=self.instance,
            assignor=self.assignor if tell else None,
            rebalance_ms=60_000 if tell else -1,
        )
        if lost:
            self.full = True
            return
        self._answered(reply)

    def _told(self, value: T | None, nothing: T) -> T | None:
        """Null leaves things as they are: in the place of a static member, as that had them."""
        return value if self.instance is None or value is not None else nothing

    def _answered(self, reply: Any) -> None:
        match reply.error_code:
            case E.NONE:
                self.full = False
                self.epoch = reply.member_epoch
                self.epochs.append(self.epoch)
                if reply.assignment is not None and given(reply) != self.owned:
                    self.target = given(reply)
            case E.UNKNOWN_MEMBER_ID | E.FENCED_MEMBER_EPOCH:
                self.epoch = 0
                self.epochs = []
                self.owned = {}
                self.target = None
            case E.NOT_COORDINATOR:
                self.full = True
            case E.UNRELEASED_INSTANCE_ID | E.FENCED_INSTANCE_ID | E.GROUP_ID_NOT_FOUND:
                self.gone = True
                self.owned = {}
                self.target = None
            case _:
                raise AssertionError(f"{E(reply.error_code).name}: {reply.error_message}")

    @property
    def holds(self) -> dict[str, list[int]]:
        """What it works on: all it has, and what it is about to take."""
        if self.target is None:
            return self.owned
        names = {*self.owned, *self.target}
        return {
            name: sorted({*self.owned.get(name, ()), *self.target.get(name, ())}) for name in names
        }

    def leave(self, *, for_now: bool = False) -> None:
        self.gone = True
        self.owned = {}
        self.target = None
        if self.epoch:
            epoch = -2 if for_now and self.instance else -1
            self.machine.consume(self.member_id, epoch, instance=self.instance)

    def commit(self, offset: int) -> int:
        return self.machine.commit(
            offset, member=self.member_id, epoch=self.epoch, instance=self.instance
        )


Client = ClassicClient | ModernClient


def holdings(clients: list[Client], group: Group | None) -> list[dict[str, list[int]]]:
    """What members of the group work on; others are fenced, whatever they believe."""
    members = {} if group is None else group.members
    return [
        client.holds if isinstance(client, ModernClient) else client.owned
        for client in clients
        if client.member_id in members
    ]


def assert_disjoint(clients: list[Client], machine: GroupMachine) -> None:
    """No partition is worked on by two members at once."""
    taken: set[tuple[str, int]] = set()
    for held in holdings(clients, machine.shard.state.groups.get(GROUP)):
        for name, indexes in held.items():
            for index in indexes:
                assert (name, index) not in taken, f"{name}-{index} has two owners"
                taken.add((name, index))


def settled(clients: list[Client], machine: GroupMachine, rounds: int = 60) -> None:
    """Let all behave until nothing changes any more."""
    for _ in range(rounds):
        for client in clients:
            client.step()
            assert_disjoint(clients, machine)
        machine.advance(1_000)


def assert_all_assigned(clients: list[Client], machine: GroupMachine) -> None:
    """Every partition that someone reads is in exactly one member's hands."""
    live = [client for client in clients if not client.gone]
    wanted: set[tuple[str, int]] = set()
    for client in live:
        for name in _reads(client, machine):
            info = machine.topics.get(name)
            wanted |= {(name, index) for index in range(info.partitions if info else 0)}
    has = [(n, i) for c in live for n, indexes in c.owned.items() for i in indexes]
    assert sorted(has) == sorted(wanted)


def _reads(client: Client, machine: GroupMachine) -> set[str]:
    if isinstance(client, ClassicClient):
        return set(client.topics)
    names = set(client.names or ())
    if client.regex:
        from barnabas.coordinator.group.regex import matching

        names |= matching(client.regex, list(machine.topics.names()))
    return names
