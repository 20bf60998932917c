"""`kafka-consumer-groups`: list, describe and delete groups, and move their offsets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import client_properties, warn
from barnabas.cli.consumer_groups_options import OPTIONS, STATES, TYPES, check, chosen, timeout_s
from barnabas.cli.options import Parsed, required
from barnabas.cli.printing import print_json, show

if TYPE_CHECKING:
    from barnabas.cli.consumer_groups_plan import Place
    from barnabas.cli.consumer_groups_rows import OffsetRow
    from barnabas.client.errors import RefusedError
    from barnabas.client.group_admin import Group, GroupAdmin


def run(args: Parsed) -> int:
    from barnabas.client.errors import ClientError

    action = check(args)
    if action == "validate-regex":
        return _validate_regex(required(args, "validate-regex"))
    properties = client_properties(args, files=["command-config"], pairs=[])
    try:
        return _run(action, args, properties)
    except (CommandError, ClientError) as error:
        if isinstance(error, ClientError) and error.before_any_answer:
            raise
        raise CommandError(f"Executing consumer group command failed due to {error}") from None


def _run(action: str, args: Parsed, properties: dict[str, str]) -> int:
    from barnabas.cli.consumer_groups_reset import DRY_RUN_WARNING, reset
    from barnabas.client.group_admin import GroupAdmin

    if action == "reset-offsets" and not args.has("dry-run") and not args.has("execute"):
        print(DRY_RUN_WARNING, file=sys.stderr)
    admin = GroupAdmin.connect(properties, warn, timeout_s=timeout_s(args))
    match action:
        case "list":
            return _list(admin, args)
        case "describe":
            return _describe(admin, args, _group_ids(admin, args))
        case "delete":
            return _delete(admin, _group_ids(admin, args))
        case "reset-offsets":
            return reset(admin, args, _group_ids(admin, args))
        case _:
            return _delete_offsets(admin, args)


def _validate_regex(text: str) -> int:
    from barnabas.coordinator.group.regex import InvalidPatternError, compile_pattern

    try:
        compile_pattern(text)
    except InvalidPatternError as error:
        print(f"The regular expression `{text}` is invalid: {error}.")
        return 1
    print(f"The regular expression `{text}` is valid.")
    return 0


def _group_ids(admin: GroupAdmin, args: Parsed) -> list[str]:
    if args.has("all-groups"):
        return [listing.group_id for listing in admin.listings()]
    return sorted(set(args.texts("group")))


def _list(admin: GroupAdmin, args: Parsed) -> int:
    from barnabas.cli.consumer_groups_rows import list_json, list_lines
    from barnabas.client.group_details import with_exact_states

    states, types = chosen(args, "state", STATES), chosen(args, "type", TYPES)
    listings = admin.listings()
    if args.has("state") or args.has("json"):
        listings = with_exact_states(listings, admin.properties, timeout_s=timeout_s(args))
    listings = [
        each
        for each in listings
        if (not states or each.state in states) and (not types or each.type in types)
    ]
    show(
        args,
        lines=lambda: list_lines(
            listings, with_type=args.has("type"), with_state=args.has("state")
        ),
        document=lambda: list_json(listings),
    )
    return 0


def _describe(admin: GroupAdmin, args: Parsed, group_ids: Sequence[str]) -> int:
    """Groups that do not exist are said to be so, after which the others are shown."""
    from barnabas.client.group_details import describe_exactly

    described = describe_exactly(admin, group_ids)
    groups = [group for group in described if group.exists]
    missing = [group.group_id for group in described if not group.exists]
    status = 1 if missing else 0
    _say_missing(admin, missing)
    if args.has("json"):
        print_json(_describe_json(admin, args, groups))
        return status
    for group, text in zip(groups, _describe_texts(admin, args, groups), strict=True):
        _show(group, text)
    return status


def _say_missing(admin: GroupAdmin, group_ids: Sequence[str]) -> None:
    from barnabas.cli.near import did_you_mean

    known = [listing.group_id for listing in admin.listings()] if group_ids else []
    for group_id in group_ids:
        hint = did_you_mean(group_id, known) or "."
        print(f"\nError: Consumer group '{group_id}' does not exist{hint}", file=sys.stderr)


def _show(group: Group, text: str) -> None:
    from barnabas.cli.consumer_groups_rows import note_on

    note = note_on(group)
    if note:
        sys.stdout.flush()  # what was said before stands before it, on one terminal
        print(f"\n{note}", file=sys.stderr)
    sys.stdout.write(text)


def _describe_texts(admin: GroupAdmin, args: Parsed, groups: Sequence[Group]) -> list[str]:
    from barnabas.cli.consumer_groups_rows import members_text, offsets_text, state_text

    verbose = args.has("verbose")
    if args.has("members"):
        return [members_text(group, verbose=verbose) for group in groups]
    if args.has("state"):
        return [state_text(group, verbose=verbose) for group in groups]
    rows = rows_by_group(admin, groups)
    return [offsets_text(group.group_id, rows[group.group_id], verbose=verbose) for group in groups]


def _describe_json(admin: GroupAdmin, args: Parsed, groups: Sequence[Group]) -> list[Any]:
    from barnabas.cli.consumer_groups_rows import members_json, offsets_json, state_json

    if args.has("members"):
        return [members_json(group) for group in groups]
    if args.has("state"):
        return [state_json(group) for group in groups]
    rows = rows_by_group(admin, groups)
    return [offsets_json(group, rows[group.group_id]) for group in groups]


def rows_by_group(admin: GroupAdmin, groups: Sequence[Group]) -> dict[str, list[OffsetRow]]:
    """Of each group.  Offsets of all partitions that have a leader are asked for at once."""
    from barnabas.cli.consumer_groups_rows import offset_rows

    committed = admin.committed([group.group_id for group in groups])
    places = {place for offsets in committed.values() for place in offsets}
    places |= {place for group in groups for each in group.members for place in each.assignment}
    leaders = admin.leaders() if places else {}
    ends = admin.end_offsets([place for place in places if leaders.get(place) is not None])
    return {group.group_id: offset_rows(group, committed[group.group_id], ends) for group in groups}


def _delete(admin: GroupAdmin, group_ids: Sequence[str]) -> int:
    outcome = admin.delete(group_ids)
    deleted = _listed(group_id for group_id, error in sorted(outcome.items()) if error is None)
    failed = {group_id: error for group_id, error in sorted(outcome.items()) if error is not None}
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return 0
    print("\nError: Deletion of some consumer groups failed:", file=sys.stderr)
    for group_id, error in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {error}", file=sys.stderr)
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")
    return 1


def _listed(group_ids: Iterable[str]) -> str:
    return ", ".join(f"'{group_id}'" for group_id in group_ids)


def _delete_offsets(admin: GroupAdmin, args: Parsed) -> int:
    from barnabas.cli.consumer_groups_plan import parse_topics
    from barnabas.cli.consumer_groups_rows import deleted_offsets_text

    group_id = required(args, "group")
    scope = parse_topics(args.texts("topic"))
    places: set[Place] = set(scope.places)
    statuses: dict[tuple[str, int | None], str] = {}
    known = admin.leaders() if scope.topics else {}
    for topic in scope.topics:
        whole = {place for place in known if place[0] == topic}
        places |= whole
        if not whole:
            statuses[topic, None] = "Error: There is no such topic."
    found, refused = _deleted_offsets(admin, group_id, places)
    for place in places:
        error = refused or found.get(place)
        statuses[place] = "Successful" if error is None else f"Error: {error}"
    if refused is not None:
        print(f"\nError: {refused}", file=sys.stderr)
    elif any(status != "Successful" for status in statuses.values()):
        print(
            "\nError: Encountered some partition-level error, see the follow-up details.",
            file=sys.stderr,
        )
    else:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    sys.stdout.write(deleted_offsets_text(statuses))
    return 0 if all(status == "Successful" for status in statuses.values()) else 1


def _deleted_offsets(
    admin: GroupAdmin, group_id: str, places: set[Place]
) -> tuple[dict[Place, RefusedError | None], RefusedError | None]:
    """What was in the way of each partition, and of the whole request."""
    from barnabas.client.errors import RefusedError
    from barnabas.client.group_details import delete_offsets

    if not places:
        return {}, None
    try:
        timeout = admin.patience.seconds
        return delete_offsets(admin.properties, group_id, places, timeout_s=timeout), None
    except RefusedError as error:
        return {}, error


COMMAND = Command(
    summary="List, describe and delete consumer groups, and move their offsets.",
    examples=(
        "--list --state",
        "--describe --group payments",
        "--describe --all-groups --members --verbose",
        "--reset-offsets --group payments --topic orders --to-earliest --dry-run",
        "--reset-offsets --group payments --topic orders:0,1 --by-duration PT1H --execute",
        "--delete-offsets --group payments --topic orders",
        "--delete --group payments",
    ),
    options=OPTIONS,
    run=run,
    failure="Error:",
)
