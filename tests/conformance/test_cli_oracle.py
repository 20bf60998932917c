"""Our tools print what Apache Kafka's print, given the same arguments and the same broker.

Each test runs both against Apache Kafka and against Barnabas.  What differs on purpose is undone
before comparing: our errors go to stderr and are one line, settings and topics are in alphabetical
order (Java's are in the order of a hash table).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from harness import transcript as tools
from harness.brokers import Broker
from harness.clients import JavaClient, Record
from harness.jvm import Jvm

BIN = Path(sys.executable).parent
OURS = {
    tools.TOPICS: "kafka-topics",
    tools.CONSOLE_PRODUCER: "kafka-console-producer",
    tools.CONSOLE_CONSUMER: "kafka-console-consumer",
}


REFUSAL = re.compile(r"(?m)^(kafka-topics: |Error while executing topic command : ).*$")
"""In the words of whoever checks: Java's parser, ours, or the broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    said: str


def ours(main: str, broker: Broker, arguments: Sequence[str], stdin: str = "") -> Outcome:
    run = subprocess.run(
        [BIN / OURS[main], "--bootstrap-server", broker.bootstrap, *arguments],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    shown = run.stdout if main == tools.CONSOLE_CONSUMER else run.stdout + run.stderr
    return Outcome(status=run.returncode, said=shown.decode())


def theirs(
    jvm: Jvm, main: str, broker: Broker, arguments: Sequence[str], stdin: str = ""
) -> Outcome:
    run = jvm.tool(main, "--bootstrap-server", broker.bootstrap, *arguments, stdin=stdin)
    return Outcome(status=run.status, said=run.out)


def comparable(outcome: Outcome, names: dict[str, str]) -> Outcome:
    text = outcome.said
    for name, stand_in in names.items():
        text = text.replace(name, stand_in)
    text = re.sub(r"TopicId: [\w-]{22}", "TopicId: ID", text)
    text = re.sub(r"Configs: (.*)", _in_order, text)
    # The wish is refused in the words of whoever checks it: Java's parser or ours.
    text = re.sub(
        r"(?m)^(kafka-topics: |Error while executing topic command : ).*$", "REFUSED", text
    )
    return Outcome(status=outcome.status, said="\n".join(sorted(text.splitlines())))


def _in_order(found: re.Match[str]) -> str:
    return f"Configs: {','.join(sorted(found[1].split(',')))}"


TOPIC_LINES = [
    "--create --topic {t}-a --partitions 3 --replication-factor 1",
    "--create --topic {t}-b --config retention.ms=60000 --config cleanup.policy=compact",
    "--create --topic {t}_c.d",
    "--create --topic {t}-a",
    "--create --topic {t}-a --if-not-exists",
    "--create --topic {t}-x --replication-factor 3",
    "--create --topic {t}-x --partitions 0",
    "--create --topic {t}-x --partitions some",
    "--create --topic {t}-x --config retention.ms=soon",
    "--create --topic {t}-x --config no.such.setting=1",
    "--create --topic {t}-x --config nothing",
    "--create --topic {t}/x",
    "--create --topic {t}-r --replica-assignment 1,1",
    "--create --topic {t}-s --replica-assignment 1:1",
    "--create --topic {t}-s --replica-assignment 1,7",
    "--list --topic {t}.*",
    "--list --topic {t}.* --exclude-internal",
    "--describe --topic {t}.*",
    "--describe --topic {t}-a,{t}-b",
    "--describe --topic {t}.* --exclude-internal --partition-size-limit-per-response 2",
    "--describe --topic {t}.* --topics-with-overrides",
    "--describe --topic {t}.* --under-replicated-partitions",
    "--describe --topic {t}.* --unavailable-partitions",
    "--describe --topic {t}.* --under-min-isr-partitions",
    "--describe --topic {t}.* --at-min-isr-partitions",
    "--describe --topic {t}-none",
    "--describe --topic {t}-none --if-exists",
    "--describe --topic-id AAAAAAAAAAAAAAAAAAAAAg",
    "--alter --topic {t}-a --partitions 5",
    "--alter --topic {t}-a --partitions 2",
    "--alter --topic {t}-r --partitions 4 --replica-assignment 1,1,1,1",
    "--alter --topic {t}-none --partitions 2",
    "--alter --topic {t}-none --partitions 2 --if-exists",
    "--describe --topic {t}-[ar]",
    "--delete --topic {t}-a",
    "--delete --topic {t}-none",
    "--delete --topic {t}-none --if-exists",
    "--list --topic {t}.*",
    "--delete --topic {t}.*",
]


def test_topics_are_managed_and_shown_alike(jvm: Jvm, target: Broker, topic: str) -> None:
    client = JavaClient(jvm, target)
    ours_topic, theirs_topic = f"o-{topic[-20:]}", f"j-{topic[-20:]}"
    different = []
    for line in TOPIC_LINES:
        mine = ours(tools.TOPICS, target, line.format(t=ours_topic).split())
        java = theirs(jvm, tools.TOPICS, target, line.format(t=theirs_topic).split())
        if tools.CHANGES.intersection(line.split()):
            client.settle()
        got, expected = comparable(mine, {ours_topic: "T"}), comparable(java, {theirs_topic: "T"})
        if got != expected:
            different.append((line, got, expected))
    assert different == []


@pytest.mark.parametrize(
    "line",
    [
        "--list --create --topic t",
        "",
        "--create",
        "--alter --topic t",
        "--delete",
        "--list --partitions 3",
        "--describe --replication-factor 3",
        "--list --if-exists",
        "--describe --if-not-exists",
        "--create --topic t --exclude-internal",
        "--create --topic t --partitions 2 --replica-assignment 1",
        "--describe --unavailable-partitions --topics-with-overrides",
        "--list --nonsense",
        "--describe --topic-id zzz",
        "--describe --topic [x",
    ],
)
def test_what_they_refuse_we_refuse(jvm: Jvm, target: Broker, line: str) -> None:
    assert theirs(jvm, tools.TOPICS, target, line.split()).status == 1
    mine = ours(tools.TOPICS, target, line.split())
    assert (mine.status, mine.said.count("\n")) == (1, 1)


PRODUCER_CASES = [
    ("", "one\ntwo\r\n\nlast"),
    ("{r} parse.key=true", "k1\tv1\nk2\tv2\tmore\n\tempty key\n"),
    ("--property parse.key=true --property key.separator=::", "a:b::c\nx::\n"),
    ("{r} parse.key=true {r} parse.headers=true", "h1:a,h2:b:c,h1:\tk\tv\n:x\tk5\tv5\n"),
    ("{r} parse.key=true {r} parse.headers=true {r} key.separator=,", "h:1,g:2\tk,v\n"),
    (
        "{r} parse.key=true {r} parse.headers=true {r} null.marker=NULL",
        "h1:NULL,h2:b\tNULL\tNULL\nNULL\tk\tv\nh:1\tNULLS\t NULL\n",
    ),
    ("{r} parse.key=true {r} ignore.error=true", "no key\nk\tv\n"),
    ("{r} parse.headers=true {r} ignore.error=true", "none\n\thv\nh\tv\n,a:b,\tv3\n"),
    ("{r} parse.key=true", "k\tgood\nbad\nk\tnever read\n"),
    ("{r} parse.headers=true {r} headers.separator=:", "never read\n"),
    ("--compression-codec --sync --request-required-acks 1", "zipped\n"),
    ("--compression-codec zstd --batch-size 100 --timeout 5 --max-memory-bytes 40000", "é€😀\n"),
]


@pytest.mark.parametrize(("line", "text"), PRODUCER_CASES)
def test_lines_become_the_same_records(
    jvm: Jvm, target: Broker, topic: str, line: str, text: str
) -> None:
    client = JavaClient(jvm, target)
    words = line.format(r="--reader-property").split()
    for end in ("ours", "java"):
        client.create_topic(f"{topic}-{end}")
    mine = ours(tools.CONSOLE_PRODUCER, target, ["--topic", f"{topic}-ours", *words], text)
    java = theirs(jvm, tools.CONSOLE_PRODUCER, target, ["--topic", f"{topic}-java", *words], text)

    assert mine.status == java.status
    assert records(target, f"{topic}-ours") == records(target, f"{topic}-java")


def records(broker: Broker, topic: str) -> list[object]:
    """All records of a topic's only partition, to its end."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "-", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[object] = []
    while True:
        message = consumer.poll(30)
        assert message is not None, "neither a record nor the end"
        if message.error() is not None:
            assert message.error().name() == "_PARTITION_EOF", message.error()
            return found
        found.append((message.key(), message.value(), message.headers()))


D = "org.apache.kafka.common.serialization"
CONSUMER_LINES = [
    "",
    "--offset 3 --max-messages 2",
    "--offset latest --timeout-ms 2000",
    "{p} print.key=true",
    "--property print.key=true --property key.separator=,",
    "{p} print.key=true {p} print.value=false",
    "{p} print.timestamp=true {p} print.offset=true {p} print.partition=true",
    "{p} print.key=true {p} print.delivery=true {p} print.headers=true",
    "{p} print.headers=true {p} headers.separator=| {p} null.literal=NIL {p} line.separator=;",
    "--formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter",
    "--value-deserializer {d}.StringDeserializer",
    "--value-deserializer {d}.BytesDeserializer",
    "{p} print.key=true --skip-message-on-error --key-deserializer {d}.StringDeserializer",
    "--isolation-level read_committed",
]


@pytest.fixture
def filled(jvm: Jvm, target: Broker, topic: str) -> str:
    client = JavaClient(jvm, target)
    client.create_topic(topic)
    client.produce(
        topic,
        [
            Record(key=b"k0", value=b"v0", headers=(), timestamp=1_700_000_000_000),
            Record(key=None, value=b"v1", headers=(("h", b"1"), ("g", None)), timestamp=1),
            Record(key=b"k2", value=None, headers=(("h", b""),), timestamp=2),
            Record(key=b"", value=b"", headers=(), timestamp=3),
            Record(key="é".encode(), value="\t€ \\ 😀".encode(), headers=(), timestamp=4),
        ],
    )
    return topic


@pytest.mark.parametrize("line", CONSUMER_LINES)
def test_records_are_printed_alike(jvm: Jvm, target: Broker, filled: str, line: str) -> None:
    words = line.format(p="--formatter-property", d=D).split()
    arguments = ["--topic", filled, "--partition", "0", *words]
    if "--offset" not in arguments:
        arguments += ["--offset", "earliest", "--max-messages", "5"]

    mine = ours(tools.CONSOLE_CONSUMER, target, arguments)
    java = theirs(jvm, tools.CONSOLE_CONSUMER, target, arguments)

    # Theirs warns of the older spelling on stdout.
    expected = re.sub(r"(?m)^Option --property is deprecated.*\n", "", java.said)
    assert mine == Outcome(status=java.status, said=expected)


NUMBERS = {
    "ShortDeserializer": ["0007", "fffe", "07"],
    "IntegerDeserializer": ["00000007", "fffffffe", "0007"],
    "LongDeserializer": ["0000000000000007", "fffffffffffffffe"],
    "FloatDeserializer": ["3dcccccd", "7f7fffff", "00000001", "4b189680", "3a83126f", "7fc00000"],
    "DoubleDeserializer": ["3fb999999999999a", "416312d000000000", "3f50624dd2f1a9fc"],
    "BooleanDeserializer": ["01", "00"],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_printed_alike(jvm: Jvm, target: Broker, topic: str, name: str) -> None:
    client = JavaClient(jvm, target)
    client.create_topic(topic)
    values = [bytes.fromhex(text) for text in NUMBERS[name]]
    client.produce(topic, [Record(key=None, value=v, headers=(), timestamp=1) for v in values])
    arguments = [
        *("--topic", topic, "--partition", "0", "--offset", "0", "--skip-message-on-error"),
        *("--max-messages", str(len(values))),
        *("--value-deserializer", f"{D}.{name}"),
    ]

    mine = ours(tools.CONSOLE_CONSUMER, target, arguments)

    assert mine == theirs(jvm, tools.CONSOLE_CONSUMER, target, arguments)
