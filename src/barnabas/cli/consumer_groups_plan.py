"""Which offsets `--reset-offsets` is to set: what was typed, and files of offsets.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from barnabas.cli.options import INT_MAX, UsageError

Place = tuple[str, int]
Plan = dict[Place, int]
"""The offset that each partition is to get."""

_DATETIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?"
    r"(T(?=[-+\d])(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)

FIELDS_WITH_GROUP = 4
LONGEST_PLAIN = 24
"""A longer name is in quotes in a file of offsets, whatever its letters."""


def parse_datetime(text: str) -> int:
    """Milliseconds since 1970; a time without a zone is UTC."""
    found = _DATETIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError("expected YYYY-MM-DDThh:mm:ss.sss, with Z or +hh:mm if not UTC")
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction, zone = found.groups()[6:]
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(zone))
    except ValueError as error:
        raise UsageError(f'--to-datetime: "{text}": {error}') from None
    return (moment - _EPOCH) // _MS + int(fraction or 0)


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    minutes = int(text[1:3]) * 60 + int(text[3:].lstrip(":") or 0)
    return timezone(sign * timedelta(minutes=minutes))


def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as P7D or PT1H30M."""
    found = _DURATION.fullmatch(text)
    if found is None or text[-1:] in "PpTt":
        raise UsageError(f'--by-duration: "{text}" is not of the form PnDTnHnMnS')
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    # A number of days or hours may be negative by itself, and a fraction goes with its seconds.
    ms = (int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60) * 1000
    part = int((fraction or "").ljust(9, "0")) // 1_000_000
    ms += int(seconds or 0) * 1000 + (-part if (seconds or "").startswith("-") else part)
    return -ms if sign == "-" else ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What `--topic` means: whole topics, and partitions that are named."""

    topics: Sequence[str]
    places: Sequence[Place]


def parse_topics(texts: Iterable[str]) -> Scope:
    """`t` is a topic, `t:0,1` two of its partitions."""
    topics, places = [], []
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not colon:
            topics.append(topic)
            continue
        for number in numbers.split(","):
            if not topic or not _is_partition(number):
                raise UsageError(
                    f'--topic: "{text}" is neither a topic nor a topic with partitions like t:0,1'
                )
            places.append((topic, int(number)))
    return Scope(topics=topics, places=places)


def _is_partition(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= INT_MAX


def read_plans(text: str, group_ids: Sequence[str]) -> dict[str, Plan]:
    """A file of offsets: `topic,partition,offset` lines for one group, or with the group before.

    ValueError says which line is wrong.
    """
    import csv

    rows = [row for row in csv.reader(text.splitlines()) if row]
    with_group = len(group_ids) != 1 or (bool(rows) and len(rows[0]) == FIELDS_WITH_GROUP)
    plans: dict[str, Plan] = {}
    for at, row in enumerate(rows, start=1):
        if len(row) != (FIELDS_WITH_GROUP if with_group else FIELDS_WITH_GROUP - 1):
            form = "group,topic,partition,offset" if with_group else "topic,partition,offset"
            raise ValueError(f"line {at} is not of the form {form}")
        group_id = row[0] if with_group else group_ids[0]
        topic, number, offset = row[-3:]
        try:
            plans.setdefault(group_id, {})[topic, int(number)] = int(offset)
        except ValueError:
            raise ValueError(f"line {at}: {number},{offset} are not two whole numbers") from None
    return plans


def export_lines(plans: Mapping[str, Plan], *, with_group: bool) -> list[str]:
    """The file that `read_plans` reads."""
    return [
        ",".join(
            [*([_quoted(group_id)] if with_group else []), _quoted(topic), str(number), str(offset)]
        )
        for group_id, plan in sorted(plans.items())
        for (topic, number), offset in sorted(plan.items())
    ]


def _quoted(name: str) -> str:
    """In quotes where Apache Kafka's tool puts some: long names, and any sign below "-"."""
    if len(name) <= LONGEST_PLAIN and all(char >= "-" for char in name):
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def within_log(
    wanted: Mapping[Place, int], starts: Mapping[Place, int], ends: Mapping[Place, int]
) -> tuple[Plan, list[str]]:
    """The offsets, moved to the nearest one that the log has; and what to say of those moved."""
    plan, warnings = {}, []
    for place, offset in sorted(wanted.items()):
        bound, side = offset, ""
        if offset > ends[place]:
            bound, side = ends[place], "higher than latest"
        elif offset < starts[place]:
            bound, side = starts[place], "lower than earliest"
        if side:
            warnings.append(
                f"New offset ({offset}) is {side} offset for topic partition {place_name(place)}. "
                f"Value will be set to {bound}"
            )
        plan[place] = bound
    return plan, warnings


def place_name(place: Place) -> str:
    topic, number = place
    return f"{topic}-{number}"
