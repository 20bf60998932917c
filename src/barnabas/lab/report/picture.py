"""A run as a picture: SVG, drawn by hand, with nothing to load.  Pure.

From top to bottom: what was done, as numbered flags; brokers, up or down; partitions as lanes, the
leader's colour with a thin line below for each replica that is in sync, and red where records got
lost; and curves of what was sent, acknowledged and processed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from barnabas.lab.report.scale import Scale, rows_of, ticks
from barnabas.lab.timeline.model import Kind, Mark, PartitionLook, Timeline, spans

if TYPE_CHECKING:
    from barnabas.lab.verdict.judging import Offence

WIDTH = 1080
LEFT, RIGHT = 96.0, 990.0
FLAG_ROWS, FLAG_HEIGHT, FLAG_RADIUS = 3, 22, 9
BROKER_HEIGHT = 18
LANE_BAR, REPLICA_LINE, LANE_GAP = 20, 6, 12
CHART_HEIGHT = 150
NUMBERED = (Kind.FAULT, Kind.RECOVERY, Kind.SIGHT)
COLOURS = 6
"""Brokers beyond that share colours."""
CURVES = (("sent", "sent"), ("acked", "acknowledged"), ("received", "processed"))


def numbered(timeline: Timeline) -> list[Mark]:
    """The marks that have flags, in order; a page lists them under the same numbers."""
    return [mark for mark in timeline.marks if mark.kind in NUMBERED]


def picture(timeline: Timeline, lost: Sequence[Offence], *, title: str) -> str:
    """The whole SVG element."""
    end = max(timeline.last.at, 0.1)  # what is judged after the last look needs no room
    x = Scale(end, LEFT, RIGHT)
    y = FLAG_ROWS * FLAG_HEIGHT + 10.0
    parts: list[str] = []
    brokers = timeline.brokers()
    for number in brokers:
        parts += _broker(timeline, number, x, y)
        y += BROKER_HEIGHT
    y += LANE_GAP if brokers else 0
    lost_in = Counter(each.partition for each in lost)
    for index in timeline.partitions():
        height = _lane_height(timeline, index)
        parts += _lane(timeline, index, x, y)
        parts += _losses(timeline, [each for each in lost if each.partition == index], x, y)
        if lost_in[index]:
            parts.append(_text(RIGHT + 6, y + 15, f"{lost_in[index]:,} lost", "lost-text"))
        y += height + LANE_GAP
    if timeline.last.sent or timeline.last.received:
        parts += _chart(timeline, x, y)
        y += CHART_HEIGHT
    parts += _seconds(end, x, y)
    flags = _flags(numbered(timeline), x, y)
    height_all = y + 34
    return (
        f'<svg viewBox="0 0 {WIDTH} {height_all:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}{''.join(flags)}</svg>"
    )


def _rect(x: float, y: float, width: float, height: float, kind: str, *, title: str = "") -> str:
    said = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{max(round(width, 1), 0.5)}" '
        f'height="{height}">{said}</rect>'
    )


def _text(x: float, y: float, text: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'


def _of_broker(number: int) -> str:
    return f"b{(number - 1) % COLOURS}"


def _broker(timeline: Timeline, number: int, x: Scale, y: float) -> Iterator[str]:
    yield _text(4, y + 11, f"broker {number}")
    states = [look.brokers.get(number, "up") for look in timeline.looks]
    for span in spans(timeline, states):
        kind = _of_broker(number) if span.value == "up" else "down"
        left = x(span.begin)
        title = f"broker {number}: {span.value}, {span.begin:.1f} s to {span.end:.1f} s"
        yield _rect(left, y + 3, x(span.end) - left, 9, kind, title=title)


def _replicas(timeline: Timeline, index: int) -> list[int]:
    return sorted(
        {
            replica
            for look in timeline.looks
            if index in look.partitions
            for replica in look.partitions[index].replicas
        }
    )


def _lane_height(timeline: Timeline, index: int) -> int:
    return LANE_BAR + REPLICA_LINE * len(_replicas(timeline, index))


def _lane(timeline: Timeline, index: int, x: Scale, y: float) -> Iterator[str]:
    """The leader's bar, and below it a line for each replica while it is in sync."""
    yield _text(4, y + 14, f"partition {index}")
    looks: list[PartitionLook | None] = [look.partitions.get(index) for look in timeline.looks]
    for span in spans(timeline, [None if each is None else (each.leader,) for each in looks]):
        if span.value is None:
            continue
        assert isinstance(span.value, tuple)
        (leader,) = span.value
        left, width = x(span.begin), x(span.end) - x(span.begin)
        who = "no leader" if leader is None else f"broker {leader} leads"
        kind = "down" if leader is None else _of_broker(leader)
        title = f"partition {index}: {who}, {span.begin:.1f} s to {span.end:.1f} s"
        yield _rect(left, y, width, LANE_BAR - 3, kind, title=title)
        if width > 14:
            word, look = ("none", "lost-text") if leader is None else (str(leader), "in-bar")
            yield _text(left + 4, y + 13, word, look)
    for row, replica in enumerate(_replicas(timeline, index)):
        at = y + LANE_BAR + row * REPLICA_LINE
        inside = [None if each is None else replica in each.isr for each in looks]
        for span in spans(timeline, inside):
            if span.value is None:
                continue
            kind = _of_broker(replica) if span.value else "out"
            word = "in sync" if span.value else "not in sync"
            title = f"partition {index}, broker {replica}: {word}"
            yield _rect(x(span.begin), at, x(span.end) - x(span.begin), 3, kind, title=title)


