"""What happens to every kind of group, and what must hold for all of them."""

from __future__ import annotations

from typing import ClassVar

from group_clients import Client, assert_all_assigned, assert_disjoint, settled
from group_machine import GroupMachine
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.base.errors import StorageFailed


class GroupRules(RuleBasedStateMachine):
    """Members crash, time passes, the broker restarts or cannot write."""

    spans_ms: ClassVar[tuple[int, ...]] = ()
    rounds: ClassVar[int] = 60
    """How long the members may take to come to rest in the end."""

    def __init__(self, machine: GroupMachine) -> None:
        super().__init__()
        self.machine = machine
        self.clients: list[Client] = []

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self.clients.remove(data.draw(st.sampled_from(self.clients)))

    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        self.machine.advance(data.draw(st.sampled_from(self.spans_ms)))

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
    def the_log_tells_everything_durable(self) -> None:
        durable = self.machine.shard.dump()
        assert self.machine.copy_from(self.machine.log.batches).dump() == durable
        assert self.machine.copy_from(self.machine.log.compacted()).dump() == durable

    def teardown(self) -> None:
        settled(self.clients, self.machine, rounds=self.rounds)
        assert_all_assigned(self.clients, self.machine)
        live = {client.member_id for client in self.clients if not client.gone}
        if live:
            (group,) = self.machine.shard.state.groups.values()
            assert live == set(group.members)
