"""Consumer groups over real sockets, with members of several libraries in one group."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from eventually import eventually
from kafka import KafkaConsumer

PARTITIONS = 6
PATIENCE_S = 40
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    with BarnabasProcess(
        tmp_path_factory.mktemp("groups"),
        "group.initial.rebalance.delay.ms=0",
        "group.min.session.timeout.ms=500",
    ) as process:
        yield process


@pytest.fixture
def topic(quick_broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    create_topics(quick_broker.bootstrap, name, partitions=PARTITIONS)
    return name


def fill(broker: BarnabasProcess, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in numbers:
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


class ConfluentMember:
    """A librdkafka member."""

    def __init__(self, broker: BarnabasProcess, group: str, topic: str, **config: object) -> None:
        self.revocations = 0
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
            "heartbeat.interval.ms": 200,
            "session.timeout.ms": 6000,
        }
        if config.get("group_protocol") == "consumer":
            del settings["heartbeat.interval.ms"], settings["session.timeout.ms"]
        named = {key.replace("_", "."): value for key, value in config.items()}
        self.consumer = Consumer({**settings, **named})
        self.consumer.subscribe([topic], on_revoke=self._revoked)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revocations += 1

    def poll(self) -> list[tuple[int, int, bytes]]:
        found = self.consumer.consume(200, timeout=0.1)
        for message in found:
            assert message.error() is None, message.error()
        return [(m.partition(), m.offset(), m.value()) for m in found]

    def commit(self) -> None:
        if self.consumer.position(self.consumer.assignment()):
            self.consumer.commit(asynchronous=False)

    def owned(self) -> int:
        return len(self.consumer.assignment())

    def close(self) -> None:
        self.consumer.close()


class KafkaPythonMember:
    """A kafka-python member."""

    def __init__(self, broker: BarnabasProcess, group: str, topic: str) -> None:
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
            session_timeout_ms=6000,
        )

    def poll(self) -> list[tuple[int, int, bytes]]:
        polled = self.consumer.poll(timeout_ms=100)
        return [(r.partition, r.offset, r.value) for part in polled.values() for r in part]

    def commit(self) -> None:
        self.consumer.commit()

    def owned(self) -> int:
        return len(self.consumer.assignment())

    def close(self) -> None:
        self.consumer.close()


Member = ConfluentMember | KafkaPythonMember


def read_all(members: list[Member], wanted: set[bytes]) -> Counter[bytes]:
    """Poll the members in turn until all wanted values were seen; how often each was."""
    seen: Counter[bytes] = Counter()
    deadline = time.monotonic() + PATIENCE_S
    while not wanted <= set(seen):
        assert time.monotonic() < deadline, f"{len(wanted - set(seen))} values did not come"
        for member in members:
            for _, _, value in member.poll():
                seen[value] += 1
    return seen


def settle(members: list[Member]) -> None:
    """Poll until every partition is owned by exactly as many as there are."""
    deadline = time.monotonic() + PATIENCE_S
    while sum(member.owned() for member in members) != PARTITIONS or not all(
        member.owned() for member in members
    ):
        assert time.monotonic() < deadline, [member.owned() for member in members]
        for member in members:
            member.poll()


def values(numbers: range) -> set[bytes]:
    return {str(number).encode() for number in numbers}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_one_member_reads_everything_and_resumes_where_it_committed(
    quick_broker: BarnabasProcess, topic: str, protocol: str
) -> None:
    group = f"g-{topic}-{protocol}"
    fill(quick_broker, topic, range(600))
    first = ConfluentMember(quick_broker, group, topic, group_protocol=protocol)
    assert read_all([first], values(range(600))) == Counter(values(range(600)))
    first.commit()
    first.close()

    fill(quick_broker, topic, range(600, 700))
    second = ConfluentMember(quick_broker, group, topic, group_protocol=protocol)
    try:
        assert set(read_all([second], values(range(600, 700)))) == values(range(600, 700))
    finally:
        second.close()


def test_members_of_two_libraries_share_a_group(quick_broker: BarnabasProcess, topic: str) -> None:
    group = f"g-{topic}"
    members: list[Member] = [
        ConfluentMember(quick_broker, group, topic, partition_assignment_strategy="range"),
        KafkaPythonMember(quick_broker, group, topic),
    ]
    try:
        settle(members)
        fill(quick_broker, topic, range(900))
        assert read_all(members, values(range(900))) == Counter(values(range(900)))
        assert all(member.owned() for member in members)
    finally:
        for member in members:
            member.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_when_a_member_leaves_the_others_take_over(
    quick_broker: BarnabasProcess, topic: str, protocol: str
) -> None:
    group = f"g-{topic}-{protocol}"
    members: list[Member] = [
        ConfluentMember(quick_broker, group, topic, group_protocol=protocol) for _ in range(3)
    ]
    try:
        settle(members)
        members.pop().close()
        settle(members)
        fill(quick_broker, topic, range(300))
        assert read_all(members, values(range(300))) == Counter(values(range(300)))
    finally:
        for member in members:
            member.close()


def test_groups_survive_a_restart(tmp_path: Path, topic_name: Callable[[], str]) -> None:
    topic = topic_name()
    with BarnabasProcess(tmp_path / "data", "group.initial.rebalance.delay.ms=0") as broker:
        create_topics(broker.bootstrap, topic, partitions=PARTITIONS)
        fill(broker, topic, range(60))
        member = ConfluentMember(broker, "survivor", topic)
        read_all([member], values(range(60)))
        member.commit()
        member.close()
        broker.kill()
        broker.start(same_port=True)

        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "survivor"})
        try:
            wanted = [TopicPartition(topic, index) for index in range(PARTITIONS)]
            committed = consumer.committed(wanted, timeout=PATIENCE_S)
        finally:
            consumer.close()
        assert [part.offset for part in committed] == [10] * PARTITIONS


def is_deleted(admin: AdminClient, group: str) -> bool:
    """librdkafka does not wait for the answer when it leaves: the group may not be empty yet."""
    try:
        admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
    except KafkaException as error:
        if error.args[0].name() != "NON_EMPTY_GROUP":
            raise
        return False
    return True


def test_groups_are_listed_described_and_deleted(quick_broker: BarnabasProcess, topic: str) -> None:
    group = f"g-{topic}"
    admin = AdminClient({"bootstrap.servers": quick_broker.bootstrap})
    member = ConfluentMember(quick_broker, group, topic, session_timeout_ms=120_000)
    settle([member])
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
    assert group in {entry.group_id for entry in listed}
    assert described.state.name == "STABLE"
    assert len(described.members[0].assignment.topic_partitions) == PARTITIONS
    member.close()
    eventually(lambda: is_deleted(admin, group))
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert group not in {entry.group_id for entry in listed}


def test_a_static_member_comes_back_without_a_rebalance(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    group = f"g-{topic}"
    steady = ConfluentMember(quick_broker, group, topic, group_instance_id="steady")
    moving = ConfluentMember(quick_broker, group, topic, group_instance_id="moving")
    settle([steady, moving])
    before = steady.revocations
    moving.close()  # a static member does not leave

    again = ConfluentMember(quick_broker, group, topic, group_instance_id="moving")
    try:
        settle([steady, again])
        assert steady.revocations == before
    finally:
        again.close()
        steady.close()
