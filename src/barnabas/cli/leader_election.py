"""`kafka-leader-election`: elect the preferred leaders of partitions, or unclean ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    ZOOKEEPER,
    client_properties,
    older,
    warn,
)
from barnabas.cli.options import INT_MAX, Option, Parsed, UsageError, required
from barnabas.cli.places import duplicates, partition_name
from barnabas.cli.printing import show

if TYPE_CHECKING:
    from barnabas.cli.json_files import Json
    from barnabas.client.errors import ClientError
    from barnabas.client.partition_admin import Place

TIMEOUT_S = 30.0
KINDS = ("preferred", "unclean")
SCOPES = ("topic", "all-topic-partitions", "path-to-json-file")

OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    older(COMMAND_CONFIG, "admin.config"),
    JSON,
    Option(
        name="election-type",
        value="TYPE",
        choices=KINDS,
        any_case=True,
        help="preferred: the first replica of a partition is to lead it, if it is in sync. "
        "unclean: a partition without a leader gets one that may lack records.",
    ),
    Option(name="topic", value="NAME", help="With --partition: the topic."),
    Option(
        name="partition",
        value="NUMBER",
        whole=(0, INT_MAX),
        help="With --topic: the partition.",
    ),
    Option(
        name="path-to-json-file",
        value="FILE",
        help='The partitions, as {"partitions": [{"topic": "t", "partition": 0}]}.',
    ),
    Option(
        name="all-topic-partitions", help="All partitions for which such an election is needed."
    ),
)


def run(args: Parsed) -> int:
    kind, places = check(args)
    properties = client_properties(args, files=["admin.config", "command-config"], pairs=[])
    return elect(properties, places, kind, args)


def check(args: Parsed) -> tuple[str, list[Place] | None]:
    """The kind of election, and the partitions: None for all."""
    kind = required(args, "election-type").lower()
    scopes = [scope for scope in SCOPES if args.has(scope)]
    if len(scopes) != 1:
        listed = ", ".join(f"--{scope}" for scope in SCOPES)
        raise UsageError(f"exactly one of these is needed: {listed}")
    if args.has("topic") != args.has("partition"):
        missing, given = ("partition", "topic") if args.has("topic") else ("topic", "partition")
        raise UsageError(f"--{given} needs --{missing}")
    number = args.number("partition")
    if number is not None:
        return kind, [(required(args, "topic"), number)]
    path = args.text("path-to-json-file")
    return kind, None if path is None else read_places(path)


def read_places(path: str) -> list[Place]:
    from barnabas.cli.json_files import read_json

    return parse_places(read_json("path-to-json-file", path))


def parse_places(document: Json) -> list[Place]:
    places = [each.place() for each in document.field("partitions").items()]
    twice = ", ".join(map(partition_name, duplicates(places)))
    if twice:
        raise CommandError(f"Replica election data contains duplicate partitions: [{twice}]")
    return places


def elect(
    properties: Mapping[str, str], places: Collection[Place] | None, kind: str, args: Parsed
) -> int:
    """Has the leaders elected and says what came of it; fails if a partition did."""
    from barnabas.client.partition_admin import PartitionAdmin

    admin = PartitionAdmin.connect(properties, warn, timeout_s=TIMEOUT_S)
    outcome = admin.elect(places, unclean=kind == "unclean")
    show(
        args,
        lines=lambda: outcome_lines(outcome, kind),
        document=lambda: outcome_json(outcome),
    )
    failed = sum(is_failure(error) for error in outcome.values())
    if failed:
        raise CommandError(f"{failed} replica(s) could not be elected")
    return 0


def is_failure(error: ClientError | None) -> bool:
    from barnabas.client.partition_admin import NOT_NEEDED

    return error is not None and getattr(error, "name", "") != NOT_NEEDED


def outcome_lines(outcome: Mapping[Place, ClientError | None], kind: str) -> list[str]:
    elected = [partition_name(place) for place, error in sorted(outcome.items()) if error is None]
    failed = {place: error for place, error in sorted(outcome.items()) if is_failure(error)}
    as_it_was = [
        partition_name(place)
        for place, error in sorted(outcome.items())
        if error is not None and place not in failed
    ]
    lines = []
    if elected:
        lines.append(
            f"Successfully completed leader election ({kind.upper()}) for partitions "
            f"{', '.join(elected)}"
        )
    if as_it_was:
        lines.append(f"Valid replica already elected for partitions {', '.join(as_it_was)}")
    for place, error in failed.items():
        name = partition_name(place)
        lines.append(
            f"Error completing leader election ({kind.upper()}) for partition: {name}: {error}"
        )
    return lines


def outcome_json(outcome: Mapping[Place, ClientError | None]) -> list[dict[str, object]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "elected": error is None,
            "error": str(error) if is_failure(error) else None,
        }
        for (topic, number), error in sorted(outcome.items())
    ]


COMMAND = Command(
    summary="Elect leaders of partitions: the preferred ones, or unclean ones.",
    examples=(
        "--election-type preferred --all-topic-partitions",
        "--election-type preferred --topic orders --partition 0",
        "--election-type unclean --topic orders --partition 0",
        "--election-type preferred --path-to-json-file partitions.json",
    ),
    options=OPTIONS,
    run=run,
)
