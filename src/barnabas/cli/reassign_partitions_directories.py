"""Moves between the log directories of a broker: where replicas are, and having them moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.printing import print_lines
from barnabas.cli.reassign_partitions_options import DEFAULT_TIMEOUT_MS
from barnabas.cli.reassign_partitions_rows import (
    DirectoryState,
    directory_states,
    late_directories_line,
    replica_name,
    started_directory_lines,
)
from barnabas.client.errors import ClientError
from barnabas.client.patience import Patience

if TYPE_CHECKING:
    from barnabas.cli.options import Parsed
    from barnabas.client.brokers import Place
    from barnabas.client.replica_admin import Replica, ReplicaAdmin

NOT_THERE_YET = "REPLICA_NOT_AVAILABLE"
"""The replica is still to come to the broker, which remembers where to put it then."""


def find_directories(admin: ReplicaAdmin, wanted: Mapping[Replica, str]) -> list[DirectoryState]:
    """Where the replicas are that were to be moved to certain directories."""
    found = {
        broker: admin.log_directories(
            broker, [(topic, number) for topic, number, at in wanted if at == broker]
        )
        for broker in sorted({broker for _, _, broker in wanted})
    }
    return directory_states(wanted, found)


def stored_directories(
    admin: ReplicaAdmin, assignment: Mapping[Place, Sequence[int]]
) -> dict[Replica, str]:
    """The log directories of replicas, as far as their brokers are there to tell."""
    return {replica: path for replica, (path, _) in stored(admin, assignment).items()}


def stored(
    admin: ReplicaAdmin, assignment: Mapping[Place, Sequence[int]]
) -> dict[Replica, tuple[str, int]]:
    """Log directory and size of replicas, as far as their brokers are there to tell."""
    found: dict[Replica, tuple[str, int]] = {}
    for broker in sorted({id_ for replicas in assignment.values() for id_ in replicas}):
        places = [place for place, replicas in assignment.items() if broker in replicas]
        try:
            directories = admin.log_directories(broker, places)
        except ClientError:
            admin.forget(broker)
            continue
        found |= {
            (each.topic, each.partition, broker): (directory.path, each.size)
            for directory in directories
            for each in directory.replicas
            if not each.is_future
        }
    return found


def move_directories(
    admin: ReplicaAdmin, wanted: Mapping[Replica, str], args: Parsed
) -> str | None:
    """Has replicas moved; tries again for those that are not there yet, until `--timeout`.

    The line that says which could not be started; None if all were.
    """
    timeout_ms = args.number("timeout")
    patience = Patience(seconds=(DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms) / 1000)
    deadline = patience.deadline()
    pending = dict(wanted)
    tried = 0
    while True:
        started = _start(admin, pending)
        print_lines(started_directory_lines(started))
        pending = {replica: path for replica, path in pending.items() if replica not in started}
        if not pending:
            return None
        if not patience.wait(tried, deadline):
            return late_directories_line(pending)
        tried += 1


def _start(admin: ReplicaAdmin, wanted: Mapping[Replica, str]) -> dict[Replica, str]:
    """Those that are on their way."""
    started = {}
    for replica, error in admin.move_to_directories(wanted).items():
        if error is None:
            started[replica] = wanted[replica]
        elif error.name != NOT_THERE_YET:
            raise CommandError(f"Failed to alter dir for {replica_name(replica)}: {error}")
    return started
