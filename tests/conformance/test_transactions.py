"""Transactional producers of Java and JavaScript: all or nothing, and zombies stay outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from eventually import eventually
from harness.brokers import Broker
from harness.clients import Client, JavaClient, Record
from harness.jvm import Jvm
from harness.lines import ClientError
from harness.targets import KINDS, TARGETS

QUICK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
FENCED = {
    "ProducerFencedException",
    "InvalidProducerEpochException",
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
}
ABORTED = FENCED | {
    "InvalidTxnStateException",
    "INVALID_TXN_STATE",
    "TransactionAbortableException",
}


@pytest.fixture(scope="module", params=TARGETS)
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker that looks for transactions that took too long more often than by default."""
    broker = KINDS[request.param](tmp_path_factory.mktemp("transactions"), QUICK)
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_aborted_records_are_seen_only_by_readers_who_do_not_care(
    client: Client, topic: str
) -> None:
    client.create_topic(topic)
    with client.transactional(topic) as writer:
        for value, commit in (("a", True), ("b", False), ("c", True)):
            writer.begin()
            writer.send(topic, value)
            writer.commit() if commit else writer.abort()

    assert values(client.consume(topic, count=2, committed=True)) == [b"a", b"c"]
    assert values(client.consume(topic, count=3)) == [b"a", b"b", b"c"]


def test_a_zombie_is_fenced_and_its_transaction_aborted(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with client.transactional(topic) as zombie:
        zombie.begin()
        zombie.send(topic, "zombie")
        with client.transactional(topic) as successor:
            successor.begin()
            successor.send(topic, "successor")
            with pytest.raises(ClientError) as refused:
                zombie.commit()
            assert refused.value.kind in FENCED
            successor.commit()

    assert values(client.consume(topic, count=1, committed=True)) == [b"successor"]
    assert values(client.consume(topic, count=2)) == [b"zombie", b"successor"]


def test_a_transaction_left_open_is_aborted_after_its_timeout(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with client.transactional(topic, timeout_ms=1_000) as slow:
        slow.begin()
        slow.send(topic, "late")
        client.produce(topic, [Record(value=b"after")])

        # Comes when the last stable offset has moved on, not before.
        assert values(client.consume(topic, count=1, committed=True)) == [b"after"]
        with pytest.raises(ClientError) as refused:
            slow.commit()
        assert refused.value.kind in ABORTED


@pytest.mark.parametrize(
    ("step", "refusal"),
    [
        ("commit", "InvalidTxnStateException"),
        ("send_offset", "ProducerFencedException"),
        ("send", "InvalidProducerEpochException"),
    ],
)
def test_whoever_took_too_long_is_told_so_at_the_next_step(
    jvm: Jvm, target: Broker, topic: str, step: str, refusal: str
) -> None:
    """Java's client, with transaction.version 2."""
    client = JavaClient(jvm, target)
    client.create_topic(topic)
    with client.transactional(topic, timeout_ms=1_000) as slow:
        slow.begin()
        slow.send(topic, "late")
        client.produce(topic, [Record(value=b"after")])
        client.consume(topic, count=1, committed=True)
        arguments = {"send": (topic, "more"), "send_offset": (topic, 1, topic)}.get(step, ())
        with pytest.raises(ClientError) as refused:
            getattr(slow, step)(*arguments)
        assert refused.value.kind == refusal


def test_positions_sent_to_a_transaction_count_if_it_commits(
    client: Client, target: Broker, topic: str
) -> None:
    client.create_topic(topic)
    with client.transactional(topic) as worker:
        for offset, commit in ((5, True), (9, False)):
            worker.begin()
            worker.send(topic, "made")
            worker.send_offset(topic, offset, topic)
            worker.commit() if commit else worker.abort()

    assert committed(target, topic) == 5


def committed(target: Broker, name: str) -> int:
    """The position of a group in partition 0 of the topic of the same name, once it is stable.

    Apache Kafka answers an abort before its marker is written: until then there is no position.
    """
    admin = AdminClient({"bootstrap.servers": target.bootstrap})

    def stable() -> TopicPartition | None:
        asked = ConsumerGroupTopicPartitions(name, [TopicPartition(name, 0)])
        answer = admin.list_consumer_group_offsets([asked], require_stable=True)[name]
        (found,) = answer.result(30).topic_partitions
        if found.error is None:
            return found
        assert found.error.code() == KafkaError.UNSTABLE_OFFSET_COMMIT, found.error
        return None

    position: int = eventually(stable).offset
    return position
