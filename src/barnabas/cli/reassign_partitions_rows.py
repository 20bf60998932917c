"""What `kafka-reassign-partitions` shows: states of moves, and their lines.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.places import partition_name
from barnabas.cli.reassign_partitions_plan import ANY_DIRECTORY

if TYPE_CHECKING:
    from barnabas.cli.reassign_partitions_plan import Plan
    from barnabas.client.brokers import Place
    from barnabas.client.replica_admin import LogDirectory, Reassignment, Replica

MUST_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)
REFUSED = "Error reassigning partition(s):"
UNDER_WAY_ALREADY = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to "
    "override this and create a new partition assignment in addition to the existing one. The "
    "--additional flag can also be used to change the throttle by resubmitting the current "
    "reassignment."
)


def plan_json(
    assignment: Mapping[Place, Sequence[int]], directories: Mapping[Replica, str] | None = None
) -> str:
    """An assignment as `--reassignment-json-file` takes it, on one line; with log directories, as
    far as they are known.
    """
    import json

    known = {} if directories is None else directories
    partitions = [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(replicas),
            "log_dirs": [known.get((topic, number, each), ANY_DIRECTORY) for each in replicas],
        }
        for (topic, number), replicas in sorted(assignment.items())
    ]
    document = {"version": 1, "partitions": partitions}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def proposal_lines(
    current: Mapping[Place, Sequence[int]],
    directories: Mapping[Replica, str],
    proposed: Mapping[Place, Sequence[int]],
) -> list[str]:
    return [
        "Current partition replica assignment",
        plan_json(current, directories),
        "",
        "Proposed partition reassignment configuration",
        plan_json(proposed),
    ]


def rollback_lines(
    current: Mapping[Place, Sequence[int]], directories: Mapping[Replica, str]
) -> list[str]:
    """What undoes the moves that are about to begin."""
    return [
        "Current partition replica assignment",
        "",
        plan_json(current, directories),
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """How far one move of a plan is."""

    place: Place
    current: Sequence[int]
    """Empty if there is no such partition."""
    target: Sequence[int]
    is_done: bool


def partition_states(
    plan: Plan,
    reassignments: Collection[Place],
    current: Mapping[Place, Sequence[int]],
) -> list[PartitionState]:
    return [
        PartitionState(
            place=place,
            current=tuple(current.get(place, ())),
            target=target,
            is_done=place not in reassignments,
        )
        for place, target in sorted(plan.places.items())
    ]


def state_lines(states: Iterable[PartitionState]) -> list[str]:
    return ["Status of partition reassignment:", *map(_state_line, states)]


def _state_line(state: PartitionState) -> str:
    partition = partition_name(state.place)
    if not state.is_done:
        return f"Reassignment of partition {partition} is still in progress."
    if tuple(state.current) == tuple(state.target):
        return f"Reassignment of partition {partition} is completed."
    return (
        f"There is no active reassignment of partition {partition}, but replica set is "
        f"{_joined(state.current)} rather than {_joined(state.target)}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryState:
    """Where a replica is that was to be moved to a certain log directory of its broker."""

    replica: Replica
    target: str
    current: str | None
    """None if it is in no directory that can be used."""
    future: str | None
    """Where a copy is being made, if one is."""

    @property
    def is_done(self) -> bool:
        """Nothing is being copied, whether or not the replica is where it should be."""
        return self.future is None


def directory_states(
    wanted: Mapping[Replica, str], found: Mapping[int, Sequence[LogDirectory]]
) -> list[DirectoryState]:
    """By broker, topic and partition; `found` are the log directories of each broker."""
    where: dict[tuple[Replica, bool], str] = {}
    for broker, directories in found.items():
        for directory in directories:
            for each in directory.replicas:
                where[(each.topic, each.partition, broker), each.is_future] = directory.path
    return [
        DirectoryState(
            replica=replica,
            target=wanted[replica],
            current=where.get((replica, False)),
            future=where.get((replica, True)),
        )
        for replica in sorted(wanted, key=by_broker)
    ]


def directory_lines(states: Sequence[DirectoryState]) -> list[str]:
    """One empty line if nothing was to be moved between directories."""
    return [_directory_line(state) for state in states] or [""]


def _directory_line(state: DirectoryState) -> str:
    topic, number, broker = state.replica
    partition = f"Partition {topic}-{number}"
    if state.current is None:
        return (
            f"{partition} is not found in any live log dir on broker {broker}. "
            "There is likely an offline log directory on the broker."
        )
    if state.future is None:
        if state.current == state.target:
            return f"Reassignment of replica {replica_name(state.replica)} completed successfully."
        return (
            f"{partition} on broker {broker} is not being moved from log dir {state.current} to "
            f"{state.target}."
        )
    if state.future == state.target:
        return f"Reassignment of replica {replica_name(state.replica)} is still in progress."
    return (
        f"{partition} on broker {broker} is being moved to log dir {state.future} instead of "
        f"{state.target}."
    )


def replica_name(replica: Replica) -> str:
    topic, number, broker = replica
    return f"{topic}-{number}-{broker}"


def by_broker(replica: Replica) -> tuple[int, str, int]:
    """The order in which replicas are listed."""
    topic, number, broker = replica
    return broker, topic, number


def started_line(places: Collection[Place]) -> str:
    return f"Successfully started partition reassignment{_plural(places)} for {_named(places)}"


def cancelled_line(places: Collection[Place]) -> str:
    return f"Successfully cancelled partition reassignment{_plural(places)} for: {_named(places)}"


def refused_lines(heading: str, errors: Mapping[Place, object]) -> list[str]:
    return [
        heading,
        *(f"{partition_name(place)}: {error}" for place, error in sorted(errors.items())),
    ]


def started_directory_lines(started: Mapping[Replica, str]) -> list[str]:
    """With the blank at the end that Apache Kafka's lines have."""
    return [
        f"Successfully started moving log directory to {started[replica]} for replica "
        f"{replica[0]}-{replica[1]} with broker {replica[2]} "
        for replica in sorted(started, key=by_broker)
    ]


def late_directories_line(pending: Collection[Replica]) -> str:
    listed = ",".join(map(replica_name, sorted(pending, key=by_broker)))
    return f"Timed out before log directory move{_plural(pending)} could be started for: {listed}"


def clearing_line(what: str, names: Sequence[object]) -> str:
    """`what` is "broker" or "topic"."""
    return f"Clearing {what}-level throttles on {what}{_plural(names)} {_joined(names)}"


def list_lines(reassignments: Mapping[Place, Reassignment]) -> list[str]:
    if not reassignments:
        return ["No partition reassignments found."]
    lines = ["Current partition reassignments:"]
    for place, each in sorted(reassignments.items()):
        line = f"{partition_name(place)}: replicas: {_joined(each.replicas)}."
        if each.adding:
            line += f" adding: {_joined(each.adding)}."
        if each.removing:
            line += f" removing: {_joined(each.removing)}."
        lines.append(line)
    return lines


def list_json(reassignments: Mapping[Place, Reassignment]) -> list[dict[str, Any]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(each.replicas),
            "adding_replicas": list(each.adding),
            "removing_replicas": list(each.removing),
        }
        for (topic, number), each in sorted(reassignments.items())
    ]


def _plural(of: Collection[object]) -> str:
    return "" if len(of) == 1 else "s"


def _named(places: Collection[Place]) -> str:
    return ",".join(partition_name(place) for place in sorted(places))


def _joined(ids: Iterable[object]) -> str:
    return ",".join(map(str, ids))
