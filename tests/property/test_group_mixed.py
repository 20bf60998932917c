"""Groups in which both protocols meet: they change back and forth while members come and go."""

from __future__ import annotations

from itertools import count

from group_clients import ClassicClient, ModernClient, assert_disjoint
from group_machine import GROUP, GroupMachine, topic
from group_rules import GroupRules
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from barnabas.base.errors import ErrorCode

INSTANCES = (None, None, None, "i1", "i2")
TOPICS = (["t"], ["t", "u"])


class MixedGroupMachine(GroupRules):
    """A partition has one owner whatever protocol its members speak; the number goes on."""

    spans_ms = (1, 100, 1_000, 5_000, 10_000, 45_000, 60_000)
    rounds = 90

    def __init__(self) -> None:
        super().__init__(GroupMachine([topic("t", 4), topic("u", 2)]))
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

    @invariant()
    def numbers_rise(self) -> None:
        for client in self.clients:
            told = client.epochs if isinstance(client, ModernClient) else client.generations
            assert told == sorted(told)

    def teardown(self) -> None:
        super().teardown()
        live = [client for client in self.clients if not client.gone]
        if live:
            group = self.machine.shard.state.groups[GROUP]
            modern = any(isinstance(client, ModernClient) for client in live)
            assert group.kind == ("consumer" if modern else "classic") or not modern


MixedGroupMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
TestMixedGroups = MixedGroupMachine.TestCase
