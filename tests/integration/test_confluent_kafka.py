"""confluent-kafka (librdkafka) against the broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from roundtrip import ACKS, CODECS, Sent, sample_records

PATIENCE_S = 30
QUIET = {"fetch.queue.backoff.ms": 5, "enable.auto.commit": False}


@pytest.fixture(scope="module")
def admin(broker: BarnabasProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topic(admin: AdminClient, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    create(admin, NewTopic(name, 1, 1))
    return name


def create(admin: AdminClient, *topics: NewTopic) -> None:
    for created in admin.create_topics(list(topics)).values():
        created.result(PATIENCE_S)


def produce(
    broker: BarnabasProcess, topic: str, records: list[Sent], **config: Any
) -> list[Message]:
    """Send in order and wait for every answer."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "linger.ms": 5,
        "message.max.bytes": 1_000_000,
    }
    producer = Producer({**settings, **{k.replace("_", "."): v for k, v in config.items()}})
    answers: list[Message] = []

    def delivered(error: object, message: Message) -> None:
        assert error is None, f"{error}"
        answers.append(message)

    for record in records:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp_ms,
            on_delivery=delivered,
        )
    assert producer.flush(PATIENCE_S) == 0
    return answers


def consume(
    broker: BarnabasProcess,
    topic: str,
    count: int,
    *,
    partition: int = 0,
    offset: int = 0,
    **config: Any,
) -> list[Message]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "none", **QUIET, **config}
    )
    consumer.assign([TopicPartition(topic, partition, offset)])
    found: list[Message] = []
    try:
        while len(found) < count:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{len(found)} of {count} records came"
            if message.error():
                raise KafkaException(message.error())
            found.append(message)
    finally:
        consumer.close()
    return found


def as_sent(message: Message) -> Sent:
    return Sent(
        message.key(), message.value(), tuple(message.headers() or ()), message.timestamp()[1]
    )


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("acks", ACKS)
def test_records_come_back_as_they_were_sent(
    broker: BarnabasProcess, topic: str, codec: str, acks: int | str
) -> None:
    records = sample_records()

    produce(broker, topic, records, compression_type=codec, acks=acks)
    found = consume(broker, topic, len(records))

    assert [as_sent(message) for message in found] == records
    assert [message.offset() for message in found] == list(range(len(records)))


def test_an_idempotent_producer_gets_dense_offsets(broker: BarnabasProcess, topic: str) -> None:
    records = [Sent(None, str(n).encode(), (), 1_700_000_000_000) for n in range(5_000)]

    answers = produce(broker, topic, records, enable_idempotence=True, batch_num_messages=7)

    assert sorted(message.offset() for message in answers) == list(range(5_000))
    assert [as_sent(m) for m in consume(broker, topic, 5_000)] == records


def test_a_consumer_may_start_anywhere(broker: BarnabasProcess, topic: str) -> None:
    records = [Sent(None, str(n).encode(), (), 1_700_000_000_000 + n) for n in range(1_000)]
    produce(broker, topic, records, batch_num_messages=50)

    found = consume(broker, topic, 10, offset=637)

    assert [message.value() for message in found] == [str(n).encode() for n in range(637, 647)]


def test_offsets_are_found_by_time(broker: BarnabasProcess, admin: AdminClient, topic: str) -> None:
    base = 1_700_000_000_000
    produce(
        broker,
        topic,
        [Sent(None, b"x", (), base + 10 * n) for n in range(500)],
        batch_num_messages=20,
    )
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        return int(admin.list_offsets({partition: spec})[partition].result(PATIENCE_S).offset)

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest()) == 500
    assert offset(OffsetSpec.for_timestamp(base + 2_341)) == 235
    assert offset(OffsetSpec.for_timestamp(base + 2_340)) == 234
    assert offset(OffsetSpec.for_timestamp(base + 9_999_999)) == -1
    assert offset(OffsetSpec.max_timestamp()) == 499


