"""What a query reports, and the one line of its failure that people need."""

from __future__ import annotations

import json
from pathlib import Path

from barnabas.pipelines.running import Batch, Outcome, batch_of, note, reason_of

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


def test_the_innermost_cause_is_told() -> None:
    text = "outer\nCaused by: a.B: middle\nCaused by: java.io.IOException: No space left on device"

    assert reason_of(text) == "No space left on device"
    assert reason_of("only this\nand that") == "only this"
    called = (
        "An error occurred while calling None.some.Context.\n: some.Exception: too small\n\tat x"
    )
    assert reason_of(called) == "some.Exception: too small"
    assert reason_of("") == "the query failed without a word"
