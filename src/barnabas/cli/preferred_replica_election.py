"""`kafka-preferred-replica-election`: the older name of `kafka-leader-election`, of one kind."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, ZOOKEEPER, client_properties, older
from barnabas.cli.options import Option, Parsed

OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    older(COMMAND_CONFIG, "admin.config"),
    JSON,
    Option(
        name="path-to-json-file",
        value="FILE",
        help='The partitions, as {"partitions": [{"topic": "t", "partition": 0}]}. Default: all.',
    ),
)


def run(args: Parsed) -> int:
    from barnabas.cli.leader_election import elect, read_places

    path = args.text("path-to-json-file")
    places = None if path is None else read_places(path)
    properties = client_properties(args, files=["admin.config", "command-config"], pairs=[])
    return elect(properties, places, "preferred", args)


COMMAND = Command(
    summary="Elect the preferred leaders of partitions. kafka-leader-election does this and more.",
    examples=("", "--path-to-json-file partitions.json"),
    options=OPTIONS,
    run=run,
)
