"""`barnabas topics tail`: the last records of topics, and with `-f` those that arrive."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    JSON,
    client_properties,
    warn,
)
from barnabas.cli.options import INT_MAX, Option, Parsed

if TYPE_CHECKING:
    from confluent_kafka import Message

    from barnabas.cli.consuming import Printer
    from barnabas.cli.formatters import Formatter
    from barnabas.cli.tail_rows import Place
    from barnabas.client.group_admin import GroupAdmin

DEFAULT_COUNT = 10
LARGEST_COUNT = 1_000_000
TIMEOUT_S = 10.0
"""How long brokers may be silent while the last records are read."""

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    JSON,
    Option(
        name="lines",
        aliases=("n",),
        value="NUMBER",
        whole=(0, LARGEST_COUNT),
        help=f"How many records of each topic to begin with. Default: {DEFAULT_COUNT}.",
    ),
    Option(
        name="follow",
        aliases=("f",),
        help="Go on with records as they arrive, until Ctrl-C.",
    ),
    Option(
        name="partition",
        value="NUMBER",
        whole=(0, INT_MAX),
        help="Only this partition of the topics.",
    ),
)


def run(args: Parsed) -> int:
    properties = client_properties(args, files=["command-config"], pairs=["command-property"])
    topics = list(dict.fromkeys(args.words))
    from barnabas.cli.tail_rows import last_records
    from barnabas.client.group_admin import GroupAdmin

    raise_on_sigterm()
    admin = GroupAdmin.connect(properties, warn, timeout_s=TIMEOUT_S)
    places = chosen_places(admin, topics, args.number("partition"))
    ends = admin.end_offsets(places)
    number = args.number("lines")
    count = DEFAULT_COUNT if number is None else number
    formatter = _formatter(args, topics)
    found = _read_last(properties, admin.start_offsets(places), ends, count) if count else {}
    follower = None
    if args.has("follow"):  # from here on a broker that goes away is waited for
        follower = _follower(properties, topics, ends, args.number("partition"), formatter)
    output = sys.stdout.buffer
    output.write(b"".join(map(formatter, last_records(found, count))))
    output.flush()
    if follower is not None:
        follower.run()
    return 0


def chosen_places(admin: GroupAdmin, topics: Sequence[str], partition: int | None) -> list[Place]:
    """The partitions to read; a topic, or partition, that does not exist is an error."""
    from barnabas.cli.near import did_you_mean

    known = admin.leaders()
    names = {name for name, _ in known}
    for topic in topics:
        if topic not in names:
            raise CommandError(f"topic {topic} does not exist{did_you_mean(topic, names)}")
        if partition is not None and (topic, partition) not in known:
            raise CommandError(f"topic {topic} has no partition {partition}")
    chosen = [
        (name, number) for name, number in known if name in topics and partition in (None, number)
    ]
    for place in chosen:
        if known[place] is None:
            raise CommandError(f"partition {place[0]}-{place[1]} has no leader: try again later")
    return sorted(chosen)


def _formatter(args: Parsed, topics: Sequence[str]) -> Formatter:
    from barnabas.cli.tail_rows import as_json, as_text

    if args.has("json"):
        return as_json
    is_coloured = (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )
    return as_text(with_topic=len(topics) > 1, with_colour=is_coloured)


def _read_last(
    properties: Mapping[str, str],
    starts: Mapping[Place, int],
    ends: Mapping[Place, int],
    count: int,
) -> dict[Place, list[Message]]:
    """Records near the ends of partitions, at least as many of each as asked for if it has them."""
    from barnabas.cli.console_consumer import CONSUMER_DEFAULTS
    from barnabas.cli.tail_rows import first_spans, wider_spans
    from barnabas.cli.tailing import Reader
    from barnabas.client.connect import open_consumer

    defaults = {
        **CONSUMER_DEFAULTS,
        "enable.partition.eof": "true",
        "auto.offset.reset": "earliest",
    }
    consumer, troubles = open_consumer(
        {**properties, "enable.auto.commit": "false"}, defaults, warn
    )
    reader = Reader(consumer=consumer, troubles=troubles, timeout_s=TIMEOUT_S)
    found: dict[Place, list[Message]] = {}
    spans = first_spans(starts, ends, count)
    while spans:
        for place, records in reader.read(spans, time.monotonic()).items():
            found[place] = records + found.get(place, [])
        spans = wider_spans(spans, starts, found, count)
    consumer.close()
    return found


def _follower(
    properties: Mapping[str, str],
    topics: Sequence[str],
    ends: Mapping[Place, int],
    partition: int | None,
    formatter: Formatter,
) -> Printer:
    """Prints what comes after the ends, once it is run; Ctrl-C or SIGTERM ends it."""
    from barnabas.cli.assigning import BEGINNING, Assignment
    from barnabas.cli.console_consumer import CONSUMER_DEFAULTS
    from barnabas.cli.consuming import AllPartitions, Printer
    from barnabas.client.connect import open_consumer

    consumer, troubles = open_consumer(
        {**properties, "enable.auto.commit": "false"}, CONSUMER_DEFAULTS, warn
    )
    wanted = Assignment(
        pattern=re.compile("|".join(map(re.escape, topics))),
        partition=partition,
        offset=BEGINNING,
        starts=ends,
    )
    source = AllPartitions(consumer=consumer, troubles=troubles, wanted=wanted, warn=warn)
    source.start()
    return Printer(
        consumer=consumer,
        source=source,
        troubles=troubles,
        format=formatter,
        output=sys.stdout.buffer,
        warn=warn,
    )


COMMAND = Command(
    summary="Print the last records of topics, by their time over all partitions, and with -f "
    "those that arrive.",
    examples=(
        "orders",
        "orders -n 100 -f",
        "orders payments --follow",
        "orders -n 1 --json",
    ),
    options=OPTIONS,
    run=run,
    words=(1, 1000),
    words_are="topics",
    notes=(
        (
            "A line has partition:offset, time, key => value, and headers in brackets; names of "
            "topics stand before if there are several. With --json a record is a line of JSON."
        ),
    ),
)
