"""Apache Kafka's own tools print against us what they print against Apache Kafka.

Every test runs a row of tools with the same arguments against two brokers and compares all that
they print. With `apache` as the target both are Apache Kafka, which shows that the comparison
itself is fair (and that nothing random slips through).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.apache import ApacheBroker
from harness.brokers import Broker
from harness.clients import How, JavaClient, Record
from harness.jvm import Jvm
from harness.transcript import Step, run_step, step, transcript

BASE_MS = 1_700_000_000_000
B = "--bootstrap-server {bootstrap}"


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """An Apache Kafka that is not the target."""
    broker = ApacheBroker(tmp_path_factory.mktemp("oracle"))
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


def assert_same(jvm: Jvm, oracle: Broker, target: Broker, steps: list[Step]) -> None:
    expected = transcript(jvm, oracle, steps)
    assert transcript(jvm, target, steps) == expected


def fill(jvm: Jvm, broker: Broker, topic: str, batches: int = 5, each: int = 10) -> None:
    """The same batches, byte for byte, on whichever broker."""
    client = JavaClient(jvm, broker)
    client.create_topic(topic)
    for batch in range(batches):
        first = batch * each
        client.produce(topic, [numbered(n) for n in range(first, first + each)])


def numbered(n: int) -> Record:
    return Record(
        key=b"key-%d" % n,
        value=b"value-%d " % n * 5,
        headers=(("h", b"%d" % n),),
        timestamp=BASE_MS + n,
    )


def test_topics_are_created_listed_and_described_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    t = topic
    lines = [
        f"--create --topic {t}-a --partitions 3 --replication-factor 1",
        f"--create --topic {t}-b --config retention.ms=60000 --config cleanup.policy=compact",
        f"--create --topic {t}_c.d",
        f"--create --topic {t}-a",
        f"--create --topic {t}-a --if-not-exists",
        f"--create --topic {t}-x --replication-factor 3",
        f"--create --topic {t}-x --partitions 0",
        f"--create --topic {t}-x --config retention.ms=soon",
        f"--create --topic {t}-x --config no.such.setting=1",
        f"--create --topic {t}/x",
        f"--create --topic {t}-r --replica-assignment 1,1",
        f"--list --topic {t}.*",
        f"--describe --topic {t}.*",
        f"--describe --topic {t}.* --topics-with-overrides",
        f"--describe --topic {t}.* --under-replicated-partitions",
        f"--describe --topic {t}.* --unavailable-partitions",
        f"--describe --topic {t}.* --at-min-isr-partitions",
        f"--describe --topic {t}-none",
        f"--alter --topic {t}-a --partitions 5",
        f"--alter --topic {t}-a --partitions 5",
        f"--alter --topic {t}-a --partitions 2",
        f"--alter --topic {t}-none --partitions 2",
        f"--describe --topic {t}-a",
        f"--delete --topic {t}-a",
        f"--delete --topic {t}-none",
        f"--delete --topic {t}-none --if-exists",
        f"--list --topic {t}.*",
    ]
    assert_same(jvm, oracle, target, [step(tools.TOPICS, f"{B} {line}") for line in lines])


def test_topic_settings_are_changed_and_shown_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    entity = f"{B} --entity-type topics --entity-name {topic}"
    lines = [
        f"{entity} --describe",
        f"{entity} --alter --add-config retention.ms=1000,segment.bytes=1048576",
        f"{entity} --alter --add-config cleanup.policy=[compact,delete]",
        f"{entity} --describe",
        f"{entity} --describe --all",
        f"{entity} --alter --delete-config retention.ms",
        f"{entity} --alter --add-config retention.bytes=5 --delete-config segment.bytes",
        f"{entity} --describe",
        f"{entity} --alter --add-config retention.ms=soon",
        f"{entity} --alter --add-config segment.bytes=1",
        f"{entity} --alter --add-config cleanup.policy=shred",
        f"{entity} --alter --add-config no.such.setting=1",
        f"{entity} --alter --delete-config no.such.setting",
        f"{entity} --describe",
        f"{B} --entity-type topics --entity-name {topic}-none --describe",
        f"{B} --entity-type topics --entity-name {topic}-none --alter --add-config retention.ms=1",
    ]
    create = step(tools.TOPICS, f"{B} --create --topic {topic} --config max.message.bytes=5000")
    assert_same(jvm, oracle, target, [create, *(step(tools.CONFIGS, line) for line in lines)])


def test_group_settings_are_changed_and_shown_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    # Without settings, the tool asks brokers newer than 4.0 whether there is such a group.
    entity = f"{B} --entity-type groups --entity-name {topic}"
    lines = [
        f"{entity} --alter --add-config consumer.session.timeout.ms=50000",
        f"{entity} --alter --add-config consumer.heartbeat.interval.ms=6000,no.such=1",
        f"{entity} --alter --add-config consumer.heartbeat.interval.ms=6000",
        f"{entity} --describe",
        f"{entity} --alter --add-config consumer.session.timeout.ms=1",
        f"{entity} --alter --add-config no.such.setting=1",
        f"{entity} --alter --delete-config consumer.session.timeout.ms",
        f"{entity} --describe",
        f"{entity} --alter --delete-config consumer.heartbeat.interval.ms",
    ]
    assert_same(jvm, oracle, target, [step(tools.CONFIGS, line) for line in lines])


def test_broker_settings_are_changed_and_shown_alike(
    jvm: Jvm, oracle: Broker, target: Broker
) -> None:
    one, default = (
        f"{B} --entity-type brokers --entity-name 1",
        f"{B} --entity-type brokers --entity-default",
    )
    lines = [
        f"{one} --describe",
        f"{default} --describe",
        f"{one} --alter --add-config log.retention.ms=111111",
        f"{default} --alter --add-config log.retention.ms=222222,log.cleaner.threads=2",
        f"{one} --describe",
        f"{default} --describe",
        f"{one} --alter --add-config log.retention.ms=soon",
        f"{one} --alter --add-config log.dirs=/elsewhere",
        f"{one} --alter --delete-config log.retention.ms",
        f"{one} --describe",
        f"{default} --alter --delete-config log.retention.ms,log.cleaner.threads",
        f"{default} --describe",
    ]
    assert_same(jvm, oracle, target, [step(tools.CONFIGS, line) for line in lines])


def test_all_settings_of_a_broker_have_the_same_values(
    jvm: Jvm, oracle: Broker, target: Broker
) -> None:
    """Except those that the harness sets because a node has to have them."""
    describe = step(tools.CONFIGS, f"{B} --entity-type brokers --entity-name 1 --describe --all")

    def settings(broker: Broker) -> dict[str, str]:
        run = run_step(jvm, broker, describe)
        assert run.status == 0, run.err
        return dict(line.strip().split("=", 1) for line in run.out.splitlines()[1:])

    expected, found = settings(oracle), settings(target)
    defaults = {name for name, text in expected.items() if "STATIC_BROKER_CONFIG" not in text}
    assert len(defaults) > 200
    assert found.keys() == expected.keys()
    assert {name: found[name] for name in defaults} == {name: expected[name] for name in defaults}


def test_offsets_are_found_alike(jvm: Jvm, oracle: Broker, target: Broker, topic: str) -> None:
    for broker in (oracle, target):
        fill(jvm, broker, topic)
    times = ["-1", "-2", "-3", "earliest", "latest", "max-timestamp", "-4"]
    times += [str(BASE_MS - 1), str(BASE_MS + 17), str(BASE_MS + 49), str(BASE_MS + 50)]
    lines = [f"{B} --topic {topic} --time {time}" for time in times]
    lines += [
        f"{B} --topic {topic}",
        f"{B} --topic {topic} --partitions 0",
        f"{B} --topic {topic} --partitions 7",
        f"{B} --topic-partitions {topic}:0",
        f"{B} --topic {topic}-none",
        f"{B} --topic {topic} --time tomorrow",
    ]
    assert_same(jvm, oracle, target, [step(tools.GET_OFFSETS, line) for line in lines])


def test_records_are_deleted_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str, tmp_path: Path
) -> None:
    steps = []
    for n, offset in enumerate((7, 7, 3, 51, -1, -5)):
        file = tmp_path / f"{n}.json"
        parts = [{"topic": topic, "partition": 0, "offset": offset}]
        file.write_text(json.dumps({"partitions": parts, "version": 1}))
        steps.append(step(tools.DELETE_RECORDS, f"{B} --offset-json-file {file}"))
        steps.append(step(tools.GET_OFFSETS, f"{B} --topic {topic} --time earliest"))
    for broker in (oracle, target):
        fill(jvm, broker, topic)
    assert_same(jvm, oracle, target, steps)


def test_log_directories_are_described_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    for broker in (oracle, target):
        fill(jvm, broker, topic)
    assert_same(jvm, oracle, target, [step(tools.LOG_DIRS, f"{B} --describe --topic-list {topic}")])


def test_the_cluster_is_described_alike(jvm: Jvm, oracle: Broker, target: Broker) -> None:
    assert_same(
        jvm,
        oracle,
        target,
        [step(tools.CLUSTER, f"cluster-id {B}"), step(tools.CLUSTER, f"list-endpoints {B}")],
    )


def test_every_advertised_api_is_one_that_apache_kafka_has(
    jvm: Jvm, oracle: Broker, target: Broker
) -> None:
    pattern = re.compile(r"^\t(\w+)\((\d+)\): (\d+)(?: to (\d+))? \[usable: \d+\]", re.MULTILINE)

    def ranges(broker: Broker) -> dict[str, tuple[int, int]]:
        run = run_step(jvm, broker, step(tools.API_VERSIONS, B))
        assert run.status == 0, run.err
        return {
            match[1]: (int(match[3]), int(match[4] or match[3]))
            for match in pattern.finditer(run.out)
        }

    expected, found = ranges(oracle), ranges(target)
    assert {"Produce", "Fetch", "Metadata", "ApiVersions", "CreateTopics"} <= found.keys()
    assert found.keys() <= expected.keys()
    for name, (low, high) in found.items():
        assert expected[name][0] <= low <= high <= expected[name][1], name


def test_active_producers_are_described_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    for broker in (oracle, target):
        client = JavaClient(jvm, broker)
        client.create_topic(topic)
        client.produce(topic, [numbered(n) for n in range(5)], How(idempotent=True))

    def described(broker: Broker) -> str:
        arguments = f"{B} describe-producers --topic {topic} --partition 0"
        run = run_step(jvm, broker, step(tools.TRANSACTIONS, arguments))
        assert run.status == 0, run.err
        return re.sub(r"(?m)^\d+\s", "PID ", re.sub(r"[ \t]+", " ", run.out))

    assert described(target) == described(oracle)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_producer_performance_reports_and_delivers(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str, codec: str
) -> None:
    sent = f"--topic {topic} --num-records 5000 --record-size 200 --throughput -1"
    assert_same(
        jvm,
        oracle,
        target,
        [
            step(tools.TOPICS, f"{B} --create --topic {topic}"),
            step(
                tools.PRODUCER_PERFORMANCE,
                f"{B} {sent} --command-property compression.type={codec}",
            ),
            step(tools.GET_OFFSETS, f"{B} --topic {topic}"),
        ],
    )


def test_consumer_performance_reads_everything(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    for broker in (oracle, target):
        fill(jvm, broker, topic)
    arguments = f"{B} --topic {topic} --num-records 50 --timeout 60000"
    assert_same(jvm, oracle, target, [step(tools.CONSUMER_PERFORMANCE, arguments)])


def test_end_to_end_latency_measures(jvm: Jvm, target: Broker, topic: str) -> None:
    arguments = f"{B} --topic {topic} --num-records 20 --producer-acks 1 --record-size 30"
    run = run_step(jvm, target, step(tools.TOPICS, f"{B} --create --topic {topic}"))
    assert run.status == 0

    run = run_step(jvm, target, step(tools.END_TO_END_LATENCY, arguments))

    assert run.status == 0, run.err
    assert "Avg latency:" in run.out
    assert "Percentiles: 50th =" in run.out


def test_console_tools_write_and_read_alike(
    jvm: Jvm, oracle: Broker, target: Broker, topic: str
) -> None:
    write = (
        f"{B} --topic {topic} --reader-property parse.key=true --reader-property key.separator=:"
    )
    read = f"{B} --topic {topic} --partition 0 --offset 1 --max-messages 2"
    shown = "".join(f" --formatter-property print.{name}=true" for name in ("key", "offset"))
    steps = [
        step(tools.TOPICS, f"{B} --create --topic {topic}"),
        step(tools.CONSOLE_PRODUCER, write, stdin="a:1\nb:2\nc:3\n"),
        step(tools.CONSOLE_CONSUMER, read + shown),
    ]
    assert_same(jvm, oracle, target, steps)
