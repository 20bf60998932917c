"""`kafka-metadata-quorum`: who controls the cluster, and who follows how closely."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.common import (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    client_properties,
)
from barnabas.cli.options import (
    Option,
    Parsed,
    UsageError,
    at_most_one,
    command_of,
)
from barnabas.cli.printing import show

COMMANDS = ("describe",)
OPTIONS = (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    Option(name="status", help="With describe: who leads, since when, and how far others are."),
    Option(name="replication", help="With describe: each node that has the metadata, and its lag."),
    Option(
        name="human-readable", help="With --replication: times as how long ago, not as numbers."
    ),
)


def run(args: Parsed) -> int:
    view = check(args)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.base.clock import SYSTEM_CLOCK
    from barnabas.cli.metadata_quorum_rows import (
        replication_json,
        replication_lines,
        status_json,
        status_lines,
    )
    from barnabas.client.cluster_admin import ClusterAdmin

    with ClusterAdmin.connect(properties) as admin:
        quorum = admin.quorum()
        if view == "status":
            cluster_id = admin.view().cluster_id
            show(
                args,
                lines=lambda: status_lines(cluster_id, quorum),
                document=lambda: status_json(cluster_id, quorum),
            )
        else:
            now_ms = SYSTEM_CLOCK.now_ms() if args.has("human-readable") else None
            show(
                args,
                lines=lambda: replication_lines(quorum, now_ms),
                document=lambda: replication_json(quorum),
            )
    return 0


def check(args: Parsed) -> str:
    """The view asked for; `UsageError` for options that do not go together."""
    command_of(args, COMMANDS)
    view = at_most_one(args, "status", "replication")
    if view is None:
        raise UsageError("describe needs --status or --replication")
    if view == "status" and args.has("human-readable"):
        raise UsageError("--human-readable needs --replication")
    return view


COMMAND = Command(
    summary="Show who controls the cluster.",
    examples=("describe --status", "describe --replication --human-readable"),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=COMMANDS,
)
