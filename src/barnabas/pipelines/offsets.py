"""Where reading begins and ends, and how what lies between is shared out.  Pure.

Offsets are written as Spark's own connector writes them: `{"topic": {"0": 23, "1": -2}}`, where -2
is the beginning of a partition and -1 its end.  A range ends before its end offset.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from barnabas.pipelines.errors import PipelineError

EARLIEST = -2
LATEST = -1
EDGES = {"earliest": EARLIEST, "latest": LATEST}

Place = tuple[str, int]
"""A topic and the number of a partition."""
Offsets = dict[Place, int]
Json = dict[str, Any]
"""Offsets as they stand in a checkpoint."""
BEGAN = "began at"
"""Beside the topics, in the end of a first batch: its start.  No topic can have this name."""


class OffsetRange(NamedTuple):
    """What one task reads of one partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def place(self) -> Place:
        return self.topic, self.partition


# Bounds, as people give them.


@dataclass(frozen=True, slots=True)
class AtEdge:
    """The beginning or the end of every partition."""

    edge: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset, or an edge, of each partition."""

    offsets: Offsets


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of a time (milliseconds since 1970), in every partition."""

    time_ms: int


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record of a time, each partition's own."""

    times_ms: Offsets


Bound = AtEdge | AtOffsets | AtTime | AtTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What a bound leaves to ask the brokers; `known` needs no asking."""

    known: Offsets
    edges: Offsets
    times: Offsets


def questions(bound: Bound, places: Iterable[Place], option: str) -> Questions:
    """A bound that names partitions must name all that are read, and no others."""
    found = Questions(known={}, edges={}, times={})
    match bound:
        case AtEdge(edge):
            found.edges.update(dict.fromkeys(places, edge))
        case AtTime(time_ms):
            found.times.update(dict.fromkeys(places, time_ms))
        case AtTimes(times_ms):
            _check_same(times_ms, places, option)
            found.times.update(times_ms)
        case AtOffsets(offsets):
            _check_same(offsets, places, option)
            for place, offset in offsets.items():
                (found.edges if offset < 0 else found.known)[place] = offset
    return found


def _check_same(given: Offsets, places: Iterable[Place], option: str) -> None:
    there = set(places)
    for what, found in (("leaves out", there - set(given)), ("has too much", set(given) - there)):
        if found:
            names = ", ".join(sorted(f"{topic}-{number}" for topic, number in found))
            raise PipelineError(
                f"{option}: every partition that is read needs a value, no other; it {what}: "
                f"{names}"
            )


def moves(bound: Bound) -> bool:
    """Whether the bound can mean another offset when it is looked up again later."""
    match bound:
        case AtEdge(edge):
            return edge == LATEST
        case AtOffsets(offsets):
            return LATEST in offsets.values()
    return True


# JSON.


def parse_offsets(text: str, option: str) -> Offsets:
    """`{"topic": {"0": 23}}`; values from -2 on."""
    return _parse_numbers(text, option, least=EARLIEST, what="offset")


def parse_times(text: str, option: str) -> Offsets:
    """`{"topic": {"0": 1700000000000}}`, milliseconds since 1970."""
    return _parse_numbers(text, option, least=0, what="time in milliseconds")


def parse_assign(text: str, option: str) -> list[Place]:
    """`{"topic": [0, 1]}`."""
    found = []
    for topic, numbers in _parse_topics(text, option).items():
        if not isinstance(numbers, list) or not all(_is_number(each) for each in numbers):
            raise PipelineError(f'{option}: expected JSON such as {{"topic": [0, 1]}}, not {text}')
        found += [(topic, number) for number in numbers]
    if not found or min(number for _, number in found) < 0:
        raise PipelineError(f"{option}: no partitions, or such as cannot be, in {text}")
    return sorted(set(found))


def _parse_numbers(text: str, option: str, *, least: int, what: str) -> Offsets:
    found: Offsets = {}
    for topic, by_partition in _parse_topics(text, option).items():
        if not isinstance(by_partition, dict):
            raise PipelineError(
                f'{option}: expected JSON such as {{"topic": {{"0": 23}}}}, not {text}'
            )
        for partition, number in by_partition.items():
            if not partition.isdecimal() or not _is_number(number) or number < least:
                raise PipelineError(f"{option}: {topic}-{partition}: {number} is no {what}")
            found[topic, int(partition)] = number
    if not found:
        raise PipelineError(f"{option}: no partitions in {text}")
    return found


def _parse_topics(text: str, option: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise PipelineError(f"{option}: neither one of its words nor JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise PipelineError(f"{option}: expected JSON with topics as its names, not {text}")
    return parsed


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def to_json(offsets: Mapping[Place, int], *, began: Mapping[Place, int] | None = None) -> Json:
    """As it stands in a checkpoint.  The order is always the same: Spark compares the texts."""
    found: Json = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    if began is not None:
        found[BEGAN] = to_json(began)
    return found


def from_json(offsets: Json) -> Offsets:
    return {
        (topic, int(partition)): offset
        for topic, by_partition in offsets.items()
        if topic != BEGAN
        for partition, offset in by_partition.items()
    }


def began_at(start: Json, end: Json) -> Offsets:
    """Where a batch begins.  Spark keeps the ends of batches alone and asks for the first start
    again when it repeats the first batch; so that batch's end says where it began.
    """
    return from_json(end[BEGAN] if BEGAN in end and BEGAN not in start else start)


# Sharing out.


def ranges(start: Mapping[Place, int], end: Mapping[Place, int]) -> list[OffsetRange]:
    """What lies between, in the order of topics and partitions; what is empty is left out."""
    return [
        OffsetRange(*place, start[place], offset)
        for place, offset in sorted(end.items())
        if start[place] < offset
    ]


def split(
    whole: Sequence[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
) -> list[OffsetRange]:
    """One range a task: none longer than `max_records`, at least `min_partitions` of them if there
    are as many offsets.  The same arguments give the same tasks: replays rely on it.
    """
    parts = [1 if max_records is None else -(-each.size // max_records) for each in whole]
    longest = [
        (-each.size / count, i) for i, (each, count) in enumerate(zip(whole, parts, strict=True))
    ]
    heapq.heapify(longest)
    for _ in range((min_partitions or 0) - sum(parts)):
        length, i = longest[0] if longest else (-1.0, 0)
        if length >= -1:
            break
        parts[i] += 1
        heapq.heapreplace(longest, (-whole[i].size / parts[i], i))
    found = []
    for each, count in zip(whole, parts, strict=True):
        cuts = [each.start + each.size * i // count for i in range(count + 1)]
        found += [each._replace(start=a, end=b) for a, b in pairwise(cuts)]
    return found


def limited(start: Mapping[Place, int], end: Mapping[Place, int], limit: int) -> Offsets:
    """`end` brought nearer, so that about `limit` offsets lie between: each partition gets its
    share of what is waiting, and none that has something waiting gets nothing.
    """
    sizes = {place: max(0, offset - start[place]) for place, offset in end.items()}
    total = sum(sizes.values())
    if total <= limit:
        return dict(end)
    nearer = {}
    for place, offset in end.items():
        share = limit * sizes[place] / total
        whole = math.ceil(share) if share < 1 else math.floor(share)
        nearer[place] = min(offset, start[place] + whole) if sizes[place] else offset
    return nearer
