"""What `kafka-consumer-groups` shows: rows made from groups, and their lines.  Pure.

Columns, widths and blank lines are Apache Kafka's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.consumer_groups_plan import Place, Plan

if TYPE_CHECKING:
    from barnabas.client.group_admin import Committed, Group, GroupListing, Member

MISSING = "-"
LEAST_WIDTH = 15
REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow:
    """One partition that a group has an offset of, or a member has been assigned."""

    place: Place
    committed: Committed | None
    end_offset: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end_offset is None:
            return None
        return self.end_offset - self.committed.offset


def table(heading: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """A blank line, the heading and the rows.  A column is as wide as its widest cell, and at
    least as wide as told; 0 leaves the cells as they are.
    """
    listed = list(rows)
    wide = [
        max([least, *(len(row[at]) for row in listed)]) if least else 0
        for at, least in enumerate(widths)
    ]
    lines = [
        " ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True))
        for row in (heading, *listed)
    ]
    return "".join(f"\n{line}" for line in lines) + "\n"


def list_lines(listings: Sequence[GroupListing], *, with_type: bool, with_state: bool) -> list[str]:
    """Names alone, or a table."""
    if not with_type and not with_state:
        return [each.group_id for each in listings]
    width = max([LEAST_WIDTH, *(len(each.group_id) for each in listings)]) + 10
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [(each.group_id, each.type, each.state) for each in listings]
    return [
        f"{group:<{width}}"
        + (f" {kind:<20}" if with_type else "")
        + (f" {state:<20}" if with_state else "")
        for group, kind, state in rows
    ]


def list_json(listings: Iterable[GroupListing]) -> list[dict[str, Any]]:
    return [{"group": each.group_id, "type": each.type, "state": each.state} for each in listings]


def note_on(group: Group) -> str:
    """What is to be said of a group's state before its rows; empty if nothing."""
    if group.state == "Empty":
        return f"Consumer group '{group.group_id}' has no active members."
    if group.state in REBALANCING:
        return f"Warning: Consumer group '{group.group_id}' is rebalancing."
    return ""


def offset_rows(
    group: Group, committed: Mapping[Place, Committed], end_offsets: Mapping[Place, int]
) -> list[OffsetRow]:
    """Partitions of members, those with most of them first; then those that nobody has."""
    holders: list[tuple[Member | None, Sequence[Place]]] = [
        (member, member.assignment)
        for member in sorted(group.members, key=lambda each: -len(each.assignment))
    ]
    held = {place for _, places in holders for place in places}
    holders.append((None, [place for place in committed if place not in held]))
    return [
        OffsetRow(
            place=place,
            committed=committed.get(place),
            end_offset=end_offsets.get(place),
            member=member,
        )
        for member, places in holders
        for place in sorted(places)
    ]


def offsets_text(group_id: str, rows: Sequence[OffsetRow], *, verbose: bool) -> str:
    if not rows:
        return ""
    heading = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET"]
    heading += ["LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
    widths = [LEAST_WIDTH, LEAST_WIDTH, 10, 15, 15, 15, 15, LEAST_WIDTH, LEAST_WIDTH, 0]
    cells = [_offset_cells(group_id, row) for row in rows]
    if not verbose:
        del heading[3], widths[3]
        for each in cells:
            del each[3]
    return table(heading, cells, widths)


def _offset_cells(group_id: str, row: OffsetRow) -> list[str]:
    topic, number = row.place
    committed, member = row.committed, row.member
    return [
        group_id,
        topic,
        str(number),
        _text(None if committed is None else committed.leader_epoch),
        _text(None if committed is None else committed.offset),
        _text(row.end_offset),
        _text(row.lag),
        MISSING if member is None else member.member_id,
        MISSING if member is None else member.host,
        MISSING if member is None else member.client_id,
    ]


def offsets_json(group: Group, rows: Iterable[OffsetRow]) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "offsets": [
            {
                "topic": row.place[0],
                "partition": row.place[1],
                "leader_epoch": None if row.committed is None else row.committed.leader_epoch,
                "current_offset": None if row.committed is None else row.committed.offset,
                "log_end_offset": row.end_offset,
                "lag": row.lag,
                "consumer_id": None if row.member is None else row.member.member_id,
                "host": None if row.member is None else row.member.host,
                "client_id": None if row.member is None else row.member.client_id,
            }
            for row in rows
        ],
    }


