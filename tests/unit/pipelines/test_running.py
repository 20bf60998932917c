"""What a query reports, and the one line of its failure that people need."""

from __future__ import annotations

import json
import os
import queue
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines import running
from barnabas.pipelines.running import (
    Batch,
    Ended,
    Events,
    Outcome,
    StopWanted,
    batch_of,
    note,
    noted_signals,
    reason_of,
)

PROGRESS = {
    "batchId": 3,
    "timestamp": "2026-01-05T09:00:00.000Z",
    "numInputRows": 200,
    "processedRowsPerSecond": 812.345,
    "durationMs": {"addBatch": 200, "triggerExecution": 246},
    "eventTime": {"watermark": "2026-01-05T08:59:00.000Z"},
    "stateOperators": [{"numRowsTotal": 4}, {"numRowsTotal": 5}],
}
BATCH = Batch(
    batch=3,
    at="2026-01-05T09:00:00.000Z",
    rows=200,
    rows_per_second=812.3,
    duration_ms=246,
    durations_ms={"addBatch": 200, "triggerExecution": 246},
    state_rows=9,
    watermark="2026-01-05T08:59:00.000Z",
)


def test_a_report_of_spark_is_a_batch() -> None:
    assert batch_of(PROGRESS) == BATCH


def test_a_report_of_nothing_is_a_batch_without_rows() -> None:
    assert batch_of({"batchId": 0, "timestamp": "t", "processedRowsPerSecond": None}).rows == 0


def test_batches_are_counted_and_each_is_a_line_of_the_metrics(tmp_path: Path) -> None:
    outcome = Outcome()
    metrics = tmp_path / "metrics.jsonl"
    shown = []

    for _ in range(2):
        note(BATCH, outcome, str(metrics), lambda batch, so_far: shown.append(so_far.rows))

    assert (outcome.batches, outcome.rows, shown) == (2, 400, [200, 400])
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [(line["batch"], line["rows"]) for line in lines] == [(3, 200), (3, 200)]


def test_our_own_error_is_told_in_its_own_words() -> None:
    text = """Job aborted due to stage failure
Traceback (most recent call last):
  File "x.py", line 3, in read
barnabas.pipelines.errors.PipelineError: topic t does not exist

\tat org.apache.spark.Something
Caused by: org.apache.spark.Other: boom"""

    assert reason_of(text) == "topic t does not exist"


def test_the_last_error_of_python_is_told_before_that_of_java() -> None:
    text = """[PYTHON] failed
Traceback (most recent call last):
ZeroDivisionError: division by zero
\tat org.apache.spark.X
Caused by: java.lang.RuntimeException: later"""

    assert reason_of(text) == "ZeroDivisionError: division by zero"


def test_an_error_of_java_within_python_is_told_by_its_cause() -> None:
    text = """[FOREACH_BATCH_USER_FUNCTION_ERROR] failed
Traceback (most recent call last):
py4j.protocol.Py4JJavaError: An error occurred while calling o158.save.
: org.apache.spark.SparkException: Job aborted
\tat org.apache.spark.X
Caused by: java.io.IOException: No space left on device
\tat java.base"""

    assert reason_of(text) == "No space left on device"


def test_the_innermost_cause_is_told() -> None:
    text = "outer\nCaused by: a.B: middle\nCaused by: java.io.IOException: No space left on device"

    assert reason_of(text) == "No space left on device"
    assert reason_of("only this\nand that") == "only this"
    called = (
        "An error occurred while calling None.some.Context.\n: some.Exception: too small\n\tat x"
    )
    assert reason_of(called) == "some.Exception: too small"
    assert reason_of("") == "the query failed without a word"


# Stops.


@dataclass
class FakeQuery:
    """A query that does one thing at a time; when it is stopped, it ends."""

    events: Events
    status: dict[str, bool]
    failure: Exception | None = None
    isActive: bool = True  # noqa: N815 (Spark's name)
    stops: int = 0

    def stop(self) -> None:
        self.stops += 1
        self.events.put(Ended())

    def exception(self) -> Exception | None:
        return self.failure


BUSY = {"isTriggerActive": True, "isDataAvailable": True}
BETWEEN_TRIGGERS = {"isTriggerActive": False, "isDataAvailable": True}
IDLE = {"isTriggerActive": True, "isDataAvailable": False}


def follow(query: FakeQuery) -> tuple[str | None, Outcome]:
    outcome = Outcome()
    said: Any = query
    failure = running._follow(
        said, query.events, outcome, metrics="", show=lambda batch, so_far: None
    )
    return failure, outcome


@pytest.mark.parametrize("status", [BETWEEN_TRIGGERS, IDLE])
def test_a_query_that_waits_is_stopped_at_once(status: dict[str, bool]) -> None:
    query = FakeQuery(queue.SimpleQueue(), status)
    query.events.put(StopWanted(signal.SIGTERM))

    failure, outcome = follow(query)

    assert (failure, outcome.stopped_by, query.stops) == (None, signal.SIGTERM, 1)


def test_a_batch_in_hand_comes_to_its_end() -> None:
    query = FakeQuery(queue.SimpleQueue(), BUSY)
    query.events.put(StopWanted(signal.SIGINT))
    query.events.put(BATCH)

    failure, outcome = follow(query)

    assert (failure, outcome.rows, query.stops) == (None, 200, 1)


def test_a_batch_without_rows_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not reported; so one looks what the query does now."""
    monkeypatch.setattr(running, "LOOK_AGAIN_S", 0.01)
    query = FakeQuery(queue.SimpleQueue(), dict(BUSY))
    query.events.put(StopWanted(signal.SIGINT))
    looks = 0

    class Status(dict[str, bool]):
        def __getitem__(self, name: str) -> bool:
            nonlocal looks
            looks += 1
            return looks < 5

    query.status = Status()

    failure, outcome = follow(query)

    assert (failure, outcome.rows, query.stops) == (None, 0, 1)


def test_the_second_wish_does_not_wait() -> None:
    query = FakeQuery(queue.SimpleQueue(), BUSY)
    query.events.put(StopWanted(signal.SIGINT))
    query.events.put(StopWanted(signal.SIGINT))

    assert follow(query)[1].rows == 0
    assert query.stops == 1


def test_a_batch_that_fails_after_the_first_wish_has_failed() -> None:
    query = FakeQuery(queue.SimpleQueue(), BUSY, failure=RuntimeError("disk full"))
    query.events.put(StopWanted(signal.SIGINT))
    query.events.put(Ended())

    assert follow(query)[0] == "disk full"


def test_what_a_stop_cuts_short_has_not_failed() -> None:
    query = FakeQuery(queue.SimpleQueue(), IDLE, failure=RuntimeError("interrupted"))
    query.events.put(StopWanted(signal.SIGINT))

    assert follow(query)[0] is None


def test_a_second_signal_interrupts_who_asked_for_it() -> None:
    events: Events = queue.SimpleQueue()
    with noted_signals(events, second_interrupts=True):
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert [events.get_nowait(), events.get_nowait()] == [StopWanted(signal.SIGTERM)] * 2
