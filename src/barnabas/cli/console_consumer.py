"""`kafka-console-consumer`: prints records as they arrive."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    NEW_CONSUMER,
    ZOOKEEPER,
    client_properties,
    collect,
    older,
    warn,
)
from barnabas.cli.options import INT_MAX, LONG_MAX, Option, Parsed, UsageError, at_most_one

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from barnabas.cli.assigning import Assignment
    from barnabas.cli.consuming import Source
    from barnabas.cli.formatters import Formatter
    from barnabas.client.connect import Troubles

DEFAULT_FORMATTER = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"

FORMATTER_PROPERTY = Option(
    name="formatter-property",
    value="KEY=VALUE",
    many=True,
    help="What is printed of a record: print.timestamp, print.partition, print.offset, "
    "print.epoch, print.headers, print.key (all false) and print.value (true); "
    "key.separator=<tab>, line.separator=<newline>, headers.separator=, null.literal=null, "
    "key.deserializer, value.deserializer, headers.deserializer. May be repeated.",
)
INCLUDE = Option(
    name="include",
    value="REGEX",
    help="Regular expression for the names of the topics to read; internal topics are left out.",
)
OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    older(COMMAND_CONFIG, "consumer.config"),
    older(COMMAND_PROPERTY, "consumer-property"),
    FORMATTER_PROPERTY,
    older(FORMATTER_PROPERTY, "property"),
    Option(
        name="formatter-config",
        value="FILE",
        help="Properties file with what --formatter-property can say.",
    ),
    Option(
        name="formatter",
        value="CLASS",
        help="DefaultMessageFormatter, LoggingMessageFormatter or NoOpMessageFormatter; for "
        "__consumer_offsets OffsetsMessageFormatter or GroupMetadataMessageFormatter; for "
        "__transaction_state TransactionLogMessageFormatter; with or without the package. "
        "Default: DefaultMessageFormatter.",
    ),
    Option(
        name="topic",
        value="NAME",
        help="The topic to read. One that does not exist is waited for.",
    ),
    INCLUDE,
    older(INCLUDE, "whitelist"),
    Option(
        name="from-beginning",
        help="Start with the oldest record. With --group: only where the group has no position.",
    ),
    Option(
        name="group",
        value="NAME",
        help="Read as a member of this consumer group, and commit the position. Without it every "
        "partition is read, and nothing is committed.",
    ),
    Option(name="partition", value="NUMBER", whole=(0, INT_MAX), help="Read only this partition."),
    Option(
        name="offset",
        value="OFFSET",
        help="With --partition: where to start: a number, earliest or latest. Default: latest.",
    ),
    Option(
        name="max-messages",
        value="NUMBER",
        whole=(-1, INT_MAX),
        help="Stop after this many records.",
    ),
    Option(
        name="timeout-ms",
        value="NUMBER",
        whole=(-1, LONG_MAX),
        help="Stop when no record has come for this long.",
    ),
    Option(
        name="isolation-level",
        value="LEVEL",
        choices=("read_committed", "read_uncommitted"),
        help="read_committed leaves out records of transactions that are not committed. Default: "
        "read_uncommitted.",
    ),
    Option(
        name="key-deserializer",
        value="CLASS",
        help="Java deserializer of keys: String, Integer, Long, Short, Float, Double, Boolean, "
        "UUID, Bytes or ByteArray, as a class name. Without it bytes are printed as they are.",
    ),
    Option(name="value-deserializer", value="CLASS", help="The same for values."),
    Option(
        name="skip-message-on-error",
        help="Go on after a record that cannot be printed, instead of stopping.",
    ),
    NEW_CONSUMER,
    Option(
        name="enable-systest-events", help="Accepted for old command lines; nothing is printed."
    ),
)


def run(args: Parsed) -> int:
    check(args)
    properties = client_properties(
        args,
        files=["consumer.config", "command-config"],
        pairs=["consumer-property", "command-property"],
    )
    group = group_of(args, properties)
    wanted = assignment(args, properties)
    formatter = formatter_of(args)
    from barnabas.cli.consuming import Printer, say_total
    from barnabas.client.connect import open_consumer

    raise_on_sigterm()
    consumer, troubles = open_consumer(
        consumer_properties(args, properties, group), CONSUMER_DEFAULTS, warn
    )
    source = _source(consumer, troubles, wanted, in_group=group is not None)
    source.start()
    timeout_ms = args.number("timeout-ms")
    max_messages = args.number("max-messages")
    printer = Printer(
        consumer=consumer,
        source=source,
        troubles=troubles,
        format=formatter,
        output=sys.stdout.buffer,
        warn=warn,
        max_messages=None if max_messages == -1 else max_messages,
        timeout_s=None if timeout_ms in (None, -1) else (timeout_ms or 0) / 1000,
        skip_errors=args.has("skip-message-on-error"),
    )
    is_read = True
    try:
        printer.run()
    except BrokenPipeError:
        is_read = False  # there is nobody to tell
        raise
    finally:
        if is_read:
            say_total(printer.processed)
        source.close()
    return 0


def check(args: Parsed) -> None:
    """`UsageError` for options that do not go together."""
    topics = [name for name in ("topic", "include", "whitelist") if args.text(name)]
    if len(topics) != 1:
        raise UsageError("exactly one of --topic and --include is needed")
    at_most_one(args, "consumer.config", "command-config")
    at_most_one(args, "consumer-property", "command-property")
    at_most_one(args, "property", "formatter-property")
    at_most_one(args, "from-beginning", "offset")
    at_most_one(args, "group", "partition")
    if args.has("partition") and not args.has("topic"):
        raise UsageError("--partition needs --topic")
    if args.has("offset"):
        if not args.has("partition"):
            raise UsageError("--offset needs --partition")
        parse_offset(args.text("offset") or "")


def parse_offset(text: str) -> int:
    from barnabas.cli.assigning import BEGINNING, END

    match text.lower():
        case "earliest":
            return BEGINNING
        case "latest":
            return END
        case digits if digits.isascii() and digits.isdigit() and int(digits) <= LONG_MAX:
            return int(digits)
    raise UsageError(f'--offset: "{text}" is not earliest, latest or a number from 0 up')


def group_of(args: Parsed, properties: dict[str, str]) -> str | None:
    """The group, by option or by property; two different ones are an error."""
    named = [name for name in (args.text("group"), properties.get("group.id")) if name]
    if len(set(named)) > 1:
        raise UsageError(f"--group: {named[0]} differs from the property group.id={named[1]}")
    if named and args.has("partition"):
        raise UsageError("--partition cannot be used with a group")
    return named[0] if named else None


def assignment(args: Parsed, properties: dict[str, str]) -> Assignment:
    from barnabas.cli.assigning import BEGINNING, END, Assignment
    from barnabas.client.topic_admin import INTERNAL_TOPICS

    reset = properties.get("auto.offset.reset")
    if args.has("from-beginning") and reset not in (None, "earliest"):
        raise UsageError(f"--from-beginning contradicts the property auto.offset.reset={reset}")
    offset_text = args.text("offset")
    if offset_text is not None:
        offset = parse_offset(offset_text)
    else:
        offset = BEGINNING if args.has("from-beginning") or reset == "earliest" else END
    skip_internal = properties.get("exclude.internal.topics", "true").lower() == "true"
    return Assignment(
        topic=args.text("topic"),
        pattern=include_pattern(args),
        skip=INTERNAL_TOPICS if skip_internal else frozenset(),
        partition=args.number("partition"),
        offset=offset,
    )


def include_pattern(args: Parsed) -> re.Pattern[str] | None:
    for name in ("include", "whitelist"):
        text = args.text(name)
        if text:
            try:
                return re.compile(text)
            except re.error as error:
                raise UsageError(
                    f'--{name}: "{text}" is not a regular expression: {error}'
                ) from None
    return None


def formatter_of(args: Parsed) -> Formatter:
    from barnabas.cli.deserializers import deserializer
    from barnabas.cli.formatters import formatter, layout_of

    properties = collect(args, files=["formatter-config"], pairs=["property", "formatter-property"])
    for part in ("key", "value"):
        name = args.text(f"{part}-deserializer")
        if name is not None:
            deserializer(f"--{part}-deserializer", name)
            properties[f"{part}.deserializer"] = name
    chosen = args.text("formatter") or DEFAULT_FORMATTER
    return formatter(chosen, layout_of(properties, warn), _log)


def _log(line: str) -> None:
    print(line, file=sys.stderr)


CONSUMER_DEFAULTS = {
    "group.id": "-",  # the library wants one; without --group nobody is ever told of it
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "latest",
    "fetch.queue.backoff.ms": "5",  # its default lets an empty queue wait for a second
    "fetch.wait.max.ms": "50",  # how long a partition waits that is assigned during a fetch
    "topic.metadata.refresh.interval.ms": "5000",
    "enable.partition.eof": "false",
}


def consumer_properties(
    args: Parsed, properties: dict[str, str], group: str | None
) -> dict[str, str]:
    """Java properties of the consumer, with what the options say."""
    result = dict(properties)
    if args.has("from-beginning"):
        result["auto.offset.reset"] = "earliest"
    level = args.text("isolation-level")
    if level is not None:
        result["isolation.level"] = level
    if group is None:
        result["enable.auto.commit"] = "false"
    else:
        result["group.id"] = group
    return result


def _source(
    consumer: Consumer, troubles: Troubles, wanted: Assignment, *, in_group: bool
) -> Source:
    from barnabas.cli.consuming import AllPartitions, GroupMember

    if in_group:
        return GroupMember(consumer=consumer, troubles=troubles, wanted=wanted)
    return AllPartitions(consumer=consumer, troubles=troubles, wanted=wanted, warn=warn)


COMMAND = Command(
    summary="Print the records of a topic as they arrive.",
    examples=(
        "--topic orders --from-beginning",
        "--topic orders --group billing",
        "--topic orders --partition 0 --offset 42 --max-messages 1",
        "--topic orders --property print.key=true --property print.timestamp=true",
        "--include 'orders.*' --from-beginning --timeout-ms 5000",
    ),
    options=OPTIONS,
    run=run,
    notes=("The number of records goes to stderr at the end, so that stdout has records alone.",),
)
