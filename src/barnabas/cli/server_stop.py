"""`kafka-server-stop`: tell brokers of this machine to leave, and wait until they have."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence

from barnabas.cli.command import Command, CommandError
from barnabas.cli.options import INT_MAX, Option, Parsed, UsageError
from barnabas.cli.processes import Server, own_processes, servers_among, without_descendants

NONE = "No kafka server to stop"
DEFAULT_TIMEOUT_S = 120
ROLES = ("broker", "controller")


def run(args: Parsed) -> int:
    check(args)
    processes = own_processes()
    servers = servers_among(processes)
    chosen = choose(
        servers,
        file=os.path.realpath(args.words[0]) if args.words else None,
        node_id=args.text("node-id"),
        role=args.text("process-role"),
    )
    if not chosen:
        print(f"{NONE}{_which(args)}", file=sys.stderr)
        return 1
    kept = without_descendants(chosen, {each.pid: each.parent for each in processes})
    stop(kept, timeout_s=args.number("timeout") or DEFAULT_TIMEOUT_S)
    return 0


def check(args: Parsed) -> None:
    if args.words and not os.path.exists(args.words[0]):
        raise UsageError(f"there is no file {args.words[0]}")


def choose(
    servers: Sequence[Server],
    *,
    file: str | None = None,
    node_id: str | None = None,
    role: str | None = None,
) -> list[Server]:
    """Those that fit all that was said; of a cluster that one command keeps, a node by its id."""
    return [
        server
        for server in servers
        if (file is None or server.file == file)
        and (node_id is None or (server.node_id == node_id and not server.is_cluster))
        and (role is None or (role in server.roles and not server.is_cluster))
    ]


def _which(args: Parsed) -> str:
    said = [
        f"{text} {value}"
        for text, value in (
            ("with the file", args.words[0] if args.words else None),
            ("with the id", args.text("node-id")),
            ("that is a", args.text("process-role")),
        )
        if value is not None
    ]
    return f": none runs {' and '.join(said)}" if said else ""


def stop(servers: Sequence[Server], *, timeout_s: float) -> None:
    """SIGTERM to each, at once; then all are waited for, in whatever order they end."""
    waiting = {}
    poll = select.poll()
    try:
        for server in servers:
            try:
                handle = os.pidfd_open(server.pid)
            except ProcessLookupError:
                continue  # it has ended by itself
            waiting[handle] = server
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            poll.register(handle, select.POLLIN)
        give_up = time.monotonic() + timeout_s
        while waiting:
            ended = poll.poll(max(0.0, give_up - time.monotonic()) * 1000)
            if not ended:
                left = ", ".join(str(server) for server in waiting.values())
                raise CommandError(f"not stopped within {timeout_s:g} s: {left}")
            for handle, _ in ended:
                poll.unregister(handle)
                os.close(handle)
                print(f"Stopped {waiting.pop(handle)}")
    finally:
        for handle in waiting:
            os.close(handle)


COMMAND = Command(
    summary="Stop brokers and controllers of this machine cleanly, and wait until they have ended.",
    examples=(
        "",
        "server.properties",
        "--node-id 2",
        "--process-role controller",
    ),
    options=(
        Option(
            name="node-id", value="ID", whole=(0, INT_MAX), help="Only the node with this node.id."
        ),
        Option(
            name="process-role",
            value="ROLE",
            choices=ROLES,
            help=f"Only nodes with this role: {', '.join(ROLES)}.",
        ),
        Option(
            name="timeout",
            value="SECONDS",
            whole=(1, INT_MAX // 1000),
            help=f"How long to wait for the end. Default: {DEFAULT_TIMEOUT_S}.",
        ),
    ),
    words=(0, 1),
    words_are="files",
    run=run,
    notes=(
        (
            "Without arguments all that this user has started are stopped. A properties file means "
            "the node that was started with it. Each is sent SIGTERM, upon which a broker hands "
            "over what it leads before it ends."
        ),
    ),
)
