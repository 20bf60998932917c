"""`kafka-consumer-groups --reset-offsets`: find the new offsets, show them, set them.

All of them are found before the first one is set.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.common import warn
from barnabas.cli.consumer_groups_plan import (
    Place,
    Plan,
    export_lines,
    parse_datetime,
    parse_duration,
    parse_topics,
    place_name,
    read_plans,
    within_log,
)
from barnabas.cli.options import Parsed, UsageError

if TYPE_CHECKING:
    from barnabas.client.group_admin import GroupAdmin

NO_MEMBERS = frozenset({"Empty", "Dead"})
"""States of groups whose offsets may be set; `Dead` is one that does not exist yet."""
DRY_RUN_WARNING = (
    "WARN: No action will be performed as the --execute option is missing. "
    "Add --dry-run to say that this is meant."
)


def check_values(args: Parsed) -> None:
    """`UsageError` for values that cannot be read; no broker is needed to know."""
    parse_topics(args.texts("topic"))
    if args.has("to-datetime"):
        parse_datetime(args.text("to-datetime") or "")
    if args.has("by-duration"):
        parse_duration(args.text("by-duration") or "")
    if args.has("from-file"):
        _plans_from_file(args, args.texts("group"))


def reset(admin: GroupAdmin, args: Parsed, group_ids: Sequence[str]) -> int:
    from barnabas.cli.consumer_groups_rows import reset_text
    from barnabas.client.group_details import describe_exactly

    plans: dict[str, Plan] = {}
    status = 0
    finder = _Finder(admin, args)
    for group in describe_exactly(admin, group_ids):
        if group.state in NO_MEMBERS:
            plan = finder.plan(group.group_id)
        else:
            plan = None
            _say_error(
                f"Assignments can only be reset if the group '{group.group_id}' is inactive, "
                f"but the current state is {group.state}."
            )
        status = 1 if plan is None else status
        plans[group.group_id] = plan or {}
    if args.has("execute"):
        for group_id, plan in sorted(plans.items()):
            admin.commit(group_id, plan)
    if args.has("export"):
        lines = export_lines(plans, with_group=len(args.texts("group")) != 1)
        sys.stdout.write("".join(f"{line}\n" for line in lines) + "\n")
    else:
        sys.stdout.write(reset_text(plans))
    return status


class _Finder:
    """Finds the new offsets of groups; what is the same for all of them is asked for once."""

    def __init__(self, admin: GroupAdmin, args: Parsed) -> None:
        self._admin = admin
        self._args = args
        self._leaders = admin.leaders()
        self._named = self._named_places()
        self._from_file = _plans_from_file(args, args.texts("group"))

    def plan(self, group_id: str) -> Plan | None:
        """None, and an error said, if there is nothing to go by."""
        args = self._args
        if args.has("from-file"):
            wanted = self._from_file.get(group_id)
            if wanted is None:
                _say_error(f"No reset plan for group {group_id} found")
                return None
            self._check(wanted)
            return self._within_log(wanted)
        needs_committed = args.has("all-topics") or args.has("shift-by") or args.has("to-current")
        committed: Plan = {}
        if needs_committed:
            found = self._admin.committed([group_id])[group_id]
            committed = {place: each.offset for place, each in found.items()}
        places = list(committed) if args.has("all-topics") else self._named
        self._check(places)
        return self._offsets(places, committed)

    def _offsets(self, places: Sequence[Place], committed: Plan) -> Plan:
        args, admin = self._args, self._admin
        offset, shift = args.number("to-offset"), args.number("shift-by")
        if args.has("to-earliest"):
            return admin.start_offsets(places)
        if args.has("to-latest"):
            return admin.end_offsets(places)
        if args.has("to-current"):
            fresh = [place for place in places if place not in committed]
            kept = {place: committed[place] for place in places if place in committed}
            return kept | admin.end_offsets(fresh)
        if offset is not None:
            return self._within_log(dict.fromkeys(places, offset))
        if shift is not None:
            for place in sorted(places):
                if place not in committed:
                    raise CommandError(
                        f"Cannot shift offset for partition {place_name(place)} since there is no "
                        "current committed offset"
                    )
            return self._within_log({place: committed[place] + shift for place in places})
        return self._at_time(places, self._time_ms())

    def _time_ms(self) -> int:
        from barnabas.base.clock import SYSTEM_CLOCK

        text = self._args.text("to-datetime")
        if text is not None:
            return parse_datetime(text)
        return SYSTEM_CLOCK.now_ms() - parse_duration(self._args.text("by-duration") or "")

    def _at_time(self, places: Sequence[Place], time_ms: int) -> Plan:
        found = self._admin.offsets_at(places, time_ms)
        plan = {place: offset for place, offset in found.items() if offset is not None}
        later = sorted(place for place, offset in found.items() if offset is None)
        for topic, number in later:
            print(
                f"\nWarn: Partition {number} from topic {topic} is empty. "
                "Falling back to latest known offset.",
                file=sys.stderr,
            )
        return plan | self._admin.end_offsets(later)

    def _within_log(self, wanted: Plan) -> Plan:
        plan, warnings = within_log(
            wanted, self._admin.start_offsets(wanted), self._admin.end_offsets(wanted)
        )
        for text in warnings:
            warn(text)
        return plan

    def _named_places(self) -> list[Place]:
        scope = parse_topics(self._args.texts("topic"))
        known = {topic for topic, _ in self._leaders}
        unknown = [topic for topic in scope.topics if topic not in known]
        if unknown:
            raise CommandError(f'The topics "{",".join(unknown)}" do not exist')
        whole = [place for place in self._leaders if place[0] in set(scope.topics)]
        return sorted({*scope.places, *whole})

    def _check(self, places: Collection[Place]) -> None:
        unknown = [place for place in sorted(places) if place not in self._leaders]
        if unknown:
            raise CommandError(f'The partitions "{_names(unknown)}" do not exist')
        leaderless = [place for place in sorted(places) if self._leaders[place] is None]
        if leaderless:
            raise CommandError(f'The partitions "{_names(leaderless)}" have no leader')


def _plans_from_file(args: Parsed, group_ids: Sequence[str]) -> dict[str, Plan]:
    path = args.text("from-file")
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            return read_plans(file.read(), group_ids)
    except OSError as error:
        raise UsageError(f"--from-file: cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # bytes that are not text, too
        raise UsageError(f"--from-file: {path}: {error}") from None


def _names(places: Sequence[Place]) -> str:
    return ",".join(map(place_name, places))


def _say_error(text: str) -> None:
    print(f"\nError: {text}", file=sys.stderr)
