"""Groups in which both protocols meet: they change back and forth while members come and go."""

from __future__ import annotations

from itertools import count

from group_clients import (
    ClassicClient,
    Client,
    ModernClient,
    assert_all_assigned,
    assert_disjoint,
    settled,
)
from group_machine import GROUP, GroupMachine, topic
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.base.errors import ErrorCode, StorageFailed

INSTANCES = (None, None, None, "i1", "i2")
TOPICS = (["t"], ["t", "u"])
SPANS_MS = (1, 100, 1_000, 5_000, 10_000, 45_000, 60_000)


class MixedGroupMachine(RuleBasedStateMachine):
    """A partition has one owner whatever protocol its members speak; the number goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = GroupMachine([topic("t", 4), topic("u", 2)])
        self.clients: list[Client] = []
        self.names = count()
        self.upgrades = 0

    @precondition(lambda self: len(self.clients) < 5)
    @rule(
        instance=st.sampled_from(INSTANCES),
        topics=st.sampled_from(TOPICS),
        modern=st.booleans(),
    )
    def start(self, instance: str | None, topics: list[str], modern: bool) -> None:
        if modern:
            name = f"m{next(self.names)}"
            self.clients.append(ModernClient(self.machine, name, names=topics, instance=instance))
        else:
            self.clients.append(ClassicClient(self.machine, topics, instance))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), times=st.integers(1, 4))
    def step(self, data: st.DataObject, times: int) -> None:
        client = data.draw(st.sampled_from(self.clients))
        for _ in range(times):
            client.step()

    @rule(rounds=st.integers(1, 8))
    def all_step(self, rounds: int) -> None:
        for _ in range(rounds):
            for client in self.clients:
                client.step()
                assert_disjoint(self.clients, self.machine)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        client.leave()
        self.clients.remove(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self.clients.remove(data.draw(st.sampled_from(self.clients)))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), topics=st.sampled_from(TOPICS))
    def replace(self, data: st.DataObject, topics: list[str]) -> None:
        """A static member comes back with the other protocol: how such groups are rolled."""
        client = data.draw(st.sampled_from(self.clients))
        if client.instance is None:
            return
        self.clients.remove(client)
        if isinstance(client, ModernClient):
            client.leave(for_now=True)
            self.clients.append(ClassicClient(self.machine, topics, client.instance))
        else:
            name = f"m{next(self.names)}"
            self.clients.append(
                ModernClient(self.machine, name, names=topics, instance=client.instance)
            )

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), offset=st.integers(0, 100))
    def commit(self, data: st.DataObject, offset: int) -> None:
        """What was accepted is there, also when the group has changed since."""
        client = data.draw(st.sampled_from(self.clients))
        before = self.machine.fetch()
        code = client.commit(offset)
        assert self.machine.fetch() == ((offset, 0) if code == ErrorCode.NONE else before)

    @rule(ms=st.sampled_from(SPANS_MS))
    def wait(self, ms: int) -> None:
        self.machine.advance(ms)

    @rule(compacted=st.booleans())
    def restart(self, compacted: bool) -> None:
        if compacted:
            self.machine.log.batches = self.machine.log.compacted()
        self.machine.restart()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def fail_an_append(self, data: st.DataObject) -> None:
        """The next thing that is written is lost; nobody may believe that it was."""
        self.machine.log.refuse = StorageFailed("full")
        for client in data.draw(st.permutations(self.clients)):
            client.step()
        self.machine.log.refuse = None

    @invariant()
    def nothing_has_two_owners(self) -> None:
        assert_disjoint(self.clients, self.machine)

    @invariant()
    def numbers_rise(self) -> None:
        for client in self.clients:
            told = client.epochs if isinstance(client, ModernClient) else client.generations
            assert told == sorted(told)

    @invariant()
    def the_log_tells_everything_durable(self) -> None:
        durable = self.machine.shard.dump()
        assert self.machine.copy_from(self.machine.log.batches).dump() == durable
        assert self.machine.copy_from(self.machine.log.compacted()).dump() == durable

    def teardown(self) -> None:
        settled(self.clients, self.machine, rounds=90)
        assert_all_assigned(self.clients, self.machine)
        live = [client for client in self.clients if not client.gone]
        if live:
            group = self.machine.shard.state.groups[GROUP]
            assert {c.member_id for c in live} == set(group.members)
            modern = any(isinstance(client, ModernClient) for client in live)
            assert group.kind == ("consumer" if modern else "classic") or not modern


MixedGroupMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
TestMixedGroups = MixedGroupMachine.TestCase
