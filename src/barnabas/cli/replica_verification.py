"""`kafka-replica-verification`: do all replicas of partitions have the same records?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, client_properties, warn
from barnabas.cli.options import INT_MAX, LONG_MAX, Option, Parsed, UsageError

if TYPE_CHECKING:
    import re

    from barnabas.cli.replica_comparing import Fetched
    from barnabas.client.brokers import Place
    from barnabas.client.replica_reader import ReplicaData, ReplicaReader

FETCH_SIZE = 1024 * 1024
MAX_WAIT_MS = 1_000
REPORT_INTERVAL_MS = 30_000
LATEST = -1
EARLIEST = -2
DATE_PATTERN = "yyyy-MM-dd HH:mm:ss,SSS"

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    Option(
        name="topics-include",
        aliases=("topic-white-list",),
        value="REGEX",
        help="Only topics whose whole name this regular expression matches. Default: all.",
    ),
    Option(
        name="fetch-size",
        value="BYTES",
        whole=(1, INT_MAX),
        help=f"Most bytes of a partition in one fetch. Default: {FETCH_SIZE}.",
    ),
    Option(
        name="max-wait-ms",
        value="MS",
        whole=(0, INT_MAX),
        help=f"How long a broker may wait for new records. Default: {MAX_WAIT_MS}.",
    ),
    Option(
        name="report-interval-ms",
        value="MS",
        whole=(0, LONG_MAX),
        help=f"How often to tell how far it has got. Default: {REPORT_INTERVAL_MS}.",
    ),
    Option(
        name="time",
        value="TIMESTAMP",
        whole=(EARLIEST, LONG_MAX),
        help="Where to begin: the records since this time in ms, -1 (from now on, the default) or "
        "-2 (all records).",
    ),
)


def run(args: Parsed) -> int:
    pattern = included(args)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.replica_reader import ReplicaReader

    raise_on_sigterm()
    with ReplicaReader.connect(properties) as reader:
        topics = [topic for topic in reader.topics() if pattern.fullmatch(topic)]
        if not topics:
            raise CommandError(f'no topic matches "{pattern.pattern}"')
        start = args.number("time")
        verify(reader, topics, args, start_ms=LATEST if start is None else start)
    return 0


def included(args: Parsed) -> re.Pattern[str]:
    """Which topics, by a regular expression or, as in older notes, by a list of them."""
    import re

    text = args.text("topics-include") or ".*"
    try:
        return re.compile(text.replace(",", "|").replace(" ", "").strip("\"'"))
    except re.error as error:
        raise UsageError(
            f'--topics-include: "{text}" is not a regular expression: {error}'
        ) from None


def verify(reader: ReplicaReader, topics: Iterable[str], args: Parsed, *, start_ms: int) -> None:
    """Goes on until it is interrupted; `CommandError` when replicas have different offsets."""
    from barnabas.cli.java_dates import date_format
    from barnabas.cli.replica_comparing import Comparison

    names = set(topics)
    places = sorted(place for place in reader.places if place[0] in names)
    comparison = Comparison(reader.offsets(places, start_ms))
    interval_ms = _number(args, "report-interval-ms", REPORT_INTERVAL_MS)
    max_bytes = _number(args, "fetch-size", FETCH_SIZE)
    max_wait_ms = _number(args, "max-wait-ms", MAX_WAIT_MS)
    date = date_format("", DATE_PATTERN)
    _say(date, "verification process is started")
    told: set[str] = set()
    reported = time.monotonic()
    while True:
        data = reader.fetch(comparison.offsets, max_bytes=max_bytes, max_wait_ms=max_wait_ms)
        tell_troubles(data, told)
        for difference in comparison.compare(marks(data)):
            _say(date, difference.text())
            if difference.is_offset:
                topic, number = difference.place
                raise CommandError(f"the replicas of {topic}-{number} differ")
        now = time.monotonic()
        if (now - reported) * 1000 > interval_ms:
            reported = now
            _say(date, comparison.text())


def _number(args: Parsed, name: str, default: int) -> int:
    value = args.number(name)
    return default if value is None else value


def marks(data: Mapping[Place, Mapping[int, ReplicaData]]) -> dict[Place, dict[int, Fetched]]:
    """What is compared of the bytes that came; an incomplete batch at the end is left for later."""
    from barnabas.cli.replica_comparing import BatchMark, Fetched
    from barnabas.records.header import batch_crc, iter_headers

    def fetched(each: ReplicaData) -> Fetched:
        view = memoryview(each.records)
        return Fetched(
            high_watermark=each.high_watermark,
            batches=[
                BatchMark(header.last_offset, batch_crc(view[at : at + header.size_bytes]))
                for at, header in iter_headers(view)
            ],
        )

    return {
        place: {broker_id: fetched(each) for broker_id, each in replicas.items()}
        for place, replicas in data.items()
    }


def tell_troubles(data: Mapping[Place, Mapping[int, ReplicaData]], told: set[str]) -> None:
    """Warns, once, of each replica that cannot be read: its partitions are not compared."""
    for (topic, number), replicas in data.items():
        for broker_id, each in replicas.items():
            if each.error is not None:
                text = f"replica {broker_id} of {topic}-{number}: {each.error}"
                if text not in told:
                    told.add(text)
                    warn(text)


def _say(date: Callable[[int], str], text: str) -> None:
    from barnabas.base.clock import SYSTEM_CLOCK

    sys.stdout.write(f"{date(SYSTEM_CLOCK.now_ms())}: {text}\n")
    sys.stdout.flush()


COMMAND = Command(
    summary="Compare the replicas of partitions with each other, until it is interrupted.",
    examples=(
        "--broker-list localhost:9092 --topics-include 'orders.*'",
        "--broker-list localhost:9092 --time -2 --report-interval-ms 5000",
    ),
    options=OPTIONS,
    run=run,
    notes=(
        (
            "Lag is how far the slowest replica of a partition is behind: up to the offset told, "
            "all replicas have the same batches. Records are compared up to the high watermark."
        ),
    ),
)