def members_text(group: Group, *, verbose: bool) -> str:
    """A table with a heading even if there is no member."""
    members = group.members
    columns = [
        _column("GROUP", LEAST_WIDTH, [group.group_id for _ in members]),
        _column("CONSUMER-ID", LEAST_WIDTH, [each.member_id for each in members]),
    ]
    if any(each.instance_id for each in members):
        instances = [each.instance_id or "" for each in members]
        columns.append(_column("GROUP-INSTANCE-ID", 17, instances))
    columns += [
        _column("HOST", LEAST_WIDTH, [each.host for each in members]),
        _column("CLIENT-ID", LEAST_WIDTH, [each.client_id for each in members]),
        _column("#PARTITIONS", 15, [str(len(each.assignment)) for each in members]),
    ]
    if verbose:
        target_epoch = [_text(group.target_epoch) for _ in members]
        columns += [
            _column("CURRENT-EPOCH", 15, [_text(each.epoch) for each in members]),
            _column("CURRENT-ASSIGNMENT", 20, [_assigned(each.assignment) for each in members]),
            _column("TARGET-EPOCH", 15, target_epoch),
            _column("TARGET-ASSIGNMENT", 20, [_assigned(each.target) for each in members]),
        ]
        if {True, False} <= {each.upgraded for each in members}:
            columns.append(_column("UPGRADED", 0, [_flag(each.upgraded) for each in members]))
    lines = [" ".join(cells) for cells in zip(*columns, strict=True)]
    # Without the columns of --verbose, a blank stands where they would begin.
    return "\n" + "".join(f"{line}{'' if verbose else ' '}\n" for line in lines)


def _column(heading: str, least: int, cells: Sequence[str]) -> list[str]:
    width = max([least, *map(len, cells)]) if least else 0
    return [f"{cell:<{width}}" for cell in (heading, *cells)]


def _assigned(places: Iterable[Place]) -> str:
    """`a:0,1;b:0`"""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(places):
        topics.setdefault(topic, []).append(number)
    texts = [f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items()]
    return ";".join(sorted(texts)) or MISSING


def _flag(value: bool | None) -> str:
    return MISSING if value is None else str(value).lower()


def members_json(group: Group) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "members": [
            {
                "consumer_id": each.member_id,
                "group_instance_id": each.instance_id,
                "host": each.host,
                "client_id": each.client_id,
                "assignment": _places_json(each.assignment),
                "current_epoch": each.epoch,
                "target_assignment": _places_json(each.target),
                "target_epoch": group.target_epoch,
                "upgraded": each.upgraded,
            }
            for each in group.members
        ],
    }


def _places_json(places: Iterable[Place]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(places)]


def state_text(group: Group, *, verbose: bool) -> str:
    broker_id, host, port = group.coordinator
    heading = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH"]
    heading += ["TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    cells = [
        group.group_id,
        f"{host}:{port}  ({broker_id})",
        group.assignor or MISSING,
        group.state,
        _text(group.epoch),
        _text(group.target_epoch),
        str(len(group.members)),
    ]
    widths = [LEAST_WIDTH, 25, 20, 20, 15, 25, 0]
    if not verbose:
        del heading[4:6], cells[4:6], widths[4:6]
    return table(heading, [cells], widths)


def state_json(group: Group) -> dict[str, Any]:
    broker_id, host, port = group.coordinator
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "coordinator": {"id": broker_id, "host": host, "port": port},
        "assignment_strategy": group.assignor or None,
        "group_epoch": group.epoch,
        "target_assignment_epoch": group.target_epoch,
        "members": len(group.members),
    }


def reset_text(plans: Mapping[str, Plan]) -> str:
    if not plans:
        return "\n"
    rows = [
        [group_id, topic, str(number), str(offset)]
        for group_id, plan in sorted(plans.items())
        for (topic, number), offset in sorted(plan.items())
    ]
    group_width = max([LEAST_WIDTH, *map(len, plans)])
    heading = ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    return table(heading, rows, [group_width, LEAST_WIDTH, 10, 0])


def deleted_offsets_text(found: Mapping[tuple[str, int | None], str]) -> str:
    """`found` has a status for each partition; None stands for a topic that does not exist."""

    def order(item: tuple[tuple[str, int | None], str]) -> tuple[str, int]:
        (topic, number), _ = item
        return topic, -1 if number is None else number

    rows = [
        [topic, _text(number), f"{status:<15}"]
        for (topic, number), status in sorted(found.items(), key=order)
    ]
    return table(["TOPIC", "PARTITION", f"{'STATUS':<15}"], rows, [LEAST_WIDTH, 10, 0])


def _text(value: int | None) -> str:
    return MISSING if value is None else str(value)
