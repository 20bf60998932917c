"""`kafka-consumer-perf-test`: how fast records are received."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    NEW_CONSUMER,
    ZOOKEEPER,
    client_properties,
    older,
    read_pairs,
    warn,
)
from barnabas.cli.options import INT_MAX, LONG_MAX, Option, Parsed, UsageError, at_most_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confluent_kafka import Consumer

    from barnabas.cli.perf_rows import Received
    from barnabas.client.connect import Troubles

FETCH_SIZE = 1024 * 1024
SOCKET_BUFFER = 2 * 1024 * 1024
TIMEOUT_MS = 10_000
INTERVAL_MS = 5_000
DATE_PATTERN = "yyyy-MM-dd HH:mm:ss:SSS"
CLIENT_ID = "perf-consumer-client"
NUM_RECORDS = Option(
    name="num-records",
    value="COUNT",
    whole=(0, LONG_MAX),
    help="How many records to receive. Required.",
)

OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    older(COMMAND_CONFIG, "consumer.config"),
    NUM_RECORDS,
    Option(
        name="messages",
        value="COUNT",
        whole=(0, LONG_MAX),
        help="Older spelling of --num-records.",
    ),
    Option(name="topic", value="NAME", help="The topic to read."),
    Option(
        name="include",
        value="REGEX",
        help="In place of --topic: all topics whose whole name this regular expression matches.",
    ),
    Option(name="group", value="ID", help="The group to join. Default: one with a random name."),
    Option(
        name="fetch-size",
        value="BYTES",
        whole=(1, INT_MAX),
        help=f"Most bytes of a partition in one fetch. Default: {FETCH_SIZE}.",
    ),
    Option(
        name="socket-buffer-size",
        value="BYTES",
        whole=(-1, 100_000_000),
        help=f"The socket's receive buffer, in bytes. Default: {SOCKET_BUFFER}.",
    ),
    Option(
        name="from-latest",
        help="Where the group has no position yet: begin with records that are yet to come.",
    ),
    Option(
        name="timeout",
        value="MS",
        whole=(0, LONG_MAX),
        alone=str(TIMEOUT_MS),
        help=f"Give up after so long without a record. Default: {TIMEOUT_MS}.",
    ),
    Option(name="show-detailed-stats", help="Print a line for each interval, not one in the end."),
    Option(
        name="reporting-interval",
        value="MS",
        whole=(1, LONG_MAX),
        help=f"How long an interval is. Default: {INTERVAL_MS}.",
    ),
    Option(
        name="date-format",
        value="PATTERN",
        help=f"How times are written, in Java's letters. Default: {DATE_PATTERN}.",
    ),
    Option(name="hide-header", help="Leave out the line with the names of the columns."),
    Option(name="print-metrics", help="Print what the client library counted, in the end."),
    NEW_CONSUMER,
    Option(name="threads", value="COUNT", whole=(1, INT_MAX), help="Accepted for old notes."),
    Option(
        name="num-fetch-threads",
        value="COUNT",
        whole=(1, INT_MAX),
        help="Accepted for old notes.",
    ),
)


CONSUMER_DEFAULTS: dict[str, Any] = {
    "client.id": CLIENT_ID,
    "fetch.queue.backoff.ms": "0",  # its default lets an empty queue wait for a second
    "queued.min.messages": "1000000",
    "queued.max.messages.kbytes": str(64 * 1024),
    "check.crcs": "false",
    "enable.partition.eof": "false",
}


def run(args: Parsed) -> int:
    wanted = check(args)
    date = date_of(args)
    properties = consumer_properties(args)
    from barnabas.cli.perf_common import Statistics
    from barnabas.cli.perf_rows import (
        INTERVAL_HEADING,
        RECEIVED_HEADING,
        metrics_lines,
        received_line,
    )
    from barnabas.cli.printing import print_lines
    from barnabas.client.connect import open_consumer

    raise_on_sigterm()
    statistics = Statistics()
    told = statistics.config() if args.has("print-metrics") else {}
    consumer, troubles = open_consumer(properties, CONSUMER_DEFAULTS | told, warn)
    topics = topics_of(args, consumer, troubles)
    detailed = args.has("show-detailed-stats")
    if not args.has("hide-header"):
        print_lines([INTERVAL_HEADING if detailed else RECEIVED_HEADING])
    try:
        start, end = receive(args, consumer, troubles, topics, date)
        if not detailed:
            print_lines([received_line(start, end, date)])
        if args.has("print-metrics"):
            counted = statistics.fresh(lambda wait_s: consumer.consume(1, wait_s))
            print_lines(metrics_lines("consumer", properties["client.id"], counted))
    finally:
        consumer.close()
    if end.count < wanted:
        raise CommandError(
            "exiting before consuming the expected number of records: no record within "
            f"{timeout_ms(args)} ms (--timeout)"
        )
    return 0


def check(args: Parsed) -> int:
    """How many records are wanted; `UsageError` for options that do not go together."""
    name = at_most_one(args, "num-records", "messages")
    if name is None:
        raise UsageError("--num-records is missing: COUNT")
    if not at_most_one(args, "topic", "include"):
        raise UsageError("exactly one of --topic and --include is needed")
    at_most_one(args, "consumer.config", "command-config")
    return args.number(name) or 0


def date_of(args: Parsed) -> Callable[[int], str]:
    from barnabas.cli.java_dates import date_format

    return date_format("--date-format", args.text("date-format") or DATE_PATTERN)


def timeout_ms(args: Parsed) -> int:
    typed = args.number("timeout")
    return TIMEOUT_MS if typed is None else typed


def consumer_properties(args: Parsed) -> dict[str, str]:
    """Java properties of the consumer: files, then what the options say, then pairs."""
    from random import randrange

    properties = client_properties(args, files=["consumer.config", "command-config"], pairs=[])
    properties |= {
        "group.id": args.text("group") or f"perf-consumer-{randrange(100_000)}",
        "receive.buffer.bytes": args.text("socket-buffer-size") or str(SOCKET_BUFFER),
        "max.partition.fetch.bytes": args.text("fetch-size") or str(FETCH_SIZE),
        "auto.offset.reset": "latest" if args.has("from-latest") else "earliest",
    }
    properties.setdefault("client.id", CLIENT_ID)
    return properties | read_pairs("command-property", args.texts("command-property"))


def topics_of(args: Parsed, consumer: Consumer, troubles: Troubles) -> list[str]:
    """The topics to read; `CommandError` if there are none."""
    from barnabas.cli.console_consumer import include_pattern
    from barnabas.cli.consuming import fetch_partitions
    from barnabas.cli.near import did_you_mean

    topic = args.text("topic")
    if topic is not None:
        if topic not in fetch_partitions(consumer, troubles, topic):
            hint = did_you_mean(topic, fetch_partitions(consumer, troubles, None))
            raise CommandError(f"topic {topic} does not exist{hint}")
        return [topic]
    pattern = include_pattern(args)
    assert pattern is not None, "checked before"
    found = [name for name in fetch_partitions(consumer, troubles, None) if pattern.fullmatch(name)]
    if not found:
        raise CommandError(f'no topic matches "{pattern.pattern}"')
    return sorted(found)


def receive(
    args: Parsed,
    consumer: Consumer,
    troubles: Troubles,
    topics: Sequence[str],
    date: Callable[[int], str],
) -> tuple[Received, Received]:
    """All records, with a line for each interval if that is asked for."""
    from barnabas.cli.perf_common import Interrupts, no_collections
    from barnabas.cli.perf_receiving import Receiver
    from barnabas.cli.perf_rows import interval_line
    from barnabas.cli.printing import print_lines
    from barnabas.cli.progress import Progress

    wanted = check(args)
    with (
        Progress("receiving", total=wanted) as progress,
        Interrupts() as interrupts,
        no_collections(),
    ):

        def on_interval(start: Received, end: Received) -> None:
            if args.has("show-detailed-stats"):
                progress.clear()
                print_lines([interval_line(start, end, date)])
                sys.stdout.flush()

        receiver = Receiver(
            consumer=consumer,
            troubles=troubles,
            topics=topics,
            wanted=wanted,
            timeout_s=timeout_ms(args) / 1000,
            interval_ms=args.number("reporting-interval") or INTERVAL_MS,
            on_interval=on_interval,
            on_progress=progress.at,
            check=interrupts.check,
        )
        return receiver.run()


COMMAND = Command(
    summary="Measure how fast records are received.",
    examples=(
        "--topic orders --messages 1000000",
        "--topic orders --num-records 1000000 --show-detailed-stats --reporting-interval 1000",
        "--include 'orders.*' --num-records 1000000 --group load",
    ),
    options=OPTIONS,
    run=run,
)
