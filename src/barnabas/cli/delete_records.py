"""`kafka-delete-records`: delete the records of partitions before an offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, client_properties, warn
from barnabas.cli.options import LONG_MAX, Option, Parsed, required
from barnabas.cli.places import duplicates, partition_name
from barnabas.cli.printing import print_lines, show

if TYPE_CHECKING:
    from barnabas.cli.json_files import Json
    from barnabas.client.errors import ClientError
    from barnabas.client.partition_admin import PartitionAdmin, Place

TIMEOUT_S = 30.0
END = -1

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    Option(
        name="offset-json-file",
        value="FILE",
        help="The new first offset of each partition, as "
        '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 3}]}; '
        "-1 deletes all records.",
    ),
)


def run(args: Parsed) -> int:
    from barnabas.cli.json_files import read_json

    option = "offset-json-file"
    offsets = parse_offsets(read_json(option, required(args, option)))
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.partition_admin import PartitionAdmin

    admin = PartitionAdmin.connect(properties, warn, timeout_s=TIMEOUT_S)
    leaders = admin.leaders()
    if not args.has("json"):
        print_lines(["Executing records delete operation"])
    outcome = delete(admin, offsets, leaders)
    show(args, lines=lambda: outcome_lines(outcome), document=lambda: outcome_json(outcome))
    return 0 if all(isinstance(each, int) for each in outcome.values()) else 1


def parse_offsets(document: Json) -> dict[Place, int]:
    listed = [
        (each.place(), each.field("offset").whole(LONG_MAX, least=END))
        for each in document.field("partitions").items()
    ]
    twice = ",".join(map(partition_name, duplicates(place for place, _ in listed)))
    if twice:
        raise CommandError(f"Offset json file contains duplicate topic partitions: {twice}")
    return dict(listed)


def delete(
    admin: PartitionAdmin, offsets: Mapping[Place, int], leaders: Mapping[Place, int | None]
) -> dict[Place, int | ClientError]:
    """Where each partition begins now, or what was in the way."""
    from barnabas.client.partition_admin import not_there, without_leader

    outcome: dict[Place, int | ClientError] = {}
    asked = {}
    for place, offset in offsets.items():
        if place not in leaders:
            outcome[place] = not_there()
        elif leaders[place] is None:
            outcome[place] = without_leader()
        else:
            asked[place] = offset
    if asked:
        outcome |= admin.delete_records(asked)
    return dict(sorted(outcome.items()))


def outcome_lines(outcome: Mapping[Place, int | ClientError]) -> list[str]:
    return [
        "Records delete operation completed:",
        *(
            f"partition: {partition_name(place)}\t"
            + (f"low_watermark: {each}" if isinstance(each, int) else f"error: {each}")
            for place, each in outcome.items()
        ),
    ]


def outcome_json(outcome: Mapping[Place, int | ClientError]) -> list[dict[str, object]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "low_watermark": each if isinstance(each, int) else None,
            "error": None if isinstance(each, int) else str(each),
        }
        for (topic, number), each in outcome.items()
    ]


COMMAND = Command(
    summary="Delete the records of partitions before an offset.",
    examples=("--offset-json-file offsets.json",),
    options=OPTIONS,
    run=run,
)
