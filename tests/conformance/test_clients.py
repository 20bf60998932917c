"""What people's programs do, through client libraries that nobody here wrote."""

from __future__ import annotations

import random

import pytest
from harness.clients import Client, How, Record
from harness.lines import ClientError

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SIZES = [1, 100, 1_024, 65_536, 300_000, 900_000]
BASE_MS = 1_700_000_000_000


def payload(size: int, seed: int) -> bytes:
    """Half random, half repetitive: compressible, but not to nothing."""
    noise = random.Random(seed).randbytes(size // 2)
    return noise + bytes(size - len(noise))


def mixed_records(client: Client) -> list[Record]:
    """Null, empty and filled keys and values; headers that repeat, are empty or have no value."""
    odd: bytes | None = None if client.null_headers else b""
    blobs = [None, b"", b"k", "größe".encode(), bytes(range(256))]
    records = [
        Record(key=key, value=value, timestamp=BASE_MS + 10 * n)
        for n, (key, value) in enumerate((k, v) for k in blobs for v in blobs)
    ]
    records.append(Record(value=b"h", headers=(("a", b"1"),), timestamp=BASE_MS + 1_000))
    records.append(
        Record(headers=(("r", b"1"), ("r", b"2"), ("e", odd)), timestamp=BASE_MS + 1_001)
    )
    return records


def settled(records: list[Record], first_offset: int = 0) -> list[Record]:
    """The same records as a consumer should see them, from an empty partition on."""
    return [
        Record(
            key=record.key,
            value=record.value,
            headers=record.headers,
            timestamp=record.timestamp,
            partition=record.partition,
            offset=first_offset + n,
        )
        for n, record in enumerate(records)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip_is_byte_identical_with_every_codec(
    client: Client, topic: str, codec: str
) -> None:
    client.create_topic(topic)
    records = mixed_records(client)

    client.produce(topic, records, How(codec=codec))

    assert client.consume(topic, count=len(records)) == settled(records)


@pytest.mark.parametrize("codec", CODECS)
def test_sizes_from_one_byte_to_900_kb_survive(client: Client, topic: str, codec: str) -> None:
    client.create_topic(topic)
    records = [
        Record(key=b"size", value=payload(size, size), timestamp=BASE_MS + n)
        for n, size in enumerate(SIZES)
    ]

    for record in records:
        client.produce(topic, [record], How(codec=codec))

    assert client.consume(topic, count=len(records)) == settled(records)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(client: Client, topic: str, acks: str) -> None:
    client.create_topic(topic)
    records = [Record(value=b"%d" % n, timestamp=BASE_MS + n) for n in range(10)]

    answers = client.produce(topic, records, How(acks=acks))

    assert client.consume(topic, count=10) == settled(records)
    if acks != "0":
        assert answers[0].offset == 0


def test_an_idempotent_producer_goes_on_where_it_was(client: Client, topic: str) -> None:
    client.create_topic(topic)
    records = [Record(value=b"%d" % n, timestamp=BASE_MS + n) for n in range(50)]
    how = How(idempotent=True, properties={"batch.size": "100", "linger.ms": "0"})

    client.produce(topic, records, how)
    client.produce(topic, records, how)

    assert client.consume(topic, count=100) == settled(records + records)


def test_consume_from_an_offset_and_from_a_time(client: Client, topic: str) -> None:
    client.create_topic(topic)
    records = [Record(value=b"%d" % n, timestamp=BASE_MS + 1_000 * n) for n in range(20)]
    client.produce(topic, records[:10])
    client.produce(topic, records[10:])

    everything = settled(records)
    assert client.consume(topic, start=7, count=13) == everything[7:]
    assert client.consume(topic, start=f"time:{BASE_MS + 12_000}", count=8) == everything[12:]
    assert client.consume(topic, start=f"time:{BASE_MS + 2_001}", count=17) == everything[3:]
    assert client.offset(topic, BASE_MS + 3_500) == 4
    assert client.offset(topic, BASE_MS + 19_001) == -1
    assert client.offset(topic, "earliest") == 0
    assert client.offset(topic, "latest") == 20


def test_delete_records_moves_the_start(client: Client, topic: str) -> None:
    client.create_topic(topic)
    records = [Record(value=b"%d" % n, timestamp=BASE_MS + n) for n in range(10)]
    client.produce(topic, records[:4])
    client.produce(topic, records[4:])

    assert client.delete_records(topic, before=6) == 6

    assert client.offset(topic, "earliest") == 6
    assert client.consume(topic, count=4) == settled(records)[6:]


def test_altered_topic_settings_take_effect_at_once(client: Client, topic: str) -> None:
    client.create_topic(topic, retention_ms="86400000")
    assert client.describe_configs("topic", topic)["retention.ms"]["value"] == "86400000"

    changed = {"message.timestamp.type": "LogAppendTime", "retention.ms": "86400000"}
    client.alter_configs("topic", topic, changed)
    client.produce(topic, [Record(value=b"v", timestamp=BASE_MS)])

    configs = client.describe_configs("topic", topic)
    assert configs["message.timestamp.type"]["value"] == "LogAppendTime"
    assert configs["retention.ms"]["value"] == "86400000"
    (record,) = client.consume(topic, count=1)
    assert record.timestamp_type == "LogAppendTime"
    assert record.timestamp is not None
    assert record.timestamp > BASE_MS


def test_a_smaller_size_limit_refuses_larger_records(client: Client, topic: str) -> None:
    client.create_topic(topic, max_message_bytes="10000")

    with pytest.raises(ClientError) as refused:
        client.produce(topic, [Record(value=payload(20_000, 1))])

    assert refused.value.kind in {"RecordTooLargeException", "MESSAGE_TOO_LARGE"}
    assert client.offset(topic, "latest") == 0


def test_added_partitions_can_be_used(client: Client, topic: str) -> None:
    client.create_topic(topic, partitions=2)
    client.add_partitions(topic, total=5)

    described = client.describe_topic(topic)["partitions"]
    assert [partition["partition"] for partition in described] == [0, 1, 2, 3, 4]
    record = Record(value=b"new", partition=4, timestamp=BASE_MS)
    client.produce(topic, [record])
    assert client.consume(topic, partition=4, count=1) == settled([record])


def test_partitions_are_never_taken_away(client: Client, topic: str) -> None:
    client.create_topic(topic, partitions=2)

    with pytest.raises(ClientError) as refused:
        client.add_partitions(topic, total=1)

    assert refused.value.kind in {"InvalidPartitionsException", "INVALID_PARTITIONS"}


def test_a_deleted_topic_is_gone_and_its_name_is_free(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Record(value=b"old", timestamp=BASE_MS)])
    assert topic in client.list_topics()

    client.delete_topic(topic)

    assert topic not in client.list_topics()
    client.create_topic(topic)
    new = Record(value=b"new", timestamp=BASE_MS)
    client.produce(topic, [new])
    assert client.consume(topic, count=1) == settled([new])


def test_creating_a_topic_twice_is_refused(client: Client, topic: str) -> None:
    client.create_topic(topic)

    if client.name == "kafkajs":  # reports an existing topic by answering false
        assert client.ask("create_topic", topic=topic, partitions=1) is False
    else:
        with pytest.raises(ClientError) as refused:
            client.create_topic(topic)
        assert refused.value.kind == "TopicExistsException"
