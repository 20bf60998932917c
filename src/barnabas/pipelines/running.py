"""A streaming query from its start to its end: how far it is, and a stop that loses nothing.

The main thread waits for events: a batch was done, the query ended, somebody wants it to stop (a
signal handler only notes it).  The first wish lets the batch in hand come to its end, the second
does not; both leave a checkpoint from which the same command goes on.
"""

from __future__ import annotations

import json
import queue
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCH_IN_HAND_S = 60.0
"""How long a stop waits for a batch to end."""
LOOK_AGAIN_S = 0.5
SILENCE_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one batch did; a line of the metrics."""

    batch: int
    at: str
    rows: int
    rows_per_second: float
    duration_ms: int
    durations_ms: Mapping[str, int]
    state_rows: int = 0
    """Rows that windows and joins keep."""
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    pass


@dataclass(frozen=True, slots=True)
class StopWanted:
    number: int
    """Of the signal."""


Event = Batch | Ended | StopWanted
Events = queue.SimpleQueue[Event]


@dataclass(slots=True)
class Outcome:
    batches: int = 0
    rows: int = 0
    stopped_by: int = 0
    """The signal that ended it; 0 if it ended by itself."""


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """One of Spark's progress reports, without what repeats the definition (pure)."""
    durations = {name: int(value) for name, value in progress.get("durationMs", {}).items()}
    return Batch(
        batch=int(progress["batchId"]),
        at=str(progress["timestamp"]),
        rows=int(progress.get("numInputRows", 0)),
        rows_per_second=round(float(progress.get("processedRowsPerSecond") or 0.0), 1),
        duration_ms=durations.get("triggerExecution", 0),
        durations_ms=durations,
        state_rows=sum(int(each["numRowsTotal"]) for each in progress.get("stateOperators", ())),
        watermark=progress.get("eventTime", {}).get("watermark"),
    )


@contextmanager
def noted_signals(events: Events, *, second_interrupts: bool = False) -> Iterator[None]:
    """Ctrl-C and SIGTERM become events while this lasts.

    Who may be in a long call, and see no events, has `KeyboardInterrupt` when a second one comes.
    """
    is_wanted = False

    def note(number: int, frame: object) -> None:
        nonlocal is_wanted
        events.put(StopWanted(number))
        if is_wanted and second_interrupts:
            raise KeyboardInterrupt
        is_wanted = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch(spark: SparkSession, events: Events) -> object:
    """From now on what queries of the session do comes as events.  Keep what is returned."""
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryListener,
    )

    class Listener(StreamingQueryListener):
        """Called on a thread of PySpark's callback server."""

        def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
            pass

        def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
            events.put(batch_of(json.loads(event.progress.json)))

        def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
            events.put(Ended())

    listener = Listener()
    spark.streams.addListener(listener)
    return listener


def run(
    spark: SparkSession,
    start: Callable[[], StreamingQuery],
    *,
    metrics: str,
    show: Callable[[Batch, Outcome], None],
) -> Outcome:
    """Runs a query to its end, or until it is told to stop.  `PipelineError` if it fails."""
    events: Events = queue.SimpleQueue()
    outcome = Outcome()
    with (
        noted_signals(events, second_interrupts=True),
        may_be_cut_short(spark, events, outcome),
    ):
        listener = watch(spark, events)
        query = start()
        failure = _follow(query, events, outcome, metrics=metrics, show=show)
        if failure is not None:
            raise PipelineError(reason_of(failure))
        spark.streams.removeListener(listener)  # type: ignore[arg-type]
    return outcome


@contextmanager
def may_be_cut_short(spark: SparkSession, events: Events, outcome: Outcome) -> Iterator[None]:
    """What fails because it was told to stop is stopped, not failed.

    That is the second Ctrl-C in a long call, and a signal that goes to Spark's JVM, too, as
    service managers send it: it shuts itself down, whatever it is doing.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (
        KeyboardInterrupt,
        Py4JError,
        ConnectionError,
        PySparkException,
        PipelineError,
    ) as error:
        if not is_stop_wanted(events, outcome):
            raise
        if not isinstance(error, KeyboardInterrupt) and not _is_shut_down(spark):
            raise


def _is_shut_down(spark: SparkSession) -> bool:
    from py4j.protocol import Py4JError

    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 (nothing public says)
    except (Py4JError, ConnectionError):
        return True


def _follow(
    query: StreamingQuery,
    events: Events,
    outcome: Outcome,
    *,
    metrics: str,
    show: Callable[[Batch, Outcome], None],
) -> str | None:
    """Until the query has ended; why it failed, unless it was cut short."""
    is_cut = False
    while not isinstance(event := _next(events, query, outcome), Ended):
        match event:
            case Batch():
                note(event, outcome, metrics, show)
                is_to_end = bool(outcome.stopped_by)
            case StopWanted(number):
                is_to_end = bool(outcome.stopped_by) or not _has_batch_in_hand(query)
                outcome.stopped_by = number
            case None:
                is_to_end = True
        if is_to_end:
            is_cut = True
            query.stop()
    failure = query.exception()
    return None if failure is None or is_cut else str(failure)


def _next(events: Events, query: StreamingQuery, outcome: Outcome) -> Event | None:
    """The next event; None when a stop need not, or must not, wait for a batch any longer.

    A JVM that dies sends no event: when all is silent, the query is asked whether it lives.  If it
    does not, its last events may still be on their way.
    """
    is_dead = False
    begun = time.monotonic()
    while True:
        try:
            return events.get(timeout=LOOK_AGAIN_S if outcome.stopped_by else SILENCE_S)
        except queue.Empty:
            if is_dead:
                return Ended()
            is_dead = not query.isActive
            if not outcome.stopped_by or is_dead:
                continue
            if time.monotonic() - begun > BATCH_IN_HAND_S or not _has_batch_in_hand(query):
                return None


def _has_batch_in_hand(query: StreamingQuery) -> bool:
    """Between two batches, waiting for records or for the time of the next one, there is none."""
    status = query.status
    return bool(status["isTriggerActive"] and status["isDataAvailable"])


def is_stop_wanted(events: Events, outcome: Outcome) -> bool:
    """Notes who wants it; other events are passed over."""
    while not events.empty():
        if isinstance(event := events.get(), StopWanted):
            outcome.stopped_by = event.number
    return bool(outcome.stopped_by)


def note(
    batch: Batch, outcome: Outcome, metrics: str, show: Callable[[Batch, Outcome], None]
) -> None:
    """A batch is done: it counts, is shown, and is a line of the metrics."""
    if batch.rows:
        outcome.batches += 1
        outcome.rows += batch.rows
    show(batch, outcome)
    if metrics:
        with Path(metrics).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(batch)) + "\n")


_CALLING = "An error occurred while calling "
_OURS = re.compile(r"barnabas\.pipelines\.errors\.\w+: (.*)")
_PYTHON = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception)): (.*)$", re.MULTILINE)
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)


def reason_of(text: str) -> str:
    """The line of a failure that people can use: ours, else Python's last, else Java's (pure)."""
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    python = _PYTHON.findall(text)
    if python and not python[-1][0].startswith("py4j."):  # that only says that Java failed
        name, said = python[-1]
        return f"{name}: {said}".strip()
    causes = _CAUSE.findall(text)
    if causes:
        return str(causes[-1]).strip()
    lines = [line.strip(" :") for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith(_CALLING):
        lines.pop(0)  # what was said stands behind it
    return lines[0] if lines else "the query failed without a word"
