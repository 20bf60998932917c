from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.command import CommandError
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, UsageError, parse
from barnabas.cli.perf_sending import Load, LoadSender, allowed
from barnabas.cli.producer_perf_test import COMMAND, load_of, named, producer_properties, values_of
from barnabas.client.connect import Troubles

Captured = pytest.CaptureFixture[str]
ENOUGH = "--topic t --num-records 10 --record-size 5 --throughput -1"


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split(), words=COMMAND.words)


def test_what_is_asked_for_is_understood() -> None:
    assert load_of(words(ENOUGH)) == Load(topic="t", count=10)
    assert load_of(
        words(
            "--topic t --num-records 10 --payload-monotonic --throughput 2.5 --warmup-records 3 "
            "--reporting-interval 100 --transaction-duration-ms 50"
        )
    ) == Load(topic="t", count=10, records_per_s=2.5, warmup=3, interval_ms=100, transaction_ms=50)


@pytest.mark.parametrize(
    "line", ["--transactional-id x", "--producer-props transactional.id=x acks=all"]
)
def test_a_transactional_id_makes_transactions(line: str) -> None:
    args = words(f"{ENOUGH} {line}")

    assert load_of(args).transaction_ms == 3_000
    assert producer_properties(args)["transactional.id"] == "x"


def test_transactions_without_an_id_get_one() -> None:
    properties = producer_properties(words(f"{ENOUGH} --transaction-duration-ms 5"))

    assert properties["transactional.id"].startswith("performance-producer-")


def test_settings_follow_their_option_one_after_the_other(tmp_path: Path) -> None:
    file = tmp_path / "p.properties"
    file.write_text("bootstrap.servers=file:1\nlinger.ms=7\nacks=1\n")

    properties = producer_properties(
        words(f"{ENOUGH} --producer.config {file} --producer-props acks=all batch.size=9")
    )

    assert properties == {
        "bootstrap.servers": "file:1",
        "linger.ms": "7",
        "acks": "all",
        "batch.size": "9",
        "client.id": "perf-producer-client",
    }
    typed = words(f"{ENOUGH} --bootstrap-server b:2 --command-property client.id=me")
    assert producer_properties(typed) == {"bootstrap.servers": "b:2", "client.id": "me"}
    assert producer_properties(words(ENOUGH))["bootstrap.servers"] == "localhost:9092"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--topic t --record-size 5 --throughput -1", "--num-records is missing"),
        ("--num-records 5 --record-size 5 --throughput -1", "--topic is missing"),
        ("--topic t --num-records 5 --record-size 5", "--throughput is missing"),
        ("--topic t --num-records 0 --record-size 5 --throughput -1", "--num-records: 0 is out of"),
        ("--topic t --num-records 5 --throughput -1", "exactly one of --record-size"),
        (f"{ENOUGH} --payload-monotonic", "exactly one of --record-size"),
        (f"{ENOUGH} --warmup-records 10", "--warmup-records: 10 is not less than"),
        ("--topic t --num-records 5 --record-size 5 --throughput fast", '--throughput: "fast"'),
        ("--topic t --num-records 5 --record-size 5 --throughput nan", '--throughput: "nan"'),
        (f"{ENOUGH} stray", 'unexpected argument "stray"'),
        (f"{ENOUGH} --producer-props acks", '--producer-props: "acks" is not of the form'),
        (f"{ENOUGH} --producer-props a=b --command-property c=d", "cannot be used together"),
        (f"{ENOUGH} --producer.config /no/file", "--producer.config: cannot read /no/file"),
        (f"{ENOUGH} --bootstrap-server :", "--bootstrap-server"),
        (f"{ENOUGH} --speed 5", "unknown option --speed"),
    ],
)
def test_a_wrong_command_line_is_one_line(capsys: Captured, line: str, reason: str) -> None:
    status = run_tool("perf", "barnabas.cli.producer_perf_test", line.split())

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert reason in err


def test_values_come_from_a_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "values.txt"
    file.write_text("one|two|")
    args = words(
        f"--topic t --num-records 5 --throughput -1 --payload-file {file} --payload-delimiter |"
    )

    assert set(islice(values_of(args), 100)) == {b"one", b"two"}
    assert capsys.readouterr().out == (
        f"Reading payloads from: {file}\nNumber of records read: 2\n"
    )
    file.write_text("")
    with pytest.raises(UsageError, match="is empty"):
        values_of(args)


