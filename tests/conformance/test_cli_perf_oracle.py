"""Our load tools and Apache Kafka's: the same arguments, lines of the same shape.

Numbers that are measured differ from run to run; counts, headings and sizes do not.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from harness.brokers import Broker
from harness.clients import JavaClient
from harness.jvm import Jvm
from harness.side_by_side import BIN, JAVA_NOISE
from harness.transcript import (
    CONSUMER_PERFORMANCE,
    END_TO_END_LATENCY,
    PRODUCER_PERFORMANCE,
)

OURS = {
    PRODUCER_PERFORMANCE: "kafka-producer-perf-test.sh",
    CONSUMER_PERFORMANCE: "kafka-consumer-perf-test.sh",
    END_TO_END_LATENCY: "kafka-e2e-latency.sh",
}
DEPRECATED = re.compile(r"(?m)^(Option --|Warning: --|WARNING: Positional ).*\n")
"""Theirs says on stdout that a spelling is an older one."""


def shape(text: str) -> list[str]:
    """Lines with what is measured taken out; the number of decimals is part of the shape."""
    text = DEPRECATED.sub("", JAVA_NOISE.sub("", text))
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", "DATE", text)
    text = re.sub(r"\d+\.(\d+)( records/sec| MB/sec| ms|,|$)", _decimals, text, flags=re.MULTILINE)
    text = re.sub(r"\d+ ms (50th|95th|99th|99\.9th)", r"N ms \1", text)
    text = re.sub(r"((?:50th|99th|99\.9th) =) \d+", r"\1 N", text)
    text = re.sub(r"(?m)^(\d+)\t.*$", r"\1 MS", text)
    text = re.sub(r", \d+, -?\d+, (N\.nnnn, N\.nnnn)$", r", MS, MS, \1", text, flags=re.MULTILINE)
    return text.splitlines()


def _decimals(found: re.Match[str]) -> str:
    return f"N.{'n' * len(found[1])}{found[2]}"


def run_ours(main: str, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / OURS[main], *line.split()], capture_output=True, text=True, check=False, timeout=120
    )


def ours(main: str, line: str) -> tuple[int, list[str]]:
    run = run_ours(main, line)
    assert run.returncode == 0, run.stderr
    return run.returncode, shape(run.stdout)


def theirs(jvm: Jvm, main: str, line: str) -> tuple[int, list[str]]:
    run = jvm.tool(main, *line.split())
    return run.status, shape(run.out)


@pytest.fixture
def filled(jvm: Jvm, target: Broker, topic: str) -> str:
    JavaClient(jvm, target).create_topic(topic, partitions=2)
    line = f"--topic {topic} --num-records 500 --record-size 100 --throughput -1"
    ours(PRODUCER_PERFORMANCE, f"{line} --bootstrap-server {target.bootstrap}")
    return topic


@pytest.mark.parametrize(
    "line",
    [
        "--producer-props bootstrap.servers={b} --num-records 300 --record-size 50 --throughput -1",
        (
            "--bootstrap-server {b} --num-records 300 --record-size 1 --throughput -1 "
            "--command-property acks=1 linger.ms=10 compression.type=lz4"
        ),
        "--bootstrap-server {b} --num-records 1 --payload-monotonic --throughput -1",
        "--bootstrap-server {b} --num-records 300 --record-size 50 --throughput 200.5",
        (
            "--bootstrap-server {b} --num-records 100 --record-size 50 --throughput -1 "
            "--transaction-duration-ms 100"
        ),
        (
            "--bootstrap-server {b} --num-records 100 --record-size 50 --throughput -1 "
            "--transactional-id {t}"
        ),
    ],
)
def test_a_producers_run_is_told_alike(jvm: Jvm, target: Broker, filled: str, line: str) -> None:
    arguments = f"--topic {filled} {line.format(b=target.bootstrap, t=filled)}"

    assert ours(PRODUCER_PERFORMANCE, arguments) == theirs(jvm, PRODUCER_PERFORMANCE, arguments)


def test_intervals_of_a_producer_are_told_alike(jvm: Jvm, target: Broker, filled: str) -> None:
    arguments = (
        f"--topic {filled} --bootstrap-server {target.bootstrap} --num-records 400 "
        "--record-size 10 --throughput 200 --reporting-interval 300"
    )
    _, mine = ours(PRODUCER_PERFORMANCE, arguments)
    _, java = theirs(jvm, PRODUCER_PERFORMANCE, arguments)

    def kinds(lines: list[str]) -> set[str]:
        return {re.sub(r"^\d+ ", "COUNT ", line) for line in lines}

    assert len(mine) > 2
    assert kinds(mine) == kinds(java)


@pytest.mark.parametrize(
    "line",
    [
        "--messages 500",
        "--num-records 500 --hide-header",
        "--num-records 500 --fetch-size 1000 --socket-buffer-size 100000 --group {t}-{who}",
    ],
)
def test_a_consumers_run_is_told_alike(jvm: Jvm, target: Broker, filled: str, line: str) -> None:
    head = f"--topic {filled} --bootstrap-server {target.bootstrap}"
    mine = ours(CONSUMER_PERFORMANCE, f"{head} {line.format(t=filled, who='ours')}")
    java = theirs(jvm, CONSUMER_PERFORMANCE, f"{head} {line.format(t=filled, who='java')}")

    assert mine == java


def test_a_consumer_that_gets_too_few_gives_up(jvm: Jvm, target: Broker, filled: str) -> None:
    """Ours says so by its status, theirs only in words."""
    line = (
        f"--topic {filled} --bootstrap-server {target.bootstrap} --num-records 500 "
        "--from-latest --timeout 100 --date-format yyyy"
    )
    mine = run_ours(CONSUMER_PERFORMANCE, line)
    java = jvm.tool(CONSUMER_PERFORMANCE, *line.split())

    assert (mine.returncode, java.status) == (1, 0)
    assert "(--timeout)" in mine.stderr
    assert "WARNING: Exiting before consuming the expected number" in java.out
    heading, row = mine.stdout.splitlines()
    assert heading in java.out
    assert re.match(r"20\d\d, 20\d\d, 0\.0000, 0\.0000, 0, 0\.0000, ", row)


def test_intervals_of_a_consumer_are_told_alike(jvm: Jvm, target: Broker, filled: str) -> None:
    line = (
        f"--topic {filled} --bootstrap-server {target.bootstrap} --num-records 500 "
        "--show-detailed-stats --reporting-interval 1 --timeout 60000"
    )
    mine = shape(run_ours(CONSUMER_PERFORMANCE, line).stdout)
    _, java = theirs(jvm, CONSUMER_PERFORMANCE, line)

    assert mine[0] == java[0]
    row = re.compile(r"DATE, 0, N\.nnnn, N\.nnnn, \d+, N\.nnnn, MS, MS, N\.nnnn, N\.nnnn")
    assert row.fullmatch(java[1])
    assert all(map(row.fullmatch, mine[1:]))
    assert mine[1:]


@pytest.mark.parametrize(
    "line",
    [
        "{b} {t} 30 1 20",
        "--bootstrap-server {b} --topic {t} --num-records 30 --producer-acks all --record-size 0",
        (
            "--bootstrap-server {b} --topic {t} --num-records 3 --producer-acks 1 --record-size 5 "
            "--record-key-size 3 --num-headers 2 --record-header-key-size 4 --record-header-size -1"
        ),
    ],
)
def test_latencies_are_told_alike(jvm: Jvm, target: Broker, topic: str, line: str) -> None:
    """The topic does not exist before; both make it."""
    mine = ours(END_TO_END_LATENCY, line.format(b=target.bootstrap, t=f"{topic}-a"))
    java = theirs(jvm, END_TO_END_LATENCY, line.format(b=target.bootstrap, t=f"{topic}-b"))

    def without(answer: tuple[int, list[str]]) -> tuple[int, list[str]]:
        status, lines = answer
        return status, [
            each.replace(f"{topic}-a", "T").replace(f"{topic}-b", "T") for each in lines
        ]

    assert without(mine) == without(java)
