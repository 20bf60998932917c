"""`kafka-log-dirs`: what lies in the log directories of brokers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, client_properties
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.cli.places import broker_ids
from barnabas.cli.printing import print_json, print_lines

if TYPE_CHECKING:
    from barnabas.client.replica_admin import LogDirectory

OPTIONS = (
    replace(BOOTSTRAP, aliases=()),  # --broker-list are ids here, not addresses
    COMMAND_CONFIG,
    JSON,
    Option(name="describe", help="Show log directories and the replicas in them, as JSON."),
    Option(name="broker-list", value="ID,...", help="Only these brokers. Default: all."),
    Option(name="topic-list", value="NAME,...", help="Only these topics. Default: all."),
)


def run(args: Parsed) -> int:
    if not args.has("describe"):
        raise UsageError("--describe is missing")
    listed = args.text("broker-list")
    brokers = set(broker_ids(listed)) if listed else set()
    topics = {part for part in (args.text("topic-list") or "").split(",") if part}
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.replica_admin import ReplicaAdmin

    with ReplicaAdmin.connect(properties) as admin:
        known = {broker.node_id for broker in admin.cluster()}
        asked = choose(brokers, known)
        if not args.has("json"):
            print_lines(["Querying brokers for log directories information"])
        found = {broker: admin.log_directories(broker) for broker in asked}
    if args.has("json"):
        print_json(document(found, topics))
        return 0
    print_lines(
        [
            f"Received log directory information from brokers {','.join(map(str, asked))}",
            one_line(document(found, topics)),
        ]
    )
    return 0


def choose(wanted: Collection[int], known: Collection[int]) -> list[int]:
    missing = ",".join(map(str, sorted(set(wanted) - set(known))))
    if missing:
        there = ",".join(map(str, sorted(known)))
        raise CommandError(
            f"ERROR: The given brokers do not exist from --broker-list: {missing}. "
            f"Current existent brokers: {there}"
        )
    return sorted(wanted or known)


def document(
    found: Mapping[int, Sequence[LogDirectory]], topics: Collection[str]
) -> dict[str, Any]:
    """With the names of Apache Kafka's tool, whose output programs read; all topics if none are
    named.  Pure.
    """
    return {
        "brokers": [
            {"broker": broker, "logDirs": [_directory(each, topics) for each in directories]}
            for broker, directories in sorted(found.items())
        ],
        "version": 1,
    }


def _directory(directory: LogDirectory, topics: Collection[str]) -> dict[str, Any]:
    replicas = sorted(directory.replicas, key=lambda each: (each.topic, each.partition))
    return {
        "partitions": [
            {
                "partition": f"{each.topic}-{each.partition}",
                "size": each.size,
                "offsetLag": each.offset_lag,
                "isFuture": each.is_future,
            }
            for each in replicas
            if not topics or each.topic in topics
        ],
        "error": directory.error,
        "logDir": directory.path,
    }


def one_line(value: Mapping[str, Any]) -> str:
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


COMMAND = Command(
    summary="Show what lies in the log directories of brokers.",
    examples=(
        "--describe",
        "--describe --broker-list 1,2",
        "--describe --topic-list orders,payments",
    ),
    options=OPTIONS,
    run=run,
)
