"""The lab's producer against a client that only pretends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError
from lab_clients import FakeProducer

from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError
from barnabas.lab.programs.journaling import Journal, read_journals
from barnabas.lab.programs.options import ProducerOptions
from barnabas.lab.programs.payload_log import PayloadLog
from barnabas.lab.programs.producer import LabProducer, Tally
from barnabas.lab.programs.quotations import quotation
from barnabas.lab.verdict.journal import What, history_of
from barnabas.lab.verdict.records import Outcome


class Bench:
    """A program, its logs, and what it said."""

    def __init__(self, folder: Path) -> None:
        self.log_path = folder / "payload.log"
        self.journal_path = folder / "p.journal"
        self.said: list[str] = []
        self.client = FakeProducer()
        self.is_stopped: Callable[[], bool] = lambda: False
        self.troubles = Troubles("h:1", self.said.append)

    def run(self, **texts: str) -> Tally:
        options = ProducerOptions.of(
            {"topic": "t", **{name.replace("_", "-"): text for name, text in texts.items()}}
        )
        with PayloadLog(self.log_path) as log, Journal(self.journal_path, "p") as journal:
            program = LabProducer(
                options=options,
                log=log,
                journal=journal,
                say=self.said.append,
                is_stopped=self.is_stopped,
            )
            self.client.report = program.on_delivery
            untyped: Any = self.client
            return program.run(untyped, self.troubles)

    def keys(self) -> list[str]:
        return [line.split(",")[2] for line in self.log_path.read_text().splitlines()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_keys_are_running_numbers_over_all_cycles_and_values_quotations(bench: Bench) -> None:
    tally = bench.run(num_rolls="2", num_records_per_roll="3", wait_after_roll="1")

    assert tally == Tally(sent=6, delivered=6)
    assert bench.client.produced == [
        (str(number).encode(), quotation(number).encode()) for number in range(6)
    ]
    assert bench.keys() == ["0", "1", "2", "3", "4", "5"]


def test_a_second_producer_can_go_on_with_numbers_of_its_own(bench: Bench) -> None:
    bench.run(num_records_per_roll="2", first_number="100")

    assert bench.keys() == ["100", "101"]


def test_the_log_has_what_was_delivered_and_the_journal_also_what_was_not(bench: Bench) -> None:
    bench.client.errors = {
        b"1": KafkaError(KafkaError._MSG_TIMED_OUT),
        b"2": KafkaError(KafkaError.MSG_SIZE_TOO_LARGE),
    }
    tally = bench.run(num_records_per_roll="4")

    assert (tally.delivered, tally.failed, tally.first_error) == (2, 2, "_MSG_TIMED_OUT")
    assert bench.keys() == ["0", "3"]
    history = history_of(read_journals([bench.journal_path]))
    assert [(record.key, record.outcome, record.offset) for record in history.sent] == [
        ("0", Outcome.ACKNOWLEDGED, 0),
        ("1", Outcome.UNKNOWN, -1),
        ("2", Outcome.REFUSED, -1),
        ("3", Outcome.ACKNOWLEDGED, 3),
    ]
    assert "not delivered: 1 records of partition 0: _MSG_TIMED_OUT" in bench.said


def test_an_offset_that_nobody_told_is_not_made_up(bench: Bench) -> None:
    bench.client.offset = -1001  # the library's word for it
    bench.run(num_records_per_roll="1", acks="0")

    assert history_of(read_journals([bench.journal_path])).sent[0].offset == -1
    assert bench.said[0] == "idempotence is off: it is not possible with acks=0"


def test_a_full_queue_is_waited_for_and_keeps_the_order(bench: Bench) -> None:
    bench.client.room = 2
    bench.run(num_records_per_roll="9")

    assert bench.keys() == [str(number) for number in range(9)]


def test_a_producer_that_is_stopped_gives_up_what_is_on_its_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.lab.programs.producer.LAST_CHANCE_S", 0.0)
    bench.client.silent = True
    bench.is_stopped = lambda: len(bench.client.queue) >= 3
    tally = bench.run(num_records_per_roll="10")

    assert (tally.sent, tally.delivered, tally.failed) == (3, 0, 3)
    events = read_journals([bench.journal_path])
    assert [event.detail for event in events if event.event is What.FAILED] == ["_PURGE_QUEUE"]


def test_what_cannot_get_better_ends_it(bench: Bench) -> None:
    bench.troubles.fatal = ClientError("wrong password")
    bench.client.room = 0

    with pytest.raises(ClientError, match="wrong password"):
        bench.run()
