"""`barnabas groups lag`: how far groups are behind, how fast they read, when they will be done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, raise_on_sigterm
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, client_properties, warn
from barnabas.cli.options import INT_MAX, Option, Parsed, at_most_one

if TYPE_CHECKING:
    from barnabas.cli.groups_rows import LagRow, Look
    from barnabas.client.group_admin import GroupAdmin

DEFAULT_TIMEOUT_MS = 5000
DEFAULT_PAUSE_S = 2
LONGEST_PAUSE_S = 86_400

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    Option(
        name="group",
        value="NAME",
        many=True,
        help="Only this group. May be repeated. Without it, all groups.",
    ),
    Option(
        name="topic",
        value="NAME",
        many=True,
        help="Only what groups read of this topic. May be repeated.",
    ),
    Option(
        name="watch",
        value="SECONDS",
        alone=str(DEFAULT_PAUSE_S),
        whole=(1, LONGEST_PAUSE_S),
        help="Look again and again, every so many seconds, until Ctrl-C: a live table on a "
        f"terminal, one table after the other in a pipe. Default: {DEFAULT_PAUSE_S}.",
    ),
    Option(
        name="over",
        value="SECONDS",
        whole=(1, LONGEST_PAUSE_S),
        help="Look twice, so many seconds apart, and show how fast groups read meanwhile.",
    ),
    Option(
        name="timeout",
        value="MS",
        whole=(1, INT_MAX),
        help=f"How long to wait for brokers. Default: {DEFAULT_TIMEOUT_MS}.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is looked at; empty means everything."""

    groups: Sequence[str]
    topics: Sequence[str]


def run(args: Parsed) -> int:
    at_most_one(args, "watch", "over")
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.group_admin import GroupAdmin

    raise_on_sigterm()
    timeout_s = (args.number("timeout") or DEFAULT_TIMEOUT_MS) / 1000
    admin = GroupAdmin.connect(properties, warn, timeout_s=timeout_s)
    chosen = Chosen(groups=sorted(set(args.texts("group"))), topics=args.texts("topic"))
    watch_s = args.number("watch")
    if watch_s is None:
        return _once(admin, chosen, args)
    if sys.stdout.isatty() and not args.has("json"):
        _watch_live(admin, chosen, watch_s)
    _watch_piped(admin, chosen, args, watch_s)
    return 0


def take_look(admin: GroupAdmin, chosen: Chosen) -> Look:
    """`ClientError` if brokers do not answer."""
    from barnabas.cli.consumer_groups import rows_by_group
    from barnabas.cli.groups_rows import GroupLook, Look, Position
    from barnabas.client.group_details import describe_exactly

    ids = chosen.groups or [listing.group_id for listing in admin.listings()]
    groups = [group for group in describe_exactly(admin, ids) if group.exists]
    rows = rows_by_group(admin, groups)
    return Look(
        time_s=time.monotonic(),
        groups=[
            GroupLook(
                group_id=group.group_id,
                state=group.state,
                members=len(group.members),
                positions={
                    row.place: Position(
                        committed=None if row.committed is None else row.committed.offset,
                        end=row.end_offset,
                    )
                    for row in rows[group.group_id]
                    if not chosen.topics or row.place[0] in chosen.topics
                },
            )
            for group in groups
        ],
    )


def _once(admin: GroupAdmin, chosen: Chosen, args: Parsed) -> int:
    from barnabas.cli.groups_rows import lag_document, lag_lines, lag_rows
    from barnabas.cli.near import did_you_mean
    from barnabas.cli.printing import show

    look, before = take_look(admin, chosen), None
    over_s = args.number("over")
    if over_s is not None:
        before = look
        time.sleep(over_s)
        look = take_look(admin, chosen)
    rows = lag_rows(look, before)
    if rows or not chosen.groups or args.has("json"):
        show(args, lines=lambda: lag_lines(rows), document=lambda: lag_document(rows))
    missing = set(chosen.groups) - {group.group_id for group in look.groups}
    if not missing:
        return 0
    known = [listing.group_id for listing in admin.listings()]
    sys.stdout.flush()
    for group_id in sorted(missing):
        hint = did_you_mean(group_id, known)
        print(f"Consumer group '{group_id}' does not exist{hint or '.'}", file=sys.stderr)
    return 1


def _looks(admin: GroupAdmin, chosen: Chosen) -> Callable[[], list[LagRow]]:
    """Looks each time it is called; rates are those of the last while."""
    from barnabas.cli.groups_rows import History, lag_rows

    history = History()

    def rows() -> list[LagRow]:
        look = take_look(admin, chosen)
        return lag_rows(look, history.add(look))

    return rows


def _watch_live(admin: GroupAdmin, chosen: Chosen, pause_s: int) -> None:
    """Never returns: Ctrl-C or SIGTERM ends it.  A broker that goes away is waited for."""
    from barnabas.cli.groups_rows import lag_lines
    from barnabas.cli.screen import Screen
    from barnabas.client.errors import ClientError

    rows = _looks(admin, chosen)
    table = lag_lines(rows())  # if no broker answers at first, that is said without a screen
    with Screen() as screen:
        trouble = ""
        while True:
            heading = f"{_clock()}, every {pause_s} s; Ctrl-C ends it{trouble}"
            screen.draw([heading, "", *table])
            screen.wait(pause_s)
            try:
                table, trouble = lag_lines(rows()), ""
            except ClientError as error:
                trouble = f"  ** {error} Trying again. **"


def _watch_piped(admin: GroupAdmin, chosen: Chosen, args: Parsed, pause_s: int) -> None:
    """Never returns.  A table or, as JSON, a line each time."""
    import json

    from barnabas.cli.groups_rows import lag_document, lag_lines
    from barnabas.client.errors import ClientError

    rows = _looks(admin, chosen)
    found = rows()
    is_told = False
    while True:
        if args.has("json"):
            print(json.dumps({"time": _clock(), "groups": lag_document(found)}), flush=True)
        else:
            print("\n".join([_clock(), *lag_lines(found), ""]), flush=True)
        while True:
            time.sleep(pause_s)
            try:
                found = rows()
            except ClientError as error:
                if not is_told:
                    warn(f"{error} Trying again.")
                is_told = True
                continue
            is_told = False
            break


def _clock() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


COMMAND = Command(
    summary="Show how far consumer groups are behind, how fast they read, and when they will have "
    "caught up.",
    examples=(
        "",
        "--watch",
        "--group payments --group billing --over 10",
        "--watch 10 --json",
    ),
    options=OPTIONS,
    run=run,
    notes=(
        (
            "Rates need more than one look: they are those of the last 30 seconds with --watch, "
            "and those of the time between two looks with --over. A group is seen to read when it "
            "commits."
        ),
    ),
)
