"""Files on disk: DumpLogSegments sees in ours what it sees in those of Apache Kafka itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.apache import ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.clients import How, JavaClient, Record
from harness.jvm import Jvm
from harness.transcript import DUMP_LOG, normal

BASE_MS = 1_700_000_000_000
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
TARGETS: dict[str, type[Broker]] = {"apache": ApacheBroker, "barnabas": BarnabasBroker}
KINDS = ["log", "index", "timeindex"]


def numbered(n: int, size: int = 300) -> Record:
    return Record(
        key=b"key-%d" % (n % 7),
        value=(b"value-%d " % n).ljust(size, b"."),
        headers=(("h", b"%d" % n),),
        timestamp=BASE_MS + 1_000 * n,
    )


def fill(jvm: Jvm, broker: Broker) -> None:
    """One topic a codec, several small segments, and one that an idempotent producer wrote."""
    client = JavaClient(jvm, broker)
    for codec in CODECS:
        client.create_topic(codec, segment_bytes="1048576", index_interval_bytes="1000")
        for batch in range(8):
            records = [numbered(20 * batch + n) for n in range(20)]
            client.produce(codec, records, How(codec=codec))
    client.create_topic("rolled", segment_bytes="1048576", segment_index_bytes="1000")
    for batch in range(12):
        client.produce("rolled", [numbered(batch * 2 + n, 100_000) for n in range(2)])
    client.create_topic("idempotent")
    client.produce("idempotent", [numbered(n) for n in range(10)], How(idempotent=True))


@pytest.fixture(scope="module")
def reference(jvm: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """An Apache Kafka that wrote the same records, stopped."""
    broker = ApacheBroker(tmp_path_factory.mktemp("reference"))
    try:
        broker.start()
        fill(jvm, broker)
        broker.stop()
        yield broker
    finally:
        broker.discard()


@pytest.fixture(scope="module")
def written(target: Broker, jvm: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of the target's kind, likewise."""
    broker = TARGETS[target.name](tmp_path_factory.mktemp("written"))
    try:
        broker.start()
        fill(jvm, broker)
        broker.stop()
        yield broker
    finally:
        broker.discard()


def dumped(jvm: Jvm, broker: Broker, folder: str, kind: str) -> dict[str, str]:
    """What the tool says of each file of a kind, by file name."""
    found = {}
    for file in sorted((broker.data_dir / folder).glob(f"*.{kind}")):
        arguments = ["--files", str(file)]
        if kind == "log":
            arguments += ["--print-data-log", "--deep-iteration"]
        run = jvm.tool(DUMP_LOG, *arguments)
        assert run.status == 0, run.err
        assert "Exception" not in run.err
        found[file.name] = normal(run.out + run.err, broker)
    assert found, f"no .{kind} files in {folder}"
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codec", CODECS)
def test_segments_and_indexes_are_dumped_alike(
    jvm: Jvm, reference: Broker, written: Broker, codec: str, kind: str
) -> None:
    assert dumped(jvm, written, f"{codec}-0", kind) == dumped(jvm, reference, f"{codec}-0", kind)


@pytest.mark.parametrize("kind", KINDS)
def test_segments_roll_at_the_same_offsets(
    jvm: Jvm, reference: Broker, written: Broker, kind: str
) -> None:
    expected = dumped(jvm, reference, "rolled-0", kind)

    assert len(expected) > 1
    assert dumped(jvm, written, "rolled-0", kind) == expected


@pytest.mark.parametrize("kind", ["log", "snapshot"])
def test_an_idempotent_producers_traces_are_dumped_alike(
    jvm: Jvm, reference: Broker, written: Broker, kind: str
) -> None:
    def without_crc(dump: dict[str, str]) -> dict[str, str]:
        return {name: re.sub(r"crc: \d+", "crc: CRC", text) for name, text in dump.items()}

    expected = without_crc(dumped(jvm, reference, "idempotent-0", kind))

    assert without_crc(dumped(jvm, written, "idempotent-0", kind)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "leader-epoch-checkpoint",
        "partition.metadata",
        "../replication-offset-checkpoint",
        "../recovery-point-offset-checkpoint",
        "../log-start-offset-checkpoint",
    ],
)
def test_checkpoint_files_say_the_same(reference: Broker, written: Broker, name: str) -> None:
    def lines(broker: Broker) -> list[str]:
        text = (broker.data_dir / "rolled-0" / name).read_text()
        return sorted(re.sub(r"topic_id: \S+", "topic_id: ID", text).splitlines())

    assert lines(written) == lines(reference)


def test_the_metadata_log_is_in_apache_kafkas_format(
    jvm: Jvm, reference: Broker, written: Broker
) -> None:
    def topics(broker: Broker) -> set[str]:
        found: set[str] = set()
        for file in sorted((broker.data_dir / "__cluster_metadata-0").glob("*.log")):
            arguments = ["--cluster-metadata-decoder", "--skip-record-metadata"]
            run = jvm.tool(DUMP_LOG, *arguments, "--files", str(file))
            assert run.status == 0, run.err
            assert "Error" not in run.out
            pattern = r'"type":"TOPIC_RECORD","version":0,"data":\{"name":"([^"]+)"'
            found.update(re.findall(pattern, run.out))
        return {topic for topic in found if not topic.startswith("settle-")}

    assert topics(written) == topics(reference) == {*CODECS, "rolled", "idempotent"}


Launch = Callable[..., Broker]


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_a_directory_that_apache_kafka_wrote_is_served(
    jvm: Jvm, launch: Launch, target: Broker, ending: str, tmp_path: Path
) -> None:
    """With all records, offsets and settings, and it can be written on."""
    writer = launch(ApacheBroker, "shared")
    client = JavaClient(jvm, writer)
    fill(jvm, writer)
    client.alter_configs("topic", "gzip", {"retention.ms": "-1", "cleanup.policy": "compact"})
    client.create_topic("many", partitions=12)
    client.produce("many", [Record(value=b"%d" % n, partition=n) for n in range(12)])
    client.create_topic("emptied")
    client.produce("emptied", [numbered(n) for n in range(10)])
    client.delete_records("emptied", before=4)
    client.create_topic("dropped")
    client.delete_topic("dropped")
    counts = {**dict.fromkeys(CODECS, 160), "rolled": 24, "idempotent": 10, "emptied": 6}
    before = snapshot(client, counts)
    writer.stop() if ending == "stopped" else writer.kill()

    reader = launch(TARGETS[target.name], "shared")
    client = JavaClient(jvm, reader)

    assert snapshot(client, counts) == before
    for n in range(12):
        (record,) = client.consume("many", partition=n, count=1)
        assert record.value == b"%d" % n
    (ack,) = client.produce("idempotent", [numbered(10)], How(idempotent=True))
    assert ack.offset == 10
    assert client.consume("idempotent", start=10, count=1)[0].value == numbered(10).value


def snapshot(client: JavaClient, counts: dict[str, int]) -> dict[str, object]:
    """All that a client can see of these topics."""
    seen: dict[str, object] = {"topics": client.list_topics()}
    for topic, count in counts.items():
        configs = client.describe_configs("topic", topic)
        seen[topic] = (
            client.describe_topic(topic),
            client.offset(topic, "earliest"),
            client.offset(topic, "latest"),
            {name: config for name, config in configs.items() if "TOPIC" in config["source"]},
            client.consume(topic, count=count),
        )
    return seen
