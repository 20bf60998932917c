from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    Node,
    TopicPartition,
)
from confluent_kafka.admin import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from settled import settled

from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError, RefusedError, SilentBrokerError
from barnabas.client.group_admin import Committed, Group, GroupAdmin, GroupListing, Member
from barnabas.client.patience import Patience

NOT_COORDINATOR = KafkaError(KafkaError.NOT_COORDINATOR, "ConsumerGroupDescribe: ")


@dataclass(slots=True)
class FakeAdmin:
    """Answers by functions of the key; remembers what it was asked."""

    answers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def poll(self, timeout: float) -> None: ...

    def _each(self, name: str, keys: list[Any]) -> dict[Any, Future[Any]]:
        self.asked.append((name, keys))
        return {key: settled(self.answers[name](key)) for key in keys}

    def list_consumer_groups(self, *, request_timeout: float) -> Future[Any]:
        return settled(self.answers["list"]())

    def describe_consumer_groups(
        self, groups: list[str], *, request_timeout: float
    ) -> Mapping[str, Future[Any]]:
        return self._each("describe", groups)

    def delete_consumer_groups(
        self, groups: list[str], *, request_timeout: float
    ) -> Mapping[str, Future[Any]]:
        return self._each("delete", groups)

    def list_consumer_group_offsets(
        self, wanted: list[Any], *, request_timeout: float
    ) -> Mapping[str, Future[Any]]:
        return self._each("committed", [each.group_id for each in wanted])

    def alter_consumer_group_offsets(
        self, wanted: list[Any], *, request_timeout: float
    ) -> Mapping[str, Future[Any]]:
        (one,) = wanted
        self.asked.append(("alter", one))
        return {one.group_id: settled(self.answers["alter"](one))}

    def list_offsets(
        self, specs: Mapping[TopicPartition, Any], *, request_timeout: float
    ) -> Mapping[TopicPartition, Future[Any]]:
        self.asked.append(("offsets", list(specs.values())))
        return {key: settled(self.answers["offsets"](key, spec)) for key, spec in specs.items()}

    def list_topics(self, timeout: float) -> Any:
        partitions = {0: SimpleNamespace(leader=1), 1: SimpleNamespace(leader=-1)}
        return SimpleNamespace(topics={"t": SimpleNamespace(partitions=partitions)})


@pytest.fixture
def fake() -> FakeAdmin:
    return FakeAdmin()


@pytest.fixture
def admin(fake: FakeAdmin) -> GroupAdmin:
    patience = Patience(seconds=30, monotonic=lambda: 0.0, sleep=lambda _: None)
    return GroupAdmin(fake, Troubles("h:1", print), patience)  # type: ignore[arg-type]


def test_groups_are_listed_by_name_in_kafkas_words(fake: FakeAdmin, admin: GroupAdmin) -> None:
    def listing(name: str, state: ConsumerGroupState, kind: ConsumerGroupType) -> Any:
        return ConsumerGroupListing(name, False, state, kind)

    fake.answers["list"] = lambda: ListConsumerGroupsResult(
        valid=[
            listing("b", ConsumerGroupState.UNKNOWN, ConsumerGroupType.CONSUMER),
            listing("a", ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupType.CLASSIC),
        ]
    )
    assert admin.listings() == [
        GroupListing(group_id="a", state="PreparingRebalance", type="Classic"),
        GroupListing(group_id="b", state="Unknown", type="Consumer"),
    ]


def test_a_broker_that_cannot_list_fails_the_listing(fake: FakeAdmin, admin: GroupAdmin) -> None:
    error = KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
    outcomes = [ListConsumerGroupsResult(valid=[], errors=[error]) for _ in range(3)]
    fake.answers["list"] = lambda: (
        outcomes.pop() if outcomes else ListConsumerGroupsResult(valid=[])
    )

    assert admin.listings() == []

    fake.answers["list"] = lambda: ListConsumerGroupsResult(valid=[], errors=[error])
    admin.patience.seconds = 0
    with pytest.raises(RefusedError, match=r"^Coordinator not available\.$"):
        admin.listings()


def test_brokers_that_never_answered_are_said_to_be_silent_not_to_have_no_groups(
    fake: FakeAdmin, admin: GroupAdmin
) -> None:
    """The library gives its bare error here, without an exception around it."""
    error = KafkaError(KafkaError._TRANSPORT)
    fake.answers["list"] = lambda: ListConsumerGroupsResult(valid=[], errors=[error])

    with pytest.raises(SilentBrokerError):
        admin.listings()

    admin.heard = True
    with pytest.raises(RefusedError, match=r"transport failure"):
        admin.listings()


def described(group_id: str) -> ConsumerGroupDescription:
    def assigned(*numbers: int) -> MemberAssignment:
        return MemberAssignment([TopicPartition("t", number) for number in numbers])

    members = [
        MemberDescription("m1", "c1", "/h", assigned(1, 0), "i1"),
        MemberDescription("m2", "c2", "/h", assigned(), target_assignment=assigned(2)),
    ]
    state = ConsumerGroupState.STABLE if group_id != "none" else ConsumerGroupState.DEAD
    return ConsumerGroupDescription(
        group_id, False, members, "range", state, Node(1, "h", 9), type=ConsumerGroupType.CLASSIC
    )