def test_deleted_records_are_gone_and_the_rest_stays(
    broker: BarnabasProcess, admin: AdminClient, topic: str
) -> None:
    produce(broker, topic, [Sent(None, str(n).encode(), (), 1) for n in range(100)])

    deleted = admin.delete_records([TopicPartition(topic, 0, 40)])
    low = next(iter(deleted.values())).result(PATIENCE_S).low_watermark

    assert low == 40
    found = consume(broker, topic, 60, offset=OFFSET_BEGINNING, **{"auto.offset.reset": "earliest"})
    assert [m.offset() for m in found] == list(range(40, 100))


def test_settings_change_at_run_time_and_take_effect(
    broker: BarnabasProcess, admin: AdminClient, topic: str
) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    )
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(PATIENCE_S)

    described = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)])
    values = next(iter(described.values())).result(PATIENCE_S)
    assert values["max.message.bytes"].value == "1000"
    assert values["retention.ms"].value == "604800000"
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    errors: list[Any] = []
    producer.produce(topic, b"x" * 2_000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(PATIENCE_S)
    assert [error.name() for error in errors] == ["MSG_SIZE_TOO_LARGE"]


def test_partitions_can_be_added_and_used(
    broker: BarnabasProcess, admin: AdminClient, topic: str
) -> None:
    for added in admin.create_partitions([NewPartitions(topic, 3)]).values():
        added.result(PATIENCE_S)

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for partition in range(3):
        producer.produce(topic, str(partition).encode(), partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    for partition in range(3):
        found = consume(broker, topic, 1, partition=partition)
        assert found[0].value() == str(partition).encode()


def test_a_deleted_topic_is_gone_and_its_name_can_be_used_again(
    broker: BarnabasProcess, admin: AdminClient, topic: str
) -> None:
    produce(broker, topic, [Sent(None, b"old", (), 1)])
    for deleted in admin.delete_topics([topic]).values():
        deleted.result(PATIENCE_S)
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics

    create(admin, NewTopic(topic, 1, 1))
    produce(broker, topic, [Sent(None, b"new", (), 1)])

    assert [m.value() for m in consume(broker, topic, 1)] == [b"new"]


def test_a_topic_is_created_when_it_is_first_produced_to(
    broker: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    produce(broker, name, [Sent(b"k", b"v", (), 1)])
    assert [m.value() for m in consume(broker, name, 1)] == [b"v"]


def test_log_append_time_replaces_the_producers_time(
    broker: BarnabasProcess, admin: AdminClient, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    create(admin, NewTopic(name, 1, 1, config={"message.timestamp.type": "LogAppendTime"}))

    produce(broker, name, [Sent(None, b"x", (), 1_000)])

    kind, timestamp = consume(broker, name, 1)[0].timestamp()
    assert kind == 2
    assert timestamp > 1_700_000_000_000


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_topics_own_codec_replaces_the_producers(
    broker: BarnabasProcess, admin: AdminClient, topic_name: Callable[[], str], codec: str
) -> None:
    name = topic_name()
    create(admin, NewTopic(name, 1, 1, config={"compression.type": codec}))
    records = sample_records()

    produce(broker, name, records, compression_type="none")

    assert [as_sent(m) for m in consume(broker, name, len(records))] == records
    data = (broker.data_dir / f"{name}-0" / f"{0:020}.log").read_bytes()
    assert data[22] & 7 == CODECS.index(codec)


def test_a_compacted_topic_refuses_records_without_a_key(
    broker: BarnabasProcess, admin: AdminClient, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    create(admin, NewTopic(name, 1, 1, config={"cleanup.policy": "compact"}))
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    producer.produce(name, b"no key", on_delivery=lambda error, _: errors.append(error))
    producer.flush(PATIENCE_S)

    assert [error.name() for error in errors] == ["INVALID_RECORD"]
