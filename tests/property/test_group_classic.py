"""Classic groups: whatever members do, in whatever order, and however the broker fails."""

from __future__ import annotations

from group_clients import ClassicClient
from group_machine import GROUP, GroupMachine, topic
from group_rules import GroupRules
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group.classic.group import ClassicGroup, State

INSTANCES = (None, None, "i1", "i2")
TOPICS = (["t"], ["t"], ["t", "u"], ["u"])


class ClassicGroupMachine(GroupRules):
    """One generation is active, its members share everything out, and no one else commits."""

    spans_ms = (1, 50, 100, 1_000, 5_000, 10_000, 60_000)

    def __init__(self) -> None:
        super().__init__(GroupMachine([topic("t", 3), topic("u", 2)]))

    @property
    def group(self) -> ClassicGroup | None:
        return self.machine.shard.state.classic(GROUP)

    @precondition(lambda self: len(self.clients) < 6)
    @rule(instance=st.sampled_from(INSTANCES), topics=st.sampled_from(TOPICS))
    def start(self, instance: str | None, topics: list[str]) -> None:
        self.clients.append(ClassicClient(self.machine, topics, instance))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), times=st.integers(1, 4))
    def step(self, data: st.DataObject, times: int) -> None:
        client = data.draw(st.sampled_from(self.clients))
        for _ in range(times):
            client.step()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        client.leave()
        self.clients.remove(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), offset=st.integers(0, 100), late=st.integers(0, 2))
    def commit(self, data: st.DataObject, offset: int, late: int) -> None:
        client = data.draw(st.sampled_from(self.clients))
        assert isinstance(client, ClassicClient)
        generation = client.generation - late
        group = self.group
        member = None if group is None else group.members.get(client.member_id)
        allowed = (
            group is not None
            and member is not None
            and member.instance_id == client.instance
            and generation == group.generation
            and group.state is not State.COMPLETING
        ) or (generation < 0 and (group is None or group.is_empty))
        code = self.machine.commit(
            offset, member=client.member_id, epoch=generation, instance=client.instance
        )
        assert (code == 0) == allowed, ErrorCode(code).name
        if code == 0:
            assert self.machine.fetch() == (offset, 0)

    @rule(offset=st.integers(0, 100), producer=st.integers(1, 2))
    def txn_commit(self, offset: int, producer: int) -> None:
        before = self.machine.fetch()
        assert self.machine.txn_commit(offset, producer=producer) == 0
        assert self.machine.fetch() == before
        assert self.machine.fetch(require_stable=True)[1] == ErrorCode.UNSTABLE_OFFSET_COMMIT

    @rule(producer=st.integers(1, 2), committed=st.booleans())
    def end_txn(self, producer: int, committed: bool) -> None:
        self.machine.end_txn(producer=producer, committed=committed)

    @invariant()
    def generations_rise(self) -> None:
        for client in self.clients:
            assert isinstance(client, ClassicClient)
            assert client.generations == sorted(client.generations)

    @invariant()
    def who_waits_is_known(self) -> None:
        """Requests that are parked are those that members' tickets stand for."""
        slot = self.machine.runtime._slots[0]
        tickets = set()
        for group in self.machine.shard.state.groups.values():
            assert isinstance(group, ClassicGroup)
            for member in group.members.values():
                tickets |= {member.join_ticket, member.sync_ticket}
            assert group.joining == sum(m.join_ticket is not None for m in group.members.values())
            if group.state is State.STABLE:
                assert not any(m.sync_ticket for m in group.members.values())
        assert set(slot.parked) == tickets - {None}

    def teardown(self) -> None:
        super().teardown()
        if any(not client.gone for client in self.clients):
            assert self.group is not None
            assert self.group.state is State.STABLE


ClassicGroupMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
TestClassicGroups = ClassicGroupMachine.TestCase
