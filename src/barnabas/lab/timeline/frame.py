"""One frame of the live view: lines of text for a terminal of some width.  Pure.

    3.2b  Two replicas, acks=1: acknowledged, and gone                  4.2 s
    brokers  1 up  2 killed  3 up           sent 3,000  acked 2,700  received 900
    part leader ISR     acked  replicated  received |            !    +         |
       0      3 3       1,500         900       900 |2222222222222----3333333333|

The lane on the right is the run so far, a column a slice of time: the leader's number, `-` where
there was none, green while all replicas were in sync.  What was done is on top of the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.lab.timeline.model import Kind, Look, Mark, PartitionLook, Timeline

SIGNS = {
    Kind.STEP: "\N{MIDDLE DOT}",
    Kind.FAULT: "!",
    Kind.RECOVERY: "+",
    Kind.SIGHT: "*",
    Kind.VERDICT: "=",
}
COLOURS = {Kind.FAULT: 31, Kind.RECOVERY: 32, Kind.SIGHT: 36, Kind.VERDICT: 1}
RED, GREEN, YELLOW, BOLD, DIM = 31, 32, 33, 1, 2
LEAST_COLUMNS = 60
LEAST_LEFT = len("brokers")
HEAD = "part leader ISR      acked  replicated  received"
MARKS_SHOWN = 8


def paint(text: str, colour: int | None, *, is_coloured: bool) -> str:
    """The text in a colour, where there are colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if is_coloured and colour is not None else text


def frame(
    heading: str,
    timeline: Timeline,
    *,
    columns: int,
    now: float,
    is_coloured: bool = False,
    marks_shown: int = MARKS_SHOWN,
) -> list[str]:
    """All lines; none is wider than `columns`, colours not counted."""
    columns = max(columns, LEAST_COLUMNS)
    look = timeline.last
    clock = f"{now:.1f} s"
    lines = [
        paint(f"{heading[: columns - 10]:<{columns - 10}}", BOLD, is_coloured=is_coloured)
        + f"{clock:>10}",
        _totals(look, columns),
    ]
    partitions = timeline.partitions()
    if partitions:
        width = columns - len(HEAD) - 3
        lines.append(f"{HEAD} |{_signs(timeline, width, now, is_coloured)}|")
        lines += [
            f"{_row(index, look.partitions.get(index))} "
            f"|{_lane(timeline, index, width, now, is_coloured)}|"
            for index in partitions
        ]
    lines.append("-" * columns)
    lines += [
        mark_line(mark, columns=columns, is_coloured=is_coloured)
        for mark in timeline.marks[-marks_shown:]
    ]
    return lines


def mark_line(mark: Mark, *, columns: int | None = None, is_coloured: bool = False) -> str:
    """One thing that happened, as a line of its own; all of it, where no width is given."""
    text = f"{mark.at:6.1f}  {SIGNS[mark.kind]} {mark.text}"
    shown = text if columns is None else _cut(text, columns)
    return paint(shown, COLOURS.get(mark.kind), is_coloured=is_coloured)


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else f"{text[: columns - 1]}\N{HORIZONTAL ELLIPSIS}"


def _totals(look: Look, columns: int) -> str:
    brokers = "  ".join(f"{number} {state}" for number, state in sorted(look.brokers.items()))
    counts = f"sent {look.sent:,}  acked {look.acked:,}  received {look.received:,}"
    if look.failed:
        counts = f"failed {look.failed:,}  {counts}"
    left = f"brokers  {brokers}" if brokers else ""
    room = columns - len(counts) - 2
    if room < LEAST_LEFT:  # what is counted matters more than who is up
        return _cut(counts, columns).rjust(columns)
    return f"{_cut(left, room):<{room}}  {counts}"


def _row(index: int, look: PartitionLook | None) -> str:
    if look is None:
        return f"{index:>4} {'?':>6} {'?':<8}{'':>30}"[: len(HEAD)].ljust(len(HEAD))
    leader = "none" if look.leader is None else str(look.leader)
    isr = ",".join(map(str, look.isr))
    replicated = "?" if look.replicated is None else f"{look.replicated:,}"
    return (
        f"{index:>4} {leader:>6} {isr:<7.7}{look.acked:>7,}{replicated:>12}{look.received:>10,}"
    ).ljust(len(HEAD))


def _moments(width: int, now: float) -> list[float]:
    """The end of each column's slice of time."""
    return [now * (column + 1) / width for column in range(width)]


def _lane(timeline: Timeline, index: int, width: int, now: float, is_coloured: bool) -> str:
    cells: list[tuple[str, int | None]] = []
    for moment in _moments(width, now):
        look = timeline.at(moment)
        partition = None if look is None else look.partitions.get(index)
        cells.append(_cell(partition))
    return _joined(cells, is_coloured)


def _cell(partition: PartitionLook | None) -> tuple[str, int | None]:
    if partition is None:
        return " ", None
    if partition.leader is None:
        return "-", RED
    whole = len(partition.isr) >= len(partition.replicas)
    return str(partition.leader)[-1], GREEN if whole else YELLOW


def _signs(timeline: Timeline, width: int, now: float, is_coloured: bool) -> str:
    """Above the lanes: what was done, the gravest where several fall into one column."""
    cells: list[tuple[str, int | None]] = [(" ", None)] * width
    order = (Kind.SIGHT, Kind.RECOVERY, Kind.FAULT)
    for kind in order:
        for mark in timeline.marks:
            if mark.kind is kind:
                column = min(width - 1, int(mark.at / now * width)) if now > 0 else 0
                cells[column] = (SIGNS[kind], COLOURS[kind])
    return _joined(cells, is_coloured)


def _joined(cells: Sequence[tuple[str, int | None]], is_coloured: bool) -> str:
    """Neighbours of one colour share its codes: a frame is drawn ten times a second."""
    if not is_coloured:
        return "".join(sign for sign, _ in cells)
    parts = []
    begin = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at][1] != cells[begin][1]:
            text = "".join(sign for sign, _ in cells[begin:at])
            parts.append(paint(text, cells[begin][1], is_coloured=True))
            begin = at
    return "".join(parts)
