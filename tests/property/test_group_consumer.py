"""Consumer groups (KIP-848): whatever members do, whatever gets lost, and however topics change."""

from __future__ import annotations

from itertools import count

from group_clients import ModernClient
from group_machine import GROUP, GroupMachine, topic
from group_rules import GroupRules
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group.config import GroupConfig
from barnabas.coordinator.group.consumer.group import ConsumerGroup

INSTANCES = (None, None, "i1", "i2")
READS: tuple[tuple[list[str] | None, str | None], ...] = (
    (["t"], None),
    (["t", "u"], None),
    (["u"], None),
    (None, "t.*"),
    (["u"], "[tv]"),
)
ASSIGNORS = (None, "uniform", "range")


class ConsumerGroupMachine(GroupRules):
    """One owner for each partition, epochs that rise, and a log that tells everything."""

    spans_ms = (1, 1_000, 5_000, 11_000, 45_000, 60_000)
    rounds = 80
    interval_ms = 0

    def __init__(self) -> None:
        config = GroupConfig(consumer_assignment_interval_ms=self.interval_ms)
        super().__init__(GroupMachine([topic("t", 3), topic("u", 2)], config=config))
        self.names = count()
        self.epoch = 0

    @property
    def group(self) -> ConsumerGroup | None:
        return self.machine.shard.state.consumer(GROUP)

    @precondition(lambda self: len(self.clients) < 6)
    @rule(
        instance=st.sampled_from(INSTANCES),
        reads=st.sampled_from(READS),
        assignor=st.sampled_from(ASSIGNORS),
    )
    def start(
        self,
        instance: str | None,
        reads: tuple[list[str] | None, str | None],
        assignor: str | None,
    ) -> None:
        names, regex = reads
        self.clients.append(
            ModernClient(
                self.machine,
                f"m{next(self.names)}",
                names=names,
                regex=regex,
                instance=instance,
                assignor=assignor,
            )
        )

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), times=st.integers(1, 3), lost=st.booleans())
    def step(self, data: st.DataObject, times: int, lost: bool) -> None:
        client = data.draw(st.sampled_from(self.clients))
        assert isinstance(client, ModernClient)
        for _ in range(times):
            client.step(lost=lost)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), reads=st.sampled_from(READS))
    def read_something_else(
        self, data: st.DataObject, reads: tuple[list[str] | None, str | None]
    ) -> None:
        client = data.draw(st.sampled_from(self.clients))
        assert isinstance(client, ModernClient)
        client.names, client.regex = reads[0] or [], reads[1] or ""
        client.full = True

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), for_now=st.booleans())
    def leave(self, data: st.DataObject, for_now: bool) -> None:
        client = data.draw(st.sampled_from(self.clients))
        assert isinstance(client, ModernClient)
        client.leave(for_now=for_now)
        self.clients.remove(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), offset=st.integers(0, 100), late=st.integers(0, 2))
    def commit(self, data: st.DataObject, offset: int, late: int) -> None:
        client = data.draw(st.sampled_from(self.clients))
        assert isinstance(client, ModernClient)
        epoch = client.epoch - late
        group = self.group
        member = None if group is None else group.members.get(client.member_id)
        allowed = (member is not None and epoch == member.epoch) or (
            epoch < 0 and (group is None or group.is_empty)
        )
        code = self.machine.commit(offset, member=client.member_id, epoch=epoch)
        assert (code == 0) == allowed, ErrorCode(code).name

    @rule(name=st.sampled_from(("t", "u", "v")), partitions=st.integers(1, 4))
    def create_or_grow(self, name: str, partitions: int) -> None:
        before = self.machine.topics.get(name)
        if before is not None and before.partitions >= partitions:
            return
        self.machine.topics.put(topic(name, partitions))
        self.machine.coordinator.topics_changed(
            changed=frozenset({name}), deleted=frozenset(), now_ms=self.machine.now_ms
        )

    @rule(name=st.sampled_from(("u", "v")))
    def delete(self, name: str) -> None:
        self.machine.topics.remove(name)
        self.machine.coordinator.topics_changed(
            changed=frozenset(), deleted=frozenset({name}), now_ms=self.machine.now_ms
        )
        assert self.machine.fetch(topic=name) == (-1, 0)

    @invariant()
    def epochs_rise(self) -> None:
        for client in self.clients:
            assert isinstance(client, ModernClient)
            assert client.epochs == sorted(client.epochs)
        group = self.group
        if group is None:
            self.epoch = 0  # a group that was forgotten starts anew
            return
        assert group.epoch >= self.epoch
        self.epoch = group.epoch
        assert group.target_epoch <= group.epoch
        assert all(member.epoch <= group.target_epoch for member in group.members.values())

    @invariant()
    def the_group_knows_the_owners(self) -> None:
        group = self.group
        if group is None:
            return
        owned = [
            (topic_id, index)
            for member in group.members.values()
            for partitions in (member.assigned, member.revoking)
            for topic_id, indexes in partitions.items()
            for index in indexes
        ]
        assert len(owned) == len(set(owned)) == len(group.owners)

    def teardown(self) -> None:
        super().teardown()
        if any(not client.gone for client in self.clients):
            assert self.group is not None
            assert self.group.state == "Stable"


class PatientConsumerGroupMachine(ConsumerGroupMachine):
    """The same with assignments that are made at most every two seconds."""

    interval_ms = 2_000


_SETTINGS = settings(max_examples=80, stateful_step_count=40, deadline=None)
ConsumerGroupMachine.TestCase.settings = _SETTINGS
PatientConsumerGroupMachine.TestCase.settings = _SETTINGS
TestConsumerGroups = ConsumerGroupMachine.TestCase
TestPatientConsumerGroups = PatientConsumerGroupMachine.TestCase
