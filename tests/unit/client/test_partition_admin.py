from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from settled import settled

from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError, RefusedError, SilentBrokerError
from barnabas.client.partition_admin import (
    NOT_NEEDED,
    PartitionAdmin,
    not_there,
    tidied,
    without_leader,
)
from barnabas.client.patience import Patience

NOT_LEADER = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)


@dataclass(slots=True)
class FakeAdmin:
    """Answers by a function of the partition; remembers what it was asked."""

    answer: Callable[[TopicPartition], Any] = field(
        default=lambda key: SimpleNamespace(offset=key.partition, low_watermark=key.offset)
    )
    elected: Any = None
    asked: list[Any] = field(default_factory=list)
    is_silent: bool = False

    def poll(self, timeout: float) -> None: ...

    def list_topics(self, timeout: float) -> Any:
        if self.is_silent:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        partitions = {0: SimpleNamespace(leader=1), 1: SimpleNamespace(leader=-1)}
        return SimpleNamespace(topics={"t": SimpleNamespace(partitions=partitions)})

    def list_offsets(
        self, specs: Mapping[TopicPartition, Any], *, request_timeout: float
    ) -> Mapping[TopicPartition, Future[Any]]:
        self.asked.append({(key.partition, spec._value) for key, spec in specs.items()})
        return {key: settled(self.answer(key)) for key in specs}

    def delete_records(
        self, wanted: list[TopicPartition], *, request_timeout: float
    ) -> Mapping[TopicPartition, Future[Any]]:
        self.asked.append([(key.partition, key.offset) for key in wanted])
        return {key: settled(self.answer(key)) for key in wanted}

    def elect_leaders(self, kind: ElectionType, wanted: Any) -> Future[Any]:
        places = None if wanted is None else [(key.topic, key.partition) for key in wanted]
        self.asked.append((kind, places))
        return settled(self.elected)


@pytest.fixture
def fake() -> FakeAdmin:
    return FakeAdmin()


@pytest.fixture
def admin(fake: FakeAdmin) -> PartitionAdmin:
    patience = Patience(seconds=30, monotonic=lambda: 0.0, sleep=lambda _: None)
    return PartitionAdmin(fake, Troubles("h:1", print), patience)  # type: ignore[arg-type]


@pytest.mark.parametrize("when", [-1, -2, -3, 0, 1_700_000_000_000])
def test_offsets_are_asked_for_by_time(fake: FakeAdmin, admin: PartitionAdmin, when: int) -> None:
    assert admin.offsets([("t", 1), ("t", 0), ("t", 1)], when) == {("t", 0): 0, ("t", 1): 1}
    assert fake.asked == [{(0, when), (1, when)}]


def test_a_partition_that_is_refused_is_in_nobodys_way(
    fake: FakeAdmin, admin: PartitionAdmin
) -> None:
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    fake.answer = lambda key: unknown if key.partition else SimpleNamespace(offset=7)
    found = admin.offsets([("t", 0), ("t", 1)], -1)
    assert found["t", 0] == 7
    assert str(found["t", 1]) == "Unknown topic or partition."


def test_a_leader_that_moved_is_asked_for_again(fake: FakeAdmin, admin: PartitionAdmin) -> None:
    outcomes = [NOT_LEADER, NOT_LEADER, SimpleNamespace(low_watermark=5)]
    fake.answer = lambda key: outcomes.pop(0)
    assert admin.delete_records({("t", 0): 5}) == {("t", 0): 5}
    assert fake.asked == [[(0, 5)]] * 3


def test_records_are_deleted_before_an_offset(fake: FakeAdmin, admin: PartitionAdmin) -> None:
    refused = KafkaError(KafkaError.OFFSET_OUT_OF_RANGE)
    fake.answer = lambda key: refused if key.partition else SimpleNamespace(low_watermark=3)
    found = admin.delete_records({("t", 1): 99, ("t", 0): 3})
    assert fake.asked == [[(0, 3), (1, 99)]]
    assert found["t", 0] == 3
    assert isinstance(found["t", 1], ClientError)


@pytest.mark.parametrize("unclean", [False, True])
def test_leaders_are_elected(fake: FakeAdmin, admin: PartitionAdmin, unclean: bool) -> None:
    """The broker's own words stay as they are."""
    fake.elected = {
        TopicPartition("t", 0): None,
        TopicPartition("t", 1): KafkaException(
            KafkaError(KafkaError.ELECTION_NOT_NEEDED, "it leads already")
        ),
        TopicPartition("t", 2): KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART),
    }
    found = admin.elect([("t", 1), ("t", 0)], unclean=unclean)

    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    assert fake.asked == [(kind, [("t", 0), ("t", 1)])]
    assert found["t", 0] is None
    (second, third) = found["t", 1], found["t", 2]
    assert second is not None
    assert (second.name, str(second)) == (NOT_NEEDED, "it leads already")
    assert str(third) == "Unknown topic or partition."


def test_leaders_of_all_partitions_are_elected_if_none_is_named(
    fake: FakeAdmin, admin: PartitionAdmin
) -> None:
    fake.elected = {}
    assert admin.elect(None, unclean=False) == {}
    assert fake.asked == [(ElectionType.PREFERRED, None)]


def test_an_election_as_a_whole_may_be_refused(fake: FakeAdmin, admin: PartitionAdmin) -> None:
    fake.elected = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(RefusedError, match="Cluster authorization failed"):
        admin.elect(None, unclean=False)


def test_nobody_is_asked_to_elect_where_nobody_answers(
    fake: FakeAdmin, admin: PartitionAdmin
) -> None:
    fake.is_silent = True
    with pytest.raises(SilentBrokerError):
        admin.elect(None, unclean=False)
    assert fake.asked == []


def test_leaders_are_told(admin: PartitionAdmin) -> None:
    assert admin.leaders() == {("t", 0): 1, ("t", 1): None}


def test_refusals_of_our_own_have_names() -> None:
    assert without_leader().name == "LEADER_NOT_AVAILABLE"
    assert not_there().name == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize(
    ("said", "tidy"),
    [
        ("Broker: Unknown topic", "Unknown topic."),
        ("DeleteRecords: Broker: Gone.", "Gone."),
        ("Local: Timed out", "Timed out."),
        ("ListOffsets: ", "X."),
    ],
)
def test_texts_of_the_library_become_sentences(said: str, tidy: str) -> None:
    assert str(tidied(RefusedError("X", said))) == tidy
