"""The console producer and consumer as people run them, from and to pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess

BIN = Path(sys.executable).parent
PRODUCER = BIN / "kafka-console-producer"
CONSUMER = BIN / "kafka-console-consumer"
TOPICS = BIN / "kafka-topics"
Tool = Callable[..., subprocess.CompletedProcess[bytes]]
QUIET_MS = "3000"
"""After this long without a record a consumer may take it that there are no more."""


@pytest.fixture
def produce(broker: BarnabasProcess) -> Tool:
    def run(topic: str, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PRODUCER, "--broker-list", broker.bootstrap, "--topic", topic, *arguments],
            input=data,
            capture_output=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def consume(broker: BarnabasProcess) -> Tool:
    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [CONSUMER, "--bootstrap-server", broker.bootstrap, *arguments],
            capture_output=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def create(broker: BarnabasProcess) -> Callable[..., None]:
    def run(topic: str, *arguments: str) -> None:
        subprocess.run(
            [
                TOPICS,
                "--bootstrap-server",
                broker.bootstrap,
                "--create",
                "--topic",
                topic,
                *arguments,
            ],
            capture_output=True,
            check=True,
            timeout=60,
        )

    return run


def start_consumer(broker: BarnabasProcess, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CONSUMER, "--bootstrap-server", broker.bootstrap, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def sent(run: subprocess.CompletedProcess[bytes]) -> None:
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def printed(run: subprocess.CompletedProcess[bytes], count: int) -> bytes:
    assert (run.returncode, run.stderr) == (0, b"Processed a total of %d messages\n" % count)
    return run.stdout


Create = Callable[..., None]
Name = Callable[[], str]


def test_lines_come_back_as_they_were(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)

    sent(produce(topic, b"one\ntwo\r\n\n\xff\x00\rbinary\nlast"))
    found = consume("--topic", topic, "--from-beginning", "--max-messages", "5")

    assert printed(found, 5) == b"one\ntwo\n\n\xff\x00\rbinary\nlast\n"


def test_long_lines_and_many_lines(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    lines = [b"x" * 900_000, *(b"line %d" % number for number in range(50_000)), os.urandom(50_000)]
    data = b"".join(line.replace(b"\n", b" ").rstrip(b"\r") + b"\n" for line in lines)

    sent(produce(topic, data, "--compression-codec", "lz4"))
    found = consume("--topic", topic, "--from-beginning", "--max-messages", str(len(lines)))

    assert printed(found, len(lines)) == data


def test_keys_headers_and_nulls(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    reader = ["parse.key=true", "parse.headers=true", "key.separator=,", "null.marker=NULL"]

    sent(
        produce(
            topic,
            b"h:1,g:NULL\tk,v\nNULL\tNULL,NULL\n",
            *(word for each in reader for word in ("--property", each)),
            "--sync",
        )
    )
    shown = ["print.key=true", "print.headers=true", "print.partition=true", "print.offset=true"]
    found = consume(
        *("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "2"),
        *(word for each in shown for word in ("--property", each)),
    )

    assert printed(found, 2) == (
        b"Partition:0\tOffset:0\th:1,g:null\tk\tv\nPartition:0\tOffset:1\tNO_HEADERS\tnull\tnull\n"
    )


def test_keys_go_where_java_sends_them(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    from confluent_kafka.cimpl import murmur2

    topic = topic_name()
    create(topic, "--partitions", "7")
    keys = [b"key-%d" % number for number in range(40)]

    sent(produce(topic, b"".join(b"%s\tv\n" % key for key in keys), "--property", "parse.key=true"))
    found = consume(
        *("--topic", topic, "--from-beginning", "--max-messages", "40"),
        *("--property", "print.key=true", "--property", "print.partition=true"),
        *("--property", "print.value=false"),
    )

    expected = {b"Partition:%d\t%s" % (murmur2(key, 7), key) for key in keys}
    assert set(printed(found, 40).splitlines()) == expected


def test_reading_starts_and_ends_where_it_is_told_to(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    sent(produce(topic, b"a\nb\nc\nd\n"))

    middle = consume("--topic", topic, "--partition", "0", "--offset", "1", "--max-messages", "2")
    rest = consume("--topic", topic, "--partition", "0", "--offset", "2", "--timeout-ms", QUIET_MS)
    latest = consume("--topic", topic, "--timeout-ms", QUIET_MS)
    none = consume("--topic", topic, "--from-beginning", "--max-messages", "0")

    assert printed(middle, 2) == b"b\nc\n"
    assert printed(rest, 2) == b"c\nd\n"
    assert printed(latest, 0) == b""
    assert printed(none, 0) == b""


def test_an_expression_reads_several_topics(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    prefix = topic_name()
    for suffix in ("a", "b", "other"):
        create(f"{prefix}-{suffix}")
        sent(produce(f"{prefix}-{suffix}", f"{suffix}\n".encode()))

    found = consume("--include", f"{prefix}-[ab]", "--from-beginning", "--timeout-ms", QUIET_MS)

    assert sorted(printed(found, 2).splitlines()) == [b"a", b"b"]


def test_a_topic_that_does_not_exist_is_waited_for(
    broker: BarnabasProcess, produce: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    waiting = start_consumer(broker, "--topic", topic, "--max-messages", "2")
    with waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == (
            f"warning: topic {topic} does not exist: waiting for it\n".encode()
        )
        create(topic, "--partitions", "2")
        sent(produce(topic, b"first\nsecond\n"))
        out, err = waiting.communicate(timeout=60)

    assert sorted(out.splitlines()) == [b"first", b"second"]
    assert (waiting.returncode, err) == (0, b"Processed a total of 2 messages\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_reading_with_the_total(
    broker: BarnabasProcess,
    produce: Tool,
    create: Create,
    topic_name: Name,
    number: signal.Signals,
) -> None:
    topic = topic_name()
    create(topic)
    sent(produce(topic, b"only\n"))
    reading = start_consumer(broker, "--topic", topic, "--from-beginning")
    with reading:
        assert reading.stdout is not None
        assert reading.stdout.readline() == b"only\n"
        reading.send_signal(number)
        _, err = reading.communicate(timeout=60)

    assert (reading.returncode, err) == (128 + number, b"Processed a total of 1 messages\n")


def test_a_reader_that_goes_away_ends_the_consumer_quietly(
    broker: BarnabasProcess, produce: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    sent(produce(topic, b"some text that fills a pipe\n" * 20_000))
    reading = start_consumer(broker, "--topic", topic, "--from-beginning")
    with reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        assert reading.stdout.readline() == b"some text that fills a pipe\n"
        reading.stdout.close()
        assert reading.stderr.read() == b""
        assert reading.wait(timeout=60) == 141


def test_what_was_read_before_a_sigterm_is_still_sent(
    broker: BarnabasProcess, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    writing = subprocess.Popen(
        [PRODUCER, "--broker-list", broker.bootstrap, "--topic", topic, "--timeout", "60000"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with writing:
        assert writing.stdin is not None
        assert writing.stderr is not None
        # The second line is bad only to tell us, on stderr, that the first has been read.
        too_large = b"x" * 1_100_000
        writing.stdin.write(b"first\n" + too_large + b"\n")
        writing.stdin.flush()
        assert writing.stderr.readline().startswith(b"failed to send record 'xxx")
        writing.send_signal(signal.SIGTERM)
        assert writing.wait(60) == 143
        assert writing.stderr.read() == b""
    found = consume("--topic", topic, "--from-beginning", "--max-messages", "1")

    assert printed(found, 1) == b"first\n"


def test_a_topic_that_cannot_be_is_refused_at_once(produce: Tool) -> None:
    run = produce("no/such topic", b"x\n")

    assert run.returncode == 1
    assert run.stderr.startswith(b"kafka-console-producer: topic no/such topic: ")
    assert run.stderr.count(b"\n") == 1


def test_a_bad_line_stops_the_producer_after_the_good_ones(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)

    run = produce(topic, b"k\tgood\nbad\n", "--property", "parse.key=true")
    found = consume("--topic", topic, "--from-beginning", "--max-messages", "1")

    assert (run.returncode, run.stderr) == (
        1,
        b"kafka-console-producer: No key separator found on line number 2: 'bad'\n",
    )
    assert printed(found, 1) == b"good\n"


def test_records_that_fail_are_told_one_by_one_and_the_others_arrive(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic, "--config", "max.message.bytes=2000")
    too_large = os.urandom(5000).hex().encode()

    run = produce(topic, b"small\n" + too_large + b"\nsmall too\n", "--sync")
    found = consume("--topic", topic, "--from-beginning", "--max-messages", "2")

    assert run.returncode == 1
    assert run.stderr.count(b"failed to send record") == 1
    assert run.stderr.count(b"\n") == 1
    assert printed(found, 2) == b"small\nsmall too\n"


def test_a_record_of_another_type_stops_the_consumer_or_is_skipped(
    produce: Tool, consume: Tool, create: Create, topic_name: Name
) -> None:
    topic = topic_name()
    create(topic)
    sent(produce(topic, b"\0\0\0\x07\nabc\n\0\0\0\x08\n"))
    integers = ["--value-deserializer", "org.apache.kafka.common.serialization.IntegerDeserializer"]
    reading = ["--topic", topic, "--from-beginning", "--max-messages", "3", *integers]

    stopped = consume(*reading)
    skipped = consume(*reading, "--skip-message-on-error")

    assert (stopped.returncode, stopped.stdout) == (1, b"7\n")
    assert b"Size of data received by IntegerDeserializer is not 4" in stopped.stderr
    assert (skipped.returncode, skipped.stdout) == (0, b"7\n8\n")
    assert b"skipping this message" in skipped.stderr


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("producer", [], "--topic is missing: NAME"),
        ("producer", ["--topic", "t", "--synch"], "unknown option --synch: did you mean --sync?"),
        ("consumer", [], "exactly one of --topic and --include is needed"),
        ("consumer", ["--topic", "t", "--offset", "3"], "--offset needs --partition"),
        (
            "consumer",
            ["--topic", "t", "--isolation-level", "x"],
            '--isolation-level: "x" is not one of read_committed, read_uncommitted',
        ),
    ],
)
def test_a_bad_command_line_is_one_line(tool: str, arguments: list[str], complaint: str) -> None:
    program = f"kafka-console-{tool}"
    run = subprocess.run(
        [BIN / program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )

    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"{program}: {complaint}\n")


@pytest.mark.parametrize("tool", ["producer", "consumer"])
def test_without_a_broker_one_line_says_what_to_do(tool: str) -> None:
    run = subprocess.run(
        [BIN / f"kafka-console-{tool}", "--bootstrap-server", "127.0.0.1:1", "--topic", "t"],
        input="x\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (run.returncode, run.stderr) == (
        1,
        'broker not reachable at 127.0.0.1:1: is it running? Start one with "barnabas start".\n',
    )