def test_a_rate_lets_so_many_records_through() -> None:
    free = Load(topic="t", count=5_000)
    slow = Load(topic="t", count=5_000, records_per_s=100.0)

    assert allowed(free, sent=0, elapsed_s=0.0) == 1000
    assert allowed(free, sent=4_990, elapsed_s=0.0) == 10
    assert allowed(slow, sent=0, elapsed_s=0.0) == 1, "the first one at once"
    assert allowed(slow, sent=1, elapsed_s=0.001) == 0
    assert allowed(slow, sent=1, elapsed_s=0.1) == 10
    assert allowed(slow, sent=0, elapsed_s=60.0) == 1000


class Acknowledged:
    def __init__(self, value: bytes) -> None:
        self._value = value

    def latency(self) -> float:
        return 0.002

    def __len__(self) -> int:
        return len(self._value)


class Failure:
    def str(self) -> str:
        return "it broke"


@dataclass
class FakeProducer:
    """Holds three records, and acknowledges all of them when it is polled."""

    fails: bool = False
    room: int = 3
    held: list[tuple[bytes, Callable[..., None]]] = field(default_factory=list)
    did: list[str] = field(default_factory=list)

    def produce(self, topic: str, value: bytes, on_delivery: Callable[..., None]) -> None:
        if len(self.held) >= self.room:
            raise BufferError
        self.held.append((value, on_delivery))

    def poll(self, timeout: float) -> int:
        for value, report in self.held:
            report(Failure() if self.fails else None, Acknowledged(value))
        self.held.clear()
        return 0

    def flush(self, timeout: float) -> int:
        self.poll(timeout)
        return 0

    def begin_transaction(self) -> None:
        self.did.append("begin")

    def commit_transaction(self, timeout: float) -> None:
        self.poll(0)
        self.did.append("commit")


def sender(load: Load, producer: FakeProducer, said: list[str]) -> LoadSender:
    fake: Any = producer
    return LoadSender(
        producer=fake,
        troubles=Troubles("h:1", print),
        load=load,
        values=iter([b"12345"] * load.count),
        say=said.append,
        on_progress=lambda count: None,
        check=lambda: None,
    )


def test_every_record_is_counted_once() -> None:
    said: list[str] = []
    running = sender(Load(topic="t", count=1_234), FakeProducer(), said)

    running.run()

    (line,) = running.summary()
    assert line.startswith("1234 records sent, ")
    assert line.endswith(
        "2.00 ms avg latency, 2.00 ms max latency, 2 ms 50th, 2 ms 95th, 2 ms 99th, 2 ms 99.9th."
    )
    assert running.total.total.size_bytes == 1_234 * 5
    assert said == []
    running.check_failures()


def test_records_after_a_warm_up_are_counted_by_themselves() -> None:
    said: list[str] = []
    running = sender(Load(topic="t", count=100, warmup=40), FakeProducer(), said)

    running.run()

    total, steady = running.summary()
    assert total.startswith("100 records sent, ")
    assert steady.startswith("60 steady state records sent, ")
    assert said == ["In steady state."]


def test_a_transaction_ends_with_the_last_record() -> None:
    producer = FakeProducer()

    sender(Load(topic="t", count=10, transaction_ms=60_000), producer, []).run()

    assert producer.did == ["begin", "commit"]


def test_short_transactions_follow_each_other() -> None:
    producer = FakeProducer(room=5_000)

    sender(Load(topic="t", count=3_000, transaction_ms=0), producer, []).run()

    assert producer.did == ["begin", "commit"] * 3


def test_records_that_are_not_acknowledged_are_not_counted() -> None:
    running = sender(Load(topic="t", count=10), FakeProducer(fails=True), [])

    running.run()

    assert running.summary()[0].startswith("0 records sent, ")
    with pytest.raises(CommandError, match="10 of 10 records were not sent: it broke"):
        running.check_failures()


def test_plain_words_of_older_notes_stand_for_options(capsys: pytest.CaptureFixture[str]) -> None:
    args = named(words("t 10 100 -1 acks=1 bootstrap.servers=b:1"))

    assert load_of(args) == Load(topic="t", count=10)
    assert args.text("record-size") == "100"
    assert producer_properties(args)["acks"] == "1"
    assert producer_properties(args)["bootstrap.servers"] == "b:1"
    assert capsys.readouterr().err.startswith("warning: plain words are of older notes: use ")
    assert named(words(f"{ENOUGH} --producer-props acks=1 batch.size=9")).words == ["batch.size=9"]
    with pytest.raises(UsageError, match="2 words; expected topic"):
        named(words("t 10"))
