"""`kafka-consumer-groups` and `kafka-transactions` as people run them, against our broker.

What exactly they print is compared with Apache Kafka's tools in `tests/conformance`; here is what
they do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from eventually import eventually

BIN = Path(sys.executable).parent
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(broker: BarnabasProcess) -> Run:
    """Runs a tool with a command line."""

    def run_tool(tool: str, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / tool, "--bootstrap-server", broker.bootstrap, *line.split()],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run_tool


@pytest.fixture
def groups(run: Run) -> Run:
    return lambda line: run("kafka-consumer-groups.sh", line)


@pytest.fixture
def transactions(run: Run) -> Run:
    return lambda line: run("kafka-transactions.sh", line)


def ok(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[list[str]]:
    """Cells of a table without its heading."""
    return [line.split() for line in text.splitlines() if line][1:]


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    """Two partitions with five records each."""
    name = topic_name()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(10):
        producer.produce(name, b"x", partition=n % 2)
    assert producer.flush(30) == 0
    return name


@pytest.fixture(params=["classic", "consumer"])
def member(
    request: pytest.FixtureRequest, broker: BarnabasProcess, topic: str
) -> Iterator[Consumer]:
    """The one member of the group named like the topic, with both partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "client.id": "reader",
            "group.protocol": request.param,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])

    def assigned() -> bool:
        consumer.poll(0.05)
        return len(consumer.assignment()) == 2

    eventually(assigned, what="both partitions")
    yield consumer
    consumer.close()


def test_a_group_from_its_members_to_its_end(groups: Run, topic: str, member: Consumer) -> None:
    eventually(lambda: member.poll(0.1), what="a record")
    member.commit(asynchronous=False)
    assert topic in ok(groups("--list")).splitlines()
    described = rows(ok(groups(f"--describe --group {topic}")))
    assert [row[:3] for row in described] == [[topic, topic, "0"], [topic, topic, "1"]]
    assert {row[-1] for row in described} == {"reader"}
    (only,) = json.loads(ok(groups(f"--describe --group {topic} --members --json")))
    assert len(only["members"][0]["assignment"]) == 2

    for line in (
        f"--reset-offsets --group {topic} --topic {topic} --to-earliest --execute",
        f"--delete --group {topic}",
        f"--delete-offsets --group {topic} --topic {topic}",
    ):
        assert groups(line).returncode == 1
    member.close()
    shift = f"--reset-offsets --group {topic} --topic {topic}:0 --to-offset 3 --execute"
    assert rows(ok(groups(shift))) == [[topic, topic, "0", "3"]]
    lags = {row[2]: row[5] for row in rows(ok(groups(f"--describe --group {topic}")))}
    assert lags["0"] == "2"
    assert "Successful" in ok(groups(f"--delete-offsets --group {topic} --topic {topic}:0"))
    assert "0" not in {row[2] for row in rows(ok(groups(f"--describe --group {topic}")))}
    ok(groups(f"--delete --group {topic}"))
    assert topic not in ok(groups("--list")).splitlines()
    missing = groups(f"--describe --group {topic}")
    assert (missing.returncode, missing.stderr) == (
        1,
        f"\nError: Consumer group '{topic}' does not exist.\n",
    )


@pytest.fixture
def producer(broker: BarnabasProcess, topic: str) -> Producer:
    """Named like the topic; its transaction is open in partition 0."""
    opened = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    opened.init_transactions(30)
    opened.begin_transaction()
    opened.produce(topic, b"x", partition=0)
    assert opened.flush(30) == 0
    return opened


def test_a_transaction_until_somebody_else_ends_it(
    transactions: Run, topic: str, producer: Producer
) -> None:
    def state() -> Any:
        return json.loads(ok(transactions(f"describe --transactional-id {topic} --json")))

    assert [topic, "Ongoing"] in [
        [row[0], row[3]]
        for row in rows(ok(transactions(f"list --transactional-id-pattern {topic}")))
    ]
    assert state()["partitions"] == [{"topic": topic, "partition": 0}]
    (open_one,) = json.loads(
        ok(transactions(f"describe-producers --topic {topic} --partition 0 --json"))
    )
    assert open_one["transaction_start_offset"] == 5
    assert (
        rows(ok(transactions(f"find-hanging --topic {topic} --max-transaction-timeout -1"))) == []
    )

    ok(transactions(f"forceTerminateTransaction --transactional-id {topic}"))

    assert state()["partitions"] == []
    (ended,) = json.loads(
        ok(transactions(f"describe-producers --topic {topic} --partition 0 --json"))
    )
    assert ended["transaction_start_offset"] is None