def moment_of(timeline: Timeline, partition: int, offset: int) -> float | None:
    """When the log of a partition first reached behind an offset, as far as looks show it."""
    for look in timeline.looks:
        found = look.partitions.get(partition)
        if found is not None and max(found.ends.values(), default=0) > offset:
            return look.at
    return None


def _losses(timeline: Timeline, lost: Sequence[Offence], x: Scale, y: float) -> Iterator[str]:
    """Red where records were stored that nobody has any more; their number in the tooltip."""
    places: Counter[float] = Counter()
    for offence in lost:
        moment = moment_of(timeline, offence.partition, offence.offset)
        if offence.offset >= 0 and moment is not None:
            places[x(moment)] += 1
    for place, count in sorted(places.items()):
        yield (
            f'<path class="lost" d="M{place - 6} {y - 7}h12l-6 9z">'
            f"<title>{count:,} records that got lost were stored here</title></path>"
        )


def _chart(timeline: Timeline, x: Scale, y: float) -> Iterator[str]:
    most = max((max(look.sent, look.received) for look in timeline.looks), default=0)
    up = Scale(most, y + CHART_HEIGHT - 8, y + 14)
    for count in ticks(most, about=4):
        yield f'<path class="grid" d="M{LEFT} {up(count)}H{RIGHT}"/>'
        yield _text(LEFT - 8, up(count) + 4, f"{count:,.0f}", "number")
    labels: list[tuple[float, str, str]] = []
    for name, said in CURVES:
        points = [(x(look.at), up(getattr(look, name))) for look in timeline.looks]
        if not points:
            continue
        path = "L".join(f"{left} {top}" for left, top in points)
        yield f'<path class="curve {name}" d="M{path}"><title>records {said}</title></path>'
        labels.append((points[-1][1] + 4, said, name))
    below = -100.0
    for at, said, name in sorted(labels):
        below = max(at, below + 13)
        yield _text(RIGHT + 6, below, said, f"curve-text {name}")


def _seconds(end: float, x: Scale, y: float) -> Iterator[str]:
    for second in ticks(end, about=10):
        yield _text(x(second), y + 16, f"{second:g} s", "tick")


def _flags(marks: Sequence[Mark], x: Scale, bottom: float) -> Iterator[str]:
    places = [x(mark.at) for mark in marks]
    rows = rows_of(places, apart=FLAG_RADIUS * 2 + 2, rows=FLAG_ROWS)
    for number, (mark, place, row) in enumerate(zip(marks, places, rows, strict=True), 1):
        top = row * FLAG_HEIGHT + FLAG_RADIUS + 2
        yield (
            f'<g class="flag {mark.kind.value}"><title>{escape(mark.text)}</title>'
            f'<path d="M{place} {top + FLAG_RADIUS}V{bottom}"/>'
            f'<circle cx="{place}" cy="{top}" r="{FLAG_RADIUS}"/>'
            f'<text x="{place}" y="{top + 4}">{number}</text></g>'
        )
