"""The load tools as people run them, against our broker.

How fast anything is says nothing here: counts, the lines' shapes and what the topic holds then.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Consumer, TopicPartition
from terminal import CTRL_C, Terminal

BIN = Path(sys.executable).parent
NUMBER = r"\d+\.\d+"
SENT = re.compile(
    rf"(\d+)(?: steady state)? records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), "
    rf"{NUMBER} ms avg latency, {NUMBER} ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, "
    r"\d+ ms 99\.9th\."
)
WINDOW = re.compile(
    rf"(\d+) records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), {NUMBER} ms avg latency, "
    rf"{NUMBER} ms max latency\."
)
TopicName = Callable[[], str]


def run(broker: BarnabasProcess, tool: str, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / tool, "--bootstrap-server", broker.bootstrap, *line.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def ok(broker: BarnabasProcess, tool: str, line: str) -> list[str]:
    done = run(broker, tool, line)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def values(broker: BarnabasProcess, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "-"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(30)
        assert message is not None, "fewer than expected"
        assert message.error() is None
        found.append(message.value() or b"")
    consumer.close()
    return found


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: TopicName) -> str:
    name = topic_name()
    create_topics(broker.bootstrap, name, partitions=1)
    return name


def test_records_of_random_letters_are_sent(broker: BarnabasProcess, topic: str) -> None:
    (line,) = ok(
        broker,
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 2500 --record-size 40 --throughput -1 "
        "--producer-props acks=all linger.ms=1 compression.type=zstd",
    )

    found = SENT.fullmatch(line)
    assert found
    assert found[1] == "2500"
    sent = values(broker, topic, 2500)
    assert {len(value) for value in sent} == {40}
    assert len(set(sent)) == 2500


def test_intervals_warm_up_and_numbers_in_order(broker: BarnabasProcess, topic: str) -> None:
    lines = ok(
        broker,
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 60 --payload-monotonic --throughput 50 "
        "--reporting-interval 200 --warmup-records 20",
    )

    assert lines[0] == (
        "Warmup first 20 records. Steady state results will print after the complete test summary."
    )
    assert lines.count("In steady state.") == 1
    counts = [int(found[1]) for found in map(SENT.fullmatch, lines[-2:]) if found]
    assert counts == [60, 40]
    windows = [line for line in lines[1:-2] if line != "In steady state."]
    assert windows
    assert all(map(WINDOW.fullmatch, windows))
    assert values(broker, topic, 60) == [b"%d" % number for number in range(60)]


def test_transactions_are_committed(broker: BarnabasProcess, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "values.txt"
    file.write_text("one\ntwo\n")

    lines = ok(
        broker,
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 50 --payload-file {file} --throughput 200 "
        f"--transaction-duration-ms 50 --transactional-id {topic}",
    )

    assert lines[:2] == [f"Reading payloads from: {file}", "Number of records read: 2"]
    assert SENT.fullmatch(lines[2])
    received = ok(
        broker,
        "kafka-consumer-perf-test",
        f"--topic {topic} --num-records 50 --hide-header "
        "--command-property isolation.level=read_committed",
    )
    assert received[0].split(", ")[4] == "50"


def test_a_record_that_is_too_large_fails_the_run(broker: BarnabasProcess, topic: str) -> None:
    done = run(
        broker,
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 2 --record-size 3000000 --throughput -1 "
        "--command-property max.request.size=4000000",
    )

    assert done.returncode == 1
    assert done.stdout.startswith("0 records sent, ")
    assert "2 of 2 records were not sent: " in done.stderr


def test_metrics_are_printed_in_the_end(broker: BarnabasProcess, topic: str) -> None:
    lines = ok(
        broker,
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 7 --record-size 3 --throughput -1 --print-metrics",
    )

    heading = next(line for line in lines if line.startswith("Metric Name"))
    assert heading.endswith("   Value")
    (sent,) = [line for line in lines if ":txmsgs:{client-id=perf-producer-client}" in line]
    assert sent.endswith(" : 7")


def test_records_are_received(broker: BarnabasProcess, topic: str) -> None:
    line = f"--topic {topic} --num-records 3000 --record-size 100 --throughput -1"
    ok(broker, "kafka-producer-perf-test", line)

    heading, row = ok(
        broker, "kafka-consumer-perf-test", f"--include ({topic}|no-other) --messages 3000"
    )

    assert heading == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
        "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    cells = row.split(", ")
    assert (cells[2], cells[4]) == ("0.2861", "3000")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", cells[0])


def test_a_topic_that_does_not_exist_is_named(
    broker: BarnabasProcess, topic_name: TopicName
) -> None:
    name = topic_name()
    done = run(broker, "kafka-consumer-perf-test", f"--topic {name} --messages 1")
    assert (done.returncode, done.stderr) == (
        1,
        f"kafka-consumer-perf-test: topic {name} does not exist\n",
    )
    done = run(broker, "kafka-consumer-perf-test", f"--include {name}.+ --messages 1")
    assert done.stderr == f'kafka-consumer-perf-test: no topic matches "{name}.+"\n'


def test_latency_is_measured_on_a_topic_that_is_made_for_it(
    broker: BarnabasProcess, topic_name: TopicName
) -> None:
    name = topic_name()
    done = subprocess.run(
        [BIN / "kafka-e2e-latency.sh", broker.bootstrap, name, "1001", "all", "12"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    created, first, thousandth, average, percentiles = done.stdout.splitlines()
    assert created.startswith(f'Topic "{name}" does not exist. Will create topic with 1 partition')
    assert re.fullmatch(r"0\t[\d.E-]+", first)
    assert re.fullmatch(r"1000\t[\d.E-]+", thousandth)
    assert re.fullmatch(r"Avg latency: \d+\.\d{4} ms", average)
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", percentiles)
    assert {len(value) for value in values(broker, name, 1001)} == {12}


def test_a_bar_shows_how_far_it_has_got_and_ctrl_c_takes_it_away(
    broker: BarnabasProcess, topic: str
) -> None:
    terminal = Terminal(
        [
            BIN / "kafka-producer-perf-test",
            *f"--topic {topic} --num-records 100000 --record-size 10 --throughput 500".split(),
            *("--bootstrap-server", broker.bootstrap),
        ]
    )
    try:
        terminal.read_until(b"sending [")
        terminal.type(CTRL_C)
        said = terminal.read_to_end()
        assert terminal.process.returncode == 130, said
        assert b"Traceback" not in said
        assert said.rstrip().endswith(b"\x1b[K"), "nothing is left of the bar"
        assert terminal.modes_now() == terminal.modes
    finally:
        terminal.close()
