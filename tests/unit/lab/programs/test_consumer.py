"""The lab's consumer against a client that only pretends: what it logs, commits and obeys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from lab_clients import FakeConsumer, FakeMessage

from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError
from barnabas.lab.programs.consumer import Crashed, LabConsumer
from barnabas.lab.programs.journaling import Journal, read_journals
from barnabas.lab.programs.options import ConsumerOptions
from barnabas.lab.programs.payload_log import PayloadLog
from barnabas.lab.verdict.journal import Event, What


def batch(*numbers: int, partition: int = 0) -> list[FakeMessage]:
    return [FakeMessage(str(number).encode(), b"a, b", number, partition) for number in numbers]


def steering(word: bytes, offset: int) -> FakeMessage:
    return FakeMessage(None, word, offset)


class Bench:
    """A program, its logs, and what it said."""

    def __init__(self, folder: Path) -> None:
        self.log_path = folder / "payload.log"
        self.journal_path = folder / "c.journal"
        self.said: list[str] = []
        self.client = FakeConsumer()
        self.is_stopped: Callable[[], bool] = lambda: False
        self.program: LabConsumer | None = None

    def run(self, *batches: list[FakeMessage], **texts: str) -> list[str]:
        """Until nothing more comes; what was done with the client."""
        self.client.batches = list(batches)
        options = ConsumerOptions.of(
            {
                "topic": "t",
                "idle-exit": "1",
                "poll-period": "1",
                **{name.replace("_", "-"): text for name, text in texts.items()},
            }
        )
        with PayloadLog(self.log_path) as log, Journal(self.journal_path, "c") as journal:
            self.program = LabConsumer(
                options=options,
                log=log,
                journal=journal,
                say=self.said.append,
                is_stopped=self.is_stopped,
            )
            untyped: Any = self.client
            self.program.run(untyped, Troubles("h:1", self.said.append))
        return self.client.calls[1:]

    def keys(self) -> list[str]:
        return [line.split(",")[2] for line in self.log_path.read_text().splitlines()]

    def events(self, what: What) -> list[Event]:
        return [event for event in read_journals([self.journal_path]) if event.event is what]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_every_record_is_logged_and_stored_only_when_the_next_poll_begins(bench: Bench) -> None:
    calls = bench.run(batch(0, 1), batch(2))

    assert bench.keys() == ["0", "1", "2"]
    assert calls == ["store 0@2", "store 0@3", "close"]
    assert bench.events(What.PROCESSED)[0].offsets == (0, 1)


def test_one_poll_gives_no_more_than_it_may(bench: Bench) -> None:
    bench.run(batch(*range(5)), max_poll_recs="2")

    assert [event.offsets for event in bench.events(What.RECEIVED)] == [(0, 1), (2, 3), (4,)]


def test_a_commit_by_count_has_the_position_of_the_poll_not_of_the_record(bench: Bench) -> None:
    calls = bench.run(batch(*range(10)), ack_every_x_msgs="4")

    assert calls == ["commit 0@10", "commit 0@10", "close"]


def test_counts_go_on_from_poll_to_poll(bench: Bench) -> None:
    calls = bench.run(batch(0, 1, 2), batch(3, 4, 5), ack_every_x_msgs="4")

    assert calls == ["commit 0@6", "close"]


def test_what_is_committed_was_in_the_log_before(bench: Bench) -> None:
    seen: list[int] = []
    commit = bench.client.commit

    class Watching(FakeConsumer):
        def commit(self, offsets: Any, asynchronous: bool) -> Any:
            seen.append(len(bench.keys()))
            return commit(offsets, asynchronous)

    bench.client = Watching()
    bench.run(batch(*range(10)), ack_every_x_msgs="4")

    assert seen == [4, 8]


def test_a_commit_after_the_batch_has_all_its_partitions(bench: Bench) -> None:
    calls = bench.run(batch(0, 1) + batch(7, partition=1), ack_after_batch="true")

    assert calls == ["commit 0@2", "commit 1@8", "close"]
    assert [(one.partition, one.offsets) for one in bench.events(What.COMMITTED)] == [
        (0, (2,)),
        (1, (8,)),
    ]


def test_without_commits_nothing_is_committed(bench: Bench) -> None:
    assert bench.run(batch(0, 1), auto_commit="false") == ["close"]


def test_a_commit_that_fails_is_said_and_the_next_one_is_tried(bench: Bench) -> None:
    bench.client.refusal = KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION, "too old"))

    assert bench.run(batch(0), batch(1), ack_after_batch="true") == ["close"]
    assert bench.said.count("commit failed: too old") == 2
    assert [event.detail for event in bench.events(What.COMMIT_FAILED)] == [
        "ILLEGAL_GENERATION",
        "ILLEGAL_GENERATION",
    ]


@pytest.mark.parametrize(
    ("texts", "done"),
    [
        ({}, ["store 0@2", "close"]),
        ({"ack_after_batch": "true"}, ["commit 0@2", "close"]),
        ({"ack_every_x_msgs": "50"}, ["commit 0@2", "close"]),
        ({"auto_commit": "false"}, ["close"]),
    ],
)
def test_quit_leaves_cleanly_behind_itself_and_not_behind_what_was_not_processed(
    bench: Bench, texts: dict[str, str], done: list[str]
) -> None:
    calls = bench.run([*batch(0), steering(b"quit", 1), *batch(2)], **texts)

    assert bench.keys() == ["0"]
    assert calls == done
    assert [event.detail for event in bench.events(What.ENDED)] == ["quit"]


def test_crash_does_not_leave(bench: Bench) -> None:
    with pytest.raises(Crashed):
        bench.run([*batch(0), steering(b"crash", 1), *batch(2)], ack_after_batch="true")

    assert bench.keys() == ["0"]
    assert bench.client.calls == ["subscribe t"]
    assert bench.events(What.ENDED) == []


def test_wait_blocks_and_goes_on(bench: Bench) -> None:
    bench.run([*batch(0), steering(b"wait", 1), *batch(2)], wait_cmd_period="1")

    assert bench.keys() == ["0", "2"]
    assert [event.detail for event in bench.events(What.STEERED)] == ["wait"]


def test_a_stop_in_the_middle_of_a_batch_leaves_the_rest_to_others(bench: Bench) -> None:
    bench.is_stopped = lambda: bench.program is not None and bench.program.processed >= 2

    assert bench.run(batch(*range(5))) == ["store 0@2", "close"]
    assert bench.keys() == ["0", "1"]


def test_troubles_are_told_once_and_waited_out(bench: Bench) -> None:
    trouble = FakeMessage(None, None, error_=KafkaError(KafkaError._TRANSPORT, "gone"))

    bench.run([trouble], [trouble], batch(0))
    assert bench.said.count("gone") == 1
    assert bench.keys() == ["0"]


def test_what_does_not_pass_ends_it(bench: Bench) -> None:
    trouble = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "not allowed")

    with pytest.raises(ClientError, match="not allowed"):
        bench.run([FakeMessage(None, None, error_=trouble)])


def test_commits_of_the_library_itself_and_partitions_are_noted(bench: Bench) -> None:
    bench.run()
    program = bench.program
    assert program is not None
    with Journal(bench.journal_path, "c") as journal:
        program.journal = journal
        program.callbacks()["on_commit"](None, [TopicPartition("t", 0, 5), TopicPartition("t", 1)])
        program.callbacks()["on_commit"](KafkaError(KafkaError._NO_OFFSET), [])
        untyped: Any = bench.client
        program._on_assign(untyped, [TopicPartition("t", 0), TopicPartition("t", 1)])
        program._on_lost(untyped, [TopicPartition("t", 1)])

    assert [(one.partition, one.offsets) for one in bench.events(What.COMMITTED)] == [(0, (5,))]
    assert bench.events(What.COMMIT_FAILED) == []
    assert len(bench.events(What.ASSIGNED)) == 2
    assert bench.events(What.REVOKED)[0].detail == "lost"
    assert bench.said[-2:] == ["assigned t-0, t-1", "lost t-1"]
