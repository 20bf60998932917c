"""Payload logs in which records are lost, doubled, swapped and foreign; what a verdict finds."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from barnabas.lab.programs.collecting import history_of_logs, logs_of
from barnabas.lab.programs.payload_log import PayloadLog
from barnabas.lab.programs.quotations import quotation
from barnabas.lab.verdict.judging import judge

PARTITIONS = 3
TOPIC = "planted"


class Planted(NamedTuple):
    """Partition and key of each record that is not as it should be, as often as it is not."""

    lost: Counter[tuple[int, str]]
    duplicated: Counter[tuple[int, str]]
    reordered: Counter[tuple[int, str]]
    foreign: Counter[tuple[int, str]]


def plant(folder: Path, *, seed: int, count: int = 3000) -> Planted:
    """Writes `producer/payload-*.log` and `consumer/payload-*.log`, and says what is in them.

    Of each kind but the foreign about a hundredth of all records.  A swap is of neighbours in
    one partition and one producer's log, so that exactly the earlier one is late.
    """
    chance = random.Random(seed)
    half = count // 2
    kinds = chance.choices(["good", "lost", "doubled", "swapped"], [97, 1, 1, 1], k=count)
    planted = Planted(Counter(), Counter(), Counter(), Counter())
    lanes: dict[int, list[tuple[str, str]]] = {number: [] for number in range(PARTITIONS)}
    for partition, lane in lanes.items():
        swaps_next: tuple[str, str] | None = None
        for number in range(partition, count, PARTITIONS):
            record = str(number), quotation(number)
            place = partition, record[0]
            kind = kinds[number] if swaps_next is None else "good"
            if kind == "lost":
                planted.lost[place] += 1
            elif kind == "swapped" and (number + PARTITIONS) % half >= PARTITIONS:
                swaps_next = record
                planted.reordered[place] += 1
            else:
                lane.extend([record] * (2 if kind == "doubled" else 1))
                planted.duplicated[place] += kind == "doubled"
                if swaps_next is not None:
                    lane.append(swaps_next)
                    swaps_next = None
        lane.insert(chance.randrange(len(lane)), (f"x{partition}", 'nobody, "here"'))
        planted.foreign[partition, f"x{partition}"] += 1
    _write(folder / "producer", [_sent(part) for part in (range(half), range(half, count))])
    _write(folder / "consumer", [{0: lanes[0], 1: lanes[1]}, {2: lanes[2]}])
    return Planted(*(+each for each in planted))


def scramble(folder: Path, *, seed: int, count: int = 1000) -> None:
    """Writes logs in which anything may be: a record that was sent by two, and received by three,
    in any order, and of which one log has another value."""
    chance = random.Random(seed)
    for side, logs in (("producer", 2), ("consumer", 3)):
        _write(folder / side, [_any(chance, count // logs) for _ in range(logs)])


def _any(chance: random.Random, count: int) -> dict[int, list[tuple[str, str]]]:
    lanes: dict[int, list[tuple[str, str]]] = {}
    for _ in range(count):
        number = chance.randrange(2 * count)
        value = quotation(number if chance.random() < 0.9 else number + 1)
        lanes.setdefault(number % PARTITIONS, []).append((str(number), value))
    return lanes


def judged(folder: Path) -> Planted:
    """What the lab's verdict finds in these logs."""
    verdict = judge(history_of_logs(logs_of(folder, "producer"), logs_of(folder, "consumer")))
    return Planted(
        *(
            Counter((one.partition, one.key or "") for one in getattr(verdict, kind))
            for kind in Planted._fields
        )
    )


def _sent(numbers: range) -> dict[int, list[tuple[str, str]]]:
    return {
        partition: [(str(n), quotation(n)) for n in numbers if n % PARTITIONS == partition]
        for partition in range(PARTITIONS)
    }


def _write(folder: Path, logs: list[dict[int, list[tuple[str, str]]]]) -> None:
    for number, lanes in enumerate(logs, 1):
        with PayloadLog(folder / f"payload-{number}.log", truncate=True) as log:
            for partition, lane in lanes.items():
                for key, value in lane:
                    log.add(TOPIC, partition, key.encode(), value.encode())
