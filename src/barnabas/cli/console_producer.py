"""`kafka-console-producer`: every line of input becomes a record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    client_properties,
    collect,
    older,
    warn,
)
from barnabas.cli.options import (
    INT_MAX,
    LONG_MAX,
    Option,
    Parsed,
    UsageError,
    at_most_one,
    required,
)

if TYPE_CHECKING:
    from barnabas.cli.line_reader import LineFormat

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MAX_BLOCK_MS = 60_000
LAST_CHANCE_S = 5.0
"""After Ctrl-C: for records that were read before it."""

READER_PROPERTY = Option(
    name="reader-property",
    value="KEY=VALUE",
    many=True,
    help="How a line is read: parse.key=true, key.separator=<tab>, parse.headers=true, "
    "headers.delimiter=<tab>, headers.separator=, headers.key.separator=: null.marker=TEXT "
    "(a key, value or header value that stands for null), ignore.error=true. May be repeated.",
)
READER_CONFIG = Option(
    name="reader-config",
    value="FILE",
    help="Properties file with what --reader-property can say.",
)
CLIENT_NUMBERS = {
    "batch-size": ("batch.size", 1, INT_MAX),
    "max-partition-memory-bytes": ("batch.size", 1, INT_MAX),
    "max-memory-bytes": ("buffer.memory", 1, LONG_MAX),
    "timeout": ("linger.ms", 0, 900_000),
    "request-timeout-ms": ("request.timeout.ms", 1, 900_000),
    "message-send-max-retries": ("retries", 0, INT_MAX),
    "retry-backoff-ms": ("retry.backoff.ms", 1, 300_000),
    "max-block-ms": ("max.block.ms", 0, LONG_MAX),
    "metadata-expiry-ms": ("metadata.max.age.ms", 1, 86_400_000),
    "socket-buffer-size": ("send.buffer.bytes", -1, 100_000_000),
}
"""Options that are numbers of the client: its property, and the least and the greatest value."""

NUMBER_HELP = {
    "batch-size": "Most bytes of records sent to a partition at once.",
    "max-partition-memory-bytes": "Older spelling of --batch-size.",
    "max-memory-bytes": "Most bytes of records that wait to be sent.",
    "timeout": "How long, in ms, a record may wait for others to be sent with. Default: 5.",
    "request-timeout-ms": "How long, in ms, the broker may take to acknowledge a request.",
    "message-send-max-retries": "How often to send again what was not acknowledged.",
    "retry-backoff-ms": "How long, in ms, to wait before sending again.",
    "max-block-ms": f"How long, in ms, to wait for room in the queue. Default: {MAX_BLOCK_MS}.",
    "metadata-expiry-ms": "How old, in ms, the known partitions and leaders may get.",
    "socket-buffer-size": "The socket's send buffer, in bytes.",
}

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    older(COMMAND_CONFIG, "producer.config"),
    older(COMMAND_PROPERTY, "producer-property"),
    READER_CONFIG,
    READER_PROPERTY,
    older(READER_PROPERTY, "property"),
    Option(name="topic", value="NAME", help="The topic to send to. Required."),
    Option(
        name="compression-codec",
        value="NAME",
        choices=CODECS,
        alone="gzip",
        help=f"How to compress: {', '.join(CODECS)}. Without a name: gzip.",
    ),
    Option(
        name="request-required-acks",
        value="WHO",
        choices=("all", "-1", "1", "0"),
        help="Who must have a record before it counts as sent: all in-sync replicas (all or -1, "
        "the default), the leader (1), nobody (0).",
    ),
    Option(name="sync", help="Wait for each record to be acknowledged before the next is read."),
    Option(
        name="line-reader",
        value="CLASS",
        help="Accepted for old command lines; only LineMessageReader, the default, is known.",
    ),
    *(
        Option(name=name, value="NUMBER", whole=(least, most), help=NUMBER_HELP[name])
        for name, (_, least, most) in CLIENT_NUMBERS.items()
    ),
)


def run(args: Parsed) -> int:
    topic = required(args, "topic")
    line_format = reader_format(args)
    properties = producer_properties(args)
    from barnabas.cli.sending import Failures, Sender, send_input
    from barnabas.client.connect import fetch_metadata, open_producer

    raise_on_sigterm()
    failures = Failures()
    producer, troubles = open_producer(
        properties, producer_defaults(properties) | {"on_delivery": failures}, warn
    )
    check_topic(fetch_metadata(producer, troubles, topic), topic)
    sender = Sender(
        producer=producer,
        troubles=troubles,
        failures=failures,
        topic=topic,
        sync=args.has("sync"),
        block_s=int(properties.get("max.block.ms", MAX_BLOCK_MS)) / 1000,
    )
    on_terminal = os.isatty(0) and os.isatty(1)
    try:
        send_input(sender, line_format, fd=0, prompt=on_terminal)
    except KeyboardInterrupt:
        if on_terminal:
            print()
        producer.flush(LAST_CHANCE_S)
        raise
    return 1 if failures.count else 0


def check_topic(metadata: Any, topic: str) -> None:
    """`CommandError` if a topic of this name cannot be.  One that is being created is fine."""
    error = metadata.topics[topic].error
    if error is not None and error.name() in ("TOPIC_EXCEPTION", "TOPIC_AUTHORIZATION_FAILED"):
        raise CommandError(f"topic {topic}: {error.str()}")


def reader_format(args: Parsed) -> LineFormat:
    """How lines are read; `UsageError` if that cannot be."""
    from barnabas.cli.line_reader import line_format

    reader_class = args.text("line-reader")
    if reader_class is not None and reader_class.rpartition(".")[2] != "LineMessageReader":
        raise UsageError(
            f"--line-reader: {reader_class} is a Java class; only LineMessageReader is known"
        )
    at_most_one(args, "property", "reader-property")
    return line_format(
        collect(args, files=["reader-config"], pairs=["property", "reader-property"]), warn
    )


def producer_properties(args: Parsed) -> dict[str, str]:
    """Java properties of the producer: files, then pairs, then the options that stand for one."""
    at_most_one(args, "producer.config", "command-config")
    at_most_one(args, "producer-property", "command-property")
    properties = client_properties(
        args,
        files=["producer.config", "command-config"],
        pairs=["producer-property", "command-property"],
    )
    for name, (key, _, _) in CLIENT_NUMBERS.items():
        value = args.text(name)
        if value is not None:
            properties[key] = value
    for name, key in (("compression-codec", "compression.type"), ("request-required-acks", "acks")):
        value = args.text(name)
        if value is not None:
            properties[key] = value
    return properties


def producer_defaults(properties: Mapping[str, str]) -> dict[str, Any]:
    """What the properties leave open, in librdkafka's words.

    One request at a time keeps the order of lines when one has to be sent again.  An idempotent
    producer would keep it too, but makes a short input wait half a second for its producer id.
    """
    defaults: dict[str, Any] = {
        "acks": "all",
        "partitioner": "murmur2_random",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": "120000",
        "linger.ms": "5",
        "message.max.bytes": str(1 << 20),
        "queue.buffering.max.kbytes": str(64 * 1024),
        "queue.buffering.max.messages": "1000000",
        "delivery.report.only.error": True,
    }
    backoff = properties.get("retry.backoff.ms", "")
    if backoff.isdigit() and int(backoff) > 1000:
        defaults["retry.backoff.max.ms"] = backoff
    linger = properties.get("linger.ms", "")
    if linger.isdigit() and int(linger) >= 120_000:
        defaults["delivery.timeout.ms"] = str(int(linger) + 30_000)
    return defaults


COMMAND = Command(
    summary="Send lines of text to a topic, one record a line.",
    examples=(
        "--topic orders",
        "--topic orders --property parse.key=true --property key.separator=, < orders.csv",
        "--topic orders --compression-codec zstd --producer-property linger.ms=50",
    ),
    options=OPTIONS,
    run=run,
)
