"""`kafka-e2e-latency`: the time from sending a record until it is received."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, raise_on_sigterm
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, client_properties, named_words, warn
from barnabas.cli.options import INT_MAX, Option, Parsed, required

if TYPE_CHECKING:
    from barnabas.cli.perf_round_trips import OutRecord, RoundTrips

ACKS = ("1", "all")
WORDS = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
"""What plain words stand for, in their order; a properties file may follow."""
EVERY = 1000

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    Option(name="topic", value="NAME", help="The topic to use; created if there is none."),
    Option(
        name="num-records",
        value="COUNT",
        whole=(1, INT_MAX),
        help="How many records to send, one after the other.",
    ),
    Option(
        name="producer-acks",
        value="WHO",
        choices=ACKS,
        help="Who must have a record before it counts as sent: the leader (1), or all in-sync "
        "replicas (all).",
    ),
    Option(name="record-size", value="BYTES", whole=(0, INT_MAX), help="The size of each value."),
    Option(
        name="record-key-size",
        value="BYTES",
        whole=(0, INT_MAX),
        help="The size of each key. Default: no key.",
    ),
    Option(
        name="num-headers",
        value="COUNT",
        whole=(0, INT_MAX),
        help="How many headers each record has. Default: 0.",
    ),
    Option(
        name="record-header-key-size",
        value="BYTES",
        whole=(0, INT_MAX),
        help="The size of the key of each header. Default: 0.",
    ),
    Option(
        name="record-header-size",
        value="BYTES",
        whole=(-1, INT_MAX),
        help="The size of the value of each header; -1 for null. Default: 0.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What each record looks like."""

    value_bytes: int
    key_bytes: int | None = None
    headers: int = 0
    header_key_bytes: int = 0
    header_value_bytes: int | None = 0


def run(args: Parsed) -> int:
    args = named(args)
    shape = shape_of(args)
    topic = required(args, "topic")
    count = args.number("num-records")
    acks = required(args, "producer-acks")
    assert count is not None, "checked before"
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.cli.perf_common import Interrupts
    from barnabas.cli.perf_round_trips import RoundTrips

    raise_on_sigterm()
    trips = RoundTrips.open(properties, topic=topic, acks=acks, warn=warn)
    try:
        with Interrupts() as interrupts:
            trips.check = interrupts.check
            measure(trips, shape, count)
    finally:
        trips.close()
    return 0


def named(args: Parsed) -> Parsed:
    """What was asked for, whether by options or by words."""
    if args.words:
        return named_words(args, WORDS, "command-config")
    for name in WORDS[1:]:
        required(args, name)
    return args


def shape_of(args: Parsed) -> Shape:
    header_value = args.number("record-header-size")
    return Shape(
        value_bytes=args.number("record-size") or 0,
        key_bytes=args.number("record-key-size"),
        headers=args.number("num-headers") or 0,
        header_key_bytes=args.number("record-header-key-size") or 0,
        header_value_bytes=None if header_value == -1 else header_value or 0,
    )


def measure(trips: RoundTrips, shape: Shape, count: int) -> None:
    """Sends records one by one, each when the one before has come back."""
    from barnabas.cli.deserializers import java_double
    from barnabas.cli.perf_rows import latency_lines
    from barnabas.cli.printing import print_lines
    from barnabas.cli.progress import Progress

    chance = random.Random(0)
    latencies_ns: list[int] = []
    with Progress("measuring", total=count) as progress:
        for number in range(count):
            elapsed_ns = trips.trip(record(shape, chance))
            if number % EVERY == 0:
                progress.clear()
                print_lines([f"{number}\t{java_double(elapsed_ns / 10**6)}"])
                sys.stdout.flush()
            latencies_ns.append(elapsed_ns)
            progress.at(number + 1)
    print_lines(latency_lines(latencies_ns))


def record(shape: Shape, chance: random.Random) -> OutRecord:
    """Of the wanted sizes; what stands in it differs from record to record."""
    from barnabas.cli.perf_payloads import random_letters
    from barnabas.cli.perf_round_trips import OutRecord

    header_key = random_letters(chance, shape.header_key_bytes).decode()
    return OutRecord(
        value=random_letters(chance, shape.value_bytes),
        key=None if shape.key_bytes is None else random_letters(chance, shape.key_bytes),
        headers=[
            (
                header_key,
                None
                if shape.header_value_bytes is None
                else random_letters(chance, shape.header_value_bytes),
            )
            for _ in range(shape.headers)
        ],
    )


COMMAND = Command(
    summary="Measure the time from sending a record until it is received.",
    examples=(
        "--topic orders --num-records 10000 --producer-acks 1 --record-size 100",
        "localhost:9092 orders 10000 all 100",
        "localhost:9092 orders 10000 1 100 client.properties",
    ),
    options=OPTIONS,
    run=run,
    words=(0, len(WORDS) + 1),
    notes=(
        (
            "Plain words, as in older notes: brokers, topic, number of records, acks, size of "
            "values, and maybe a properties file. Nobody else should write to the topic meanwhile."
        ),
    ),
)