def test_groups_are_described_as_plain_values(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["describe"] = described

    found = admin.describe(["g", "none", "g"])

    assert found["g"] == Group(
        group_id="g",
        state="Stable",
        type="Classic",
        assignor="range",
        coordinator=(1, "h", 9),
        members=[
            Member(
                member_id="m1",
                client_id="c1",
                host="/h",
                instance_id="i1",
                assignment=[("t", 0), ("t", 1)],
                target=[],
            ),
            Member(member_id="m2", client_id="c2", host="/h", assignment=[], target=[("t", 2)]),
        ],
    )
    none = found["none"]
    assert isinstance(none, Group)
    assert not none.exists
    assert fake.asked == [("describe", ["g", "none"])]


def test_only_groups_whose_coordinator_was_not_ready_are_asked_for_again(
    fake: FakeAdmin, admin: GroupAdmin
) -> None:
    outcomes = {"a": [described("a")], "b": [NOT_COORDINATOR, NOT_COORDINATOR, described("b")]}
    fake.answers["describe"] = lambda group_id: outcomes[group_id].pop(0)

    assert set(admin.describe(["a", "b"])) == {"a", "b"}
    assert [keys for _, keys in fake.asked] == [["a", "b"], ["b"], ["b"]]


def test_what_stays_refused_is_the_answer(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["describe"] = lambda group_id: NOT_COORDINATOR
    admin.patience.seconds = 0

    refused = admin.describe(["g"])["g"]

    assert isinstance(refused, RefusedError)
    assert str(refused) == "NOT_COORDINATOR."


def test_a_listener_that_never_answers_is_no_broker(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["describe"] = lambda group_id: KafkaError(KafkaError._TIMED_OUT)
    with pytest.raises(SilentBrokerError):
        admin.describe(["g"])


def test_a_broker_that_answered_before_and_not_now(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["describe"] = lambda group_id: KafkaError(KafkaError._TIMED_OUT)
    admin.heard = True
    found = admin.describe(["g"])["g"]
    assert isinstance(found, ClientError)
    assert str(found) == "Timed out."


def test_committed_offsets_of_several_groups(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["committed"] = lambda group_id: ConsumerGroupTopicPartitions(
        group_id,
        [
            TopicPartition("t", 0, 5),
            TopicPartition("t", 1, 6, leader_epoch=3),
            TopicPartition("t", 2, -1001),
        ],
    )
    offsets = {("t", 0): Committed(offset=5), ("t", 1): Committed(offset=6, leader_epoch=3)}
    assert admin.committed(["b", "a"]) == {"a": offsets, "b": offsets}


def test_refused_offsets_are_raised(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["committed"] = lambda group_id: KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(RefusedError, match="Group authorization failed"):
        admin.committed(["g"])


def test_leaders_of_all_partitions(admin: GroupAdmin) -> None:
    assert admin.leaders() == {("t", 0): 1, ("t", 1): None}


def test_offsets_of_logs(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["offsets"] = lambda key, spec: SimpleNamespace(offset=10 * key.partition - 10)

    assert admin.start_offsets([("t", 1), ("t", 2)]) == {("t", 1): 0, ("t", 2): 10}
    assert admin.end_offsets([("t", 3)]) == {("t", 3): 20}
    assert admin.offsets_at([("t", 0), ("t", 2)], 1234) == {("t", 0): None, ("t", 2): 10}
    assert [specs[0]._value for _, specs in fake.asked] == [-2, -1, 1234]
    assert admin.end_offsets([]) == {}


def test_a_partition_without_offsets_is_an_error(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["offsets"] = lambda key, spec: KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    with pytest.raises(RefusedError, match="Unknown topic or partition"):
        admin.end_offsets([("t", 0)])


def test_offsets_are_set_in_one_request(fake: FakeAdmin, admin: GroupAdmin) -> None:
    fake.answers["alter"] = lambda wanted: wanted
    admin.commit("g", {("t", 1): 7, ("t", 0): 0})
    admin.commit("g", {})

    ((_, wanted),) = fake.asked
    assert wanted.group_id == "g"
    assert [(p.topic, p.partition, p.offset) for p in wanted.topic_partitions] == [
        ("t", 0, 0),
        ("t", 1, 7),
    ]


def test_an_offset_that_is_refused_is_named(fake: FakeAdmin, admin: GroupAdmin) -> None:
    partition = SimpleNamespace(
        topic="t", partition=1, error=KafkaError(KafkaError.UNKNOWN_MEMBER_ID)
    )
    fake.answers["alter"] = lambda wanted: SimpleNamespace(topic_partitions=[partition])
    with pytest.raises(RefusedError, match=r"Unknown member\. \(t-1\)"):
        admin.commit("g", {("t", 1): 7})


def test_what_was_in_the_way_of_deleting(fake: FakeAdmin, admin: GroupAdmin) -> None:
    full = KafkaError(KafkaError.NON_EMPTY_GROUP)
    fake.answers["delete"] = lambda group_id: None if group_id == "a" else full

    found = admin.delete(["b", "a"])

    assert found["a"] is None
    assert str(found["b"]) == "The group is not empty."
    assert admin.delete([]) == {}
