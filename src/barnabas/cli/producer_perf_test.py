"""`kafka-producer-perf-test`: how fast records are sent, and how long acknowledgements take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    DEFAULT_BOOTSTRAP,
    check_bootstrap,
    named_words,
    older,
    read_file,
    read_pairs,
    warn,
)
from barnabas.cli.console_producer import check_topic
from barnabas.cli.options import (
    INT_MAX,
    LONG_MAX,
    Option,
    Parsed,
    UsageError,
    at_most_one,
    required,
)
from barnabas.cli.printing import print_lines

if TYPE_CHECKING:
    from barnabas.cli.perf_sending import Load

WORDS = ("topic", "num-records", "record-size", "throughput")
"""What plain words stand for in older notes, in their order; settings of the producer follow."""
WORDS_MAX = 1000
"""Settings after --producer-props, or these words."""
INTERVAL_MS = 5_000
TRANSACTION_MS = 3_000
CLIENT_ID = "perf-producer-client"
PAYLOADS = ("record-size", "payload-file", "payload-monotonic")
COMMAND_PROPERTY = Option(
    name="command-property",
    value="KEY=VALUE",
    many=True,
    help="Settings of the producer, one or more; they win over the file. May be repeated.",
)

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    older(COMMAND_CONFIG, "producer.config"),
    older(COMMAND_PROPERTY, "producer-props"),
    Option(name="topic", value="NAME", help="The topic to send to. Required."),
    Option(
        name="num-records",
        value="COUNT",
        whole=(1, LONG_MAX),
        help="How many records to send. Required.",
    ),
    Option(
        name="throughput",
        value="RECORDS",
        help="About how many records to send a second; -1 for as many as possible. Required.",
    ),
    Option(
        name="record-size",
        value="BYTES",
        whole=(1, INT_MAX),
        help="The size of each value, random letters. One of this, --payload-file and "
        "--payload-monotonic is required.",
    ),
    Option(
        name="payload-file",
        value="FILE",
        help="A text file with values, of which each record gets any one.",
    ),
    Option(
        name="payload-delimiter",
        value="TEXT",
        help="What stands between the values of --payload-file. Default: \\n.",
    ),
    Option(name="payload-monotonic", help="Values are numbers: 0, 1, 2, ..."),
    Option(name="print-metrics", help="Print what the client library counted, in the end."),
    Option(name="transactional-id", value="ID", help="Send in transactions of this id."),
    Option(
        name="transaction-duration-ms",
        value="MS",
        whole=(1, LONG_MAX),
        help="Send in transactions, and commit each after so long. Default with "
        f"--transactional-id: {TRANSACTION_MS}.",
    ),
    Option(
        name="warmup-records",
        value="COUNT",
        whole=(0, LONG_MAX),
        help="So many records first, which a second summary does not count. Default: 0.",
    ),
    Option(
        name="reporting-interval",
        value="MS",
        whole=(1, LONG_MAX),
        help=f"How often to print a line meanwhile. Default: {INTERVAL_MS}.",
    ),
)


PRODUCER_DEFAULTS: dict[str, Any] = {
    "acks": "all",
    "partitioner": "murmur2_random",
    "linger.ms": "5",
    "queue.buffering.max.kbytes": str(32 * 1024),
    "queue.buffering.max.messages": "1000000",
}
"""Java's own, in librdkafka's words; batches are as large as librdkafka makes them."""


def run(args: Parsed) -> int:
    args = named(args)
    load = load_of(args)
    properties = producer_properties(args)
    values = values_of(args)
    from barnabas.cli.perf_common import Interrupts, Statistics, no_collections
    from barnabas.cli.perf_rows import metrics_lines
    from barnabas.cli.perf_sending import LoadSender
    from barnabas.cli.progress import Progress
    from barnabas.client.connect import fetch_metadata, open_producer

    raise_on_sigterm()
    statistics = Statistics()
    told = statistics.config() if args.has("print-metrics") else {}
    producer, troubles = open_producer(properties, PRODUCER_DEFAULTS | told, warn)
    check_topic(fetch_metadata(producer, troubles, load.topic), load.topic)
    if load.warmup:
        print_lines(
            [
                (
                    f"Warmup first {load.warmup} records. Steady state results will print after "
                    "the complete test summary."
                )
            ]
        )
    with Progress("sending", total=load.count) as progress:

        def say(line: str) -> None:
            progress.clear()
            print_lines([line])
            sys.stdout.flush()

        with translated_errors():
            if load.transaction_ms is not None:
                producer.init_transactions()
            with Interrupts() as interrupts, no_collections():
                sender = LoadSender(
                    producer=producer,
                    troubles=troubles,
                    load=load,
                    values=values,
                    say=say,
                    on_progress=progress.at,
                    check=interrupts.check,
                )
                sender.run()
    print_lines(sender.summary())
    if args.has("print-metrics"):
        print_lines(
            metrics_lines("producer", properties["client.id"], statistics.fresh(producer.poll))
        )
    sender.check_failures()
    return 0


def named(args: Parsed) -> Parsed:
    """What was asked for, whether by options or by words."""
    return named_words(args, WORDS, "producer-props") if args.words and not args.given else args


def load_of(args: Parsed) -> Load:
    """What was asked for; `UsageError` for options that do not go together."""
    from barnabas.cli.perf_sending import Load

    topic = required(args, "topic")
    count = int(required(args, "num-records"))
    warmup = args.number("warmup-records") or 0
    if warmup >= count:
        raise UsageError(f"--warmup-records: {warmup} is not less than --num-records")
    if len([name for name in PAYLOADS if args.has(name)]) != 1:
        raise UsageError(f"exactly one of --{', --'.join(PAYLOADS)} is needed")
    duration = args.number("transaction-duration-ms")
    in_transactions = (
        duration is not None
        or args.has("transactional-id")
        or "transactional.id" in typed_properties(args)
    )
    return Load(
        topic=topic,
        count=count,
        records_per_s=rate(args),
        warmup=warmup,
        interval_ms=args.number("reporting-interval") or INTERVAL_MS,
        transaction_ms=(duration or TRANSACTION_MS) if in_transactions else None,
    )


def rate(args: Parsed) -> float | None:
    """Records a second; None for as many as possible."""
    text = required(args, "throughput")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value >= -1:
        raise UsageError(f'--throughput: "{text}" is not a number from -1 up')
    return value if value > 0 else None


def typed_properties(args: Parsed) -> dict[str, str]:
    """From the file, then the pairs.  Words that follow a pair are pairs too."""
    at_most_one(args, "producer.config", "command-config")
    at_most_one(args, "producer-props", "command-property")
    properties: dict[str, str] = {}
    for name in ("producer.config", "command-config"):
        path = args.text(name)
        if path is not None:
            properties |= read_file(name, path)
    for name in ("producer-props", "command-property"):
        if args.has(name):
            return properties | read_pairs(name, [*args.texts(name), *args.words])
    if args.words:
        raise UsageError(f'unexpected argument "{args.words[0]}"')
    return properties


def producer_properties(args: Parsed) -> dict[str, str]:
    """Java properties of the producer, with what the options say."""
    properties = typed_properties(args)
    servers = args.text("bootstrap-server")
    if servers is not None:
        properties["bootstrap.servers"] = servers
    properties.setdefault("bootstrap.servers", DEFAULT_BOOTSTRAP)
    properties.setdefault("client.id", CLIENT_ID)
    check_bootstrap(properties["bootstrap.servers"])
    typed_id = args.text("transactional-id")
    if typed_id is not None:
        properties["transactional.id"] = typed_id
    elif args.has("transaction-duration-ms"):
        from barnabas.base.ids import id_text, random_id

        properties.setdefault("transactional.id", f"performance-producer-{id_text(random_id())}")
    return properties


def values_of(args: Parsed) -> Iterator[bytes]:
    """The values to send, without end."""
    import random

    from barnabas.cli.perf_payloads import chosen_values, letter_values, numbers, split_values

    chance = random.Random(0)
    size = args.number("record-size")
    if size is not None:
        return letter_values(size, chance)
    path = args.text("payload-file")
    if path is None:
        return numbers()
    delimiter = (args.text("payload-delimiter") or "\n").replace("\\n", "\n")
    print_lines([f"Reading payloads from: {os.path.abspath(path)}"])
    try:
        with open(path, "rb") as file:
            values = split_values(file.read(), delimiter.encode())
    except OSError as error:
        raise UsageError(f"--payload-file: cannot read {path}: {error.strerror}") from None
    if not values:
        raise UsageError(f"--payload-file: {path} is empty")
    print_lines([f"Number of records read: {len(values)}"])
    return chosen_values(values, chance)


@contextmanager
def translated_errors() -> Iterator[None]:
    """What the library refuses, such as a transaction that was fenced, in one line."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise CommandError(error.args[0].str()) from None


COMMAND = Command(
    summary="Measure how fast records are sent.",
    examples=(
        (
            "--topic orders --num-records 1000000 --record-size 100 --throughput -1 "
            "--producer-props bootstrap.servers=localhost:9092 acks=1 linger.ms=10"
        ),
        (
            "--topic orders --num-records 60000 --record-size 1024 --throughput 1000 "
            "--bootstrap-server localhost:9092"
        ),
        (
            "--topic orders --num-records 100000 --payload-file orders.txt --throughput -1 "
            "--transaction-duration-ms 1000"
        ),
    ),
    options=OPTIONS,
    run=run,
    words=(0, WORDS_MAX),
    notes=(
        (
            "Several settings may follow --producer-props or --command-property. Latency is the "
            "time from handing a record to the client library until the broker has acknowledged "
            "it; every record is counted. Plain words, as in older notes: topic, number and size "
            "of records, throughput, and settings of the producer."
        ),
    ),
)
