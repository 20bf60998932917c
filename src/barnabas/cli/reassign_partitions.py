"""`kafka-reassign-partitions`: move replicas between brokers, and between their log directories."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import client_properties, warn
from barnabas.cli.options import Parsed, required
from barnabas.cli.printing import print_lines, show
from barnabas.cli.reassign_partitions_options import OPTIONS, check

if TYPE_CHECKING:
    from barnabas.cli.reassign_partitions_plan import Plan
    from barnabas.client.brokers import Place
    from barnabas.client.replica_admin import Reassignment, ReplicaAdmin


def run(args: Parsed) -> int:
    act = prepare(check(args), args)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.replica_admin import ReplicaAdmin

    with ReplicaAdmin.connect(properties) as admin:
        return act(admin)


def prepare(action: str, args: Parsed) -> Callable[[ReplicaAdmin], int]:
    """What is to be done.  Files are read here, before any broker is asked."""
    match action:
        case "list":
            return lambda admin: _list(admin, args)
        case "generate":
            topics, brokers = read_topics(args)
            by_rack = not args.has("disable-rack-aware")
            return lambda admin: _generate(admin, topics, brokers, by_rack=by_rack)
    plan = read_plan(args, action)
    act = {"execute": _execute, "verify": _verify, "cancel": _cancel}[action]
    return lambda admin: act(admin, args, plan)


def read_topics(args: Parsed) -> tuple[list[str], list[int]]:
    """The topics to propose places for, and the brokers these may be on."""
    from barnabas.cli.json_files import read_json
    from barnabas.cli.reassign_partitions_plan import parse_brokers, parse_topics

    option = "topics-to-move-json-file"
    brokers = parse_brokers(required(args, "broker-list"))
    return parse_topics(read_json(option, required(args, option))), brokers


def read_plan(args: Parsed, action: str) -> Plan:
    from barnabas.cli.json_files import read_json
    from barnabas.cli.reassign_partitions_plan import checked, parse_plan

    option = "reassignment-json-file"
    plan = parse_plan(read_json(option, required(args, option)))
    return checked(plan) if action == "execute" else plan


def _generate(
    admin: ReplicaAdmin, topics: Sequence[str], brokers: Sequence[int], *, by_rack: bool
) -> int:
    from random import Random

    from barnabas.cli.reassign_partitions_directories import stored_directories
    from barnabas.cli.reassign_partitions_plan import propose
    from barnabas.cli.reassign_partitions_rows import proposal_lines

    current = _known_topics(admin, topics)
    there = [broker for broker in admin.cluster() if broker.node_id in brokers]
    for missing in sorted(set(brokers) - {broker.node_id for broker in there}):
        warn(f"there is no broker {missing}: nothing is proposed for it")
    proposed = propose(current, there, Random(), by_rack=by_rack)
    print_lines(proposal_lines(current, stored_directories(admin, current), proposed))
    return 0


def _known_topics(admin: ReplicaAdmin, topics: Collection[str]) -> dict[Place, tuple[int, ...]]:
    """The replicas of all partitions of these topics, all of which must exist."""
    current = admin.assignment(topics)
    missing = sorted(set(topics) - {topic for topic, _ in current})
    if missing:
        raise CommandError(f"Topic {missing[0]} not found.")
    return current


def _execute(admin: ReplicaAdmin, args: Parsed, plan: Plan) -> int:
    from barnabas.cli.reassign_partitions_directories import move_directories, stored_directories
    from barnabas.cli.reassign_partitions_plan import factor_changes
    from barnabas.cli.reassign_partitions_rows import (
        REFUSED,
        UNDER_WAY_ALREADY,
        refused_lines,
        rollback_lines,
        started_line,
    )

    under_way = admin.reassignments()
    if under_way and not args.has("additional"):
        return _failed([UNDER_WAY_ALREADY])
    current = _current_places(admin, plan)
    print_lines(rollback_lines(current, stored_directories(admin, current)))
    if args.has("disallow-replication-factor-change"):
        changed = factor_changes(plan.places, current, under_way)
        if changed:
            return _failed(refused_lines(REFUSED, changed))
    _throttle(admin, args, plan, under_way, current)
    refused = admin.reassign(plan.places)
    if refused:
        return _failed(refused_lines(REFUSED, refused))
    print_lines([started_line(plan.places)])
    if plan.directories:
        late = move_directories(admin, plan.directories, args)
        if late:
            return _failed([late])
    return _verify(admin, args, plan) if args.has("wait") else 0


def _current_places(admin: ReplicaAdmin, plan: Plan) -> dict[Place, tuple[int, ...]]:
    """Where the partitions of a plan are; brokers and partitions that it names must exist."""
    from barnabas.cli.places import partition_name

    known = {broker.node_id for broker in admin.cluster()}
    wanted = plan.places
    unknown = sorted({id_ for replicas in wanted.values() for id_ in replicas} - known)
    if unknown:
        raise CommandError(f"Unknown broker id {unknown[0]}")
    found = _known_topics(admin, {topic for topic, _ in wanted})
    missing = sorted(place for place in wanted if place not in found)
    if missing:
        raise CommandError(f"Unable to find partition: {', '.join(map(partition_name, missing))}")
    return {place: found[place] for place in wanted}


def _throttle(
    admin: ReplicaAdmin,
    args: Parsed,
    plan: Plan,
    under_way: Mapping[Place, Reassignment],
    current: Mapping[Place, Sequence[int]],
) -> None:
    from barnabas.cli.reassign_partitions_plan import moves
    from barnabas.cli.reassign_partitions_rows import MUST_VERIFY
    from barnabas.cli.reassign_partitions_throttles import throttle_brokers, throttle_directories

    between_brokers = args.number("throttle")
    between_directories = args.number("replica-alter-log-dirs-throttle")
    rates = [rate for rate in (between_brokers, between_directories) if rate is not None]
    if not any(rate >= 0 for rate in rates):
        return
    if not args.has("wait"):
        print_lines([MUST_VERIFY])
    if between_brokers is not None and between_brokers >= 0:
        throttle_brokers(admin, moves(under_way, plan.places, current), between_brokers)
        print_lines([f"The inter-broker throttle limit was set to {between_brokers} B/s"])
    if between_directories is not None and between_directories >= 0:
        throttle_directories(admin, plan.directories, between_directories)
        print_lines([f"The replica-alter-dir throttle limit was set to {between_directories} B/s"])


def _verify(admin: ReplicaAdmin, args: Parsed, plan: Plan) -> int:
    """Shows how far moves are.  After waiting for them, the status says whether all were made."""
    from barnabas.cli.reassign_partitions_directories import find_directories
    from barnabas.cli.reassign_partitions_rows import (
        directory_lines,
        partition_states,
        state_lines,
    )
    from barnabas.cli.reassign_partitions_wait import wait

    if args.has("wait"):
        sys.stdout.flush()  # what undoes the moves can be read while they are waited for
        wait(admin, plan)
    under_way = admin.reassignments()
    current = admin.assignment({topic for topic, _ in plan.places})
    states = partition_states(plan, under_way, current)
    print_lines(state_lines(states))
    directories = find_directories(admin, plan.directories)
    print_lines(directory_lines(directories))
    is_quiet = not under_way and all(each.is_done for each in directories)
    if is_quiet and not args.has("preserve-throttles"):
        _clear_throttles(admin, plan)
    if not args.has("wait"):
        return 0
    arrived = all(tuple(each.current) == tuple(each.target) for each in states)
    return 0 if arrived and all(each.current == each.target for each in directories) else 1


def _clear_throttles(admin: ReplicaAdmin, plan: Plan) -> None:
    """Of all brokers: which of them are a source of a move that is over is not known any more."""
    from barnabas.cli.reassign_partitions_rows import clearing_line
    from barnabas.cli.reassign_partitions_throttles import unthrottle_brokers, unthrottle_topics

    brokers = {broker.node_id for broker in admin.cluster()}
    brokers |= {id_ for replicas in plan.places.values() for id_ in replicas}
    print_lines([clearing_line("broker", sorted(brokers))])
    unthrottle_brokers(admin, brokers)
    topics = sorted({topic for topic, _ in plan.places})
    print_lines([clearing_line("topic", topics)])
    unthrottle_topics(admin, topics)


def _cancel(admin: ReplicaAdmin, args: Parsed, plan: Plan) -> int:
    from barnabas.cli.reassign_partitions_directories import find_directories, move_directories
    from barnabas.cli.reassign_partitions_rows import cancelled_line, refused_lines

    ended = sorted(place for place in admin.reassignments() if place in plan.places)
    if ended:
        refused = admin.reassign(dict.fromkeys(ended))
        if refused:
            plural = "" if len(refused) == 1 else "s"
            heading = f"Error cancelling partition reassignment{plural} for:"
            return _failed(refused_lines(heading, refused))
        print_lines([cancelled_line(ended)])
    else:
        print_lines(["None of the specified partition reassignments are active."])
    back = {
        each.replica: each.current
        for each in find_directories(admin, plan.directories)
        if each.future is not None and each.current is not None
    }
    if back:
        late = move_directories(admin, back, args)
        if late:
            return _failed([late])
    else:
        print_lines(["None of the specified partition moves are active."])
    if not args.has("preserve-throttles"):
        _clear_throttles(admin, plan)
    return 0


def _list(admin: ReplicaAdmin, args: Parsed) -> int:
    from barnabas.cli.reassign_partitions_rows import list_json, list_lines

    under_way = admin.reassignments()
    show(args, lines=lambda: list_lines(under_way), document=lambda: list_json(under_way))
    return 0


def _failed(lines: Sequence[str]) -> int:
    """What is said without a word in front, as there may be a line for each partition."""
    sys.stdout.flush()  # what was said before stands before it, on one terminal
    print("\n".join(lines), file=sys.stderr)
    return 1


COMMAND = Command(
    summary="Move replicas of partitions between brokers.",
    examples=(
        "--generate --topics-to-move-json-file topics.json --broker-list 1,2,3",
        "--execute --reassignment-json-file plan.json --throttle 50000000",
        "--execute --reassignment-json-file plan.json --wait",
        "--verify --reassignment-json-file plan.json",
        "--cancel --reassignment-json-file plan.json",
        "--list",
    ),
    options=OPTIONS,
    run=run,
    failure="Error:",
)
