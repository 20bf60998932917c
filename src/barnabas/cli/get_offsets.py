"""`kafka-get-offsets`: first, last and other offsets of partitions."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, client_properties, warn
from barnabas.cli.options import INT_MAX, LONG_MAX, Option, Parsed, UsageError, at_most_one
from barnabas.cli.places import partition_name
from barnabas.cli.printing import show

if TYPE_CHECKING:
    from barnabas.client.errors import ClientError
    from barnabas.client.partition_admin import PartitionAdmin, Place

TIMEOUT_S = 30.0
TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
}
SPECIAL = min(TIMES.values())
LIBRARY_KNOWS = -3
"""The last of the special times that librdkafka can ask for."""

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    Option(
        name="topic",
        value="NAME",
        help="Only this topic; a regular expression, or several with commas, may be given.",
    ),
    Option(name="partitions", value="NUMBER,...", help="Only these partitions of each topic."),
    Option(
        name="topic-partitions",
        value="TOPIC:RANGE,...",
        help="Only these partitions: t:2 is one, t:0-3 those from 0 to 2, t:5- those from 5, t:-3 "
        "those before 3, t all; topics are regular expressions, :0 means of every topic.",
    ),
    Option(
        name="time",
        value="TIME",
        help="Which offset: that of the first record that is not older than a timestamp in "
        "milliseconds; or -1 or latest, -2 or earliest, -3 or max-timestamp, -4 or "
        "earliest-local, -5 or latest-tiered. Default: latest.",
    ),
    Option(name="exclude-internal-topics", help="Leave out topics of Kafka itself."),
    *(
        Option(name=name, value="NUMBER", whole=(0, INT_MAX), help="Of older notes: no effect.")
        for name in ("offsets", "max-wait-ms")
    ),
)


def run(args: Parsed) -> int:
    from barnabas.cli.partition_filter import chosen, rules

    for option in ("topic", "partitions"):
        at_most_one(args, "topic-partitions", option)
    allowed = rules(
        topic=args.text("topic"),
        partitions=args.text("partitions"),
        topic_partitions=args.text("topic-partitions"),
    )
    when = parse_time(args.text("time") or "latest")
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.partition_admin import PartitionAdmin
    from barnabas.client.topic_admin import INTERNAL_TOPICS

    admin = PartitionAdmin.connect(properties, warn, timeout_s=TIMEOUT_S)
    leaders = admin.leaders()
    left_out = INTERNAL_TOPICS if args.has("exclude-internal-topics") else ()
    places = chosen((place for place in leaders if place[0] not in left_out), allowed)
    if not places:
        raise CommandError("Could not match any topic-partitions with the specified filters")
    found = find(admin, {place: leaders[place] for place in places}, when)
    offsets, skipped = told(places, found)
    show(
        args,
        lines=lambda: [f"{topic}:{number}:{offset}" for (topic, number), offset in offsets.items()],
        document=lambda: [
            {"topic": topic, "partition": number, "offset": offset}
            for (topic, number), offset in offsets.items()
        ],
    )
    sys.stdout.flush()  # what was found stands before what was not, on one terminal
    for place, error in skipped.items():
        name = partition_name(place)
        print(
            f"Skip getting offsets for topic-partition {name} due to error: {error}",
            file=sys.stderr,
        )
    return 1 if skipped else 0


def parse_time(text: str) -> int:
    if text in TIMES:
        return TIMES[text]
    try:
        when = int(text)
    except ValueError:
        when = SPECIAL - 1
    if not SPECIAL <= when <= LONG_MAX:
        listed = ", ".join(f"{number} or {name}" for name, number in TIMES.items())
        raise UsageError(f'--time: "{text}" is neither a timestamp in ms nor one of {listed}')
    return when


def find(
    admin: PartitionAdmin, leaders: Mapping[Place, int | None], when: int
) -> dict[Place, int | ClientError]:
    """The offset of each partition, -1 if it has none, or what was in the way."""
    from barnabas.client.partition_admin import without_leader

    led = {place: leader for place, leader in leaders.items() if leader is not None}
    found: dict[Place, int | ClientError] = {
        place: without_leader() for place in leaders if place not in led
    }
    if when >= LIBRARY_KNOWS:
        return found | admin.offsets(led, when)
    from barnabas.client.offset_details import special_offsets

    return found | special_offsets(admin.properties, led, when, timeout_s=TIMEOUT_S)


def told(
    places: Collection[Place], found: Mapping[Place, int | ClientError]
) -> tuple[dict[Place, int], dict[Place, ClientError]]:
    """What there is to print, and what was skipped; a partition without such an offset is neither.

    Pure.
    """
    offsets: dict[Place, int] = {}
    skipped: dict[Place, ClientError] = {}
    for place in places:
        each = found[place]
        if not isinstance(each, int):
            skipped[place] = each
        elif each >= 0:
            offsets[place] = each
    return offsets, skipped


COMMAND = Command(
    summary="Print first, last and other offsets of partitions, as topic:partition:offset.",
    examples=(
        "--topic orders",
        "--topic orders --time earliest",
        "--topic orders --partitions 0,1 --time 1700000000000",
        "--topic-partitions 'orders:0-3,payments.*'",
        "--exclude-internal-topics",
    ),
    options=OPTIONS,
    run=run,
    failure="Error occurred:",
)
