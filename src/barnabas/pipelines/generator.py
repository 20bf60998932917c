"""Made-up data to try pipelines with: prices of shares, and positions of trucks.

Pure: the same seed and start make the same records, on every machine, so that a result can be
checked. Prices walk at random around where they began; a truck drives with a heading that turns
little by little, and turns back at the border of its region.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

PRICES = {"AMBR": 42.0, "BRCH": 128.5, "CEDR": 310.25, "ELMS": 18.75, "FERN": 77.1, "OAKS": 205.0}
"""Shares, and what they cost in the beginning."""
TRUCKS = 8
REGION = (47.0, 51.0, 7.0, 13.0)
"""South, north, west, east."""
KM_A_DEGREE = 111.2


@dataclass(frozen=True, slots=True)
class Generated:
    key: str
    value: str
    at_ms: int
    """The time in the data.  That of the record is when it is sent: retention looks at it."""


def prices(seed: int, start_ms: int, step_ms: int) -> Iterator[Generated]:
    """A trade every `step_ms` on average, without end."""
    chance = random.Random(seed)
    now = dict(PRICES)
    at = start_ms
    while True:
        symbol = chance.choice(tuple(now))
        pull = (PRICES[symbol] - now[symbol]) / PRICES[symbol] * 0.002
        now[symbol] = max(0.01, now[symbol] * (1 + pull + chance.gauss(0, 0.0015)))
        yield _record(
            symbol,
            at,
            symbol=symbol,
            price=round(now[symbol], 2),
            volume=chance.randrange(1, 20) * 50,
        )
        at += chance.randrange(0, 2 * step_ms + 1)


def trucks(seed: int, start_ms: int, step_ms: int) -> Iterator[Generated]:
    """A position every `step_ms`, of one truck after the other, without end."""
    chance = random.Random(seed)
    fleet = [_Truck.at_random(f"truck-{number:02d}", chance) for number in range(1, TRUCKS + 1)]
    at = start_ms
    while True:
        for truck in fleet:
            truck.drive(TRUCKS * step_ms / 3_600_000, chance)
            yield _record(
                truck.name,
                at,
                truck=truck.name,
                lat=round(truck.lat, 5),
                lon=round(truck.lon, 5),
                speed=round(truck.speed, 1),
            )
            at += step_ms


@dataclass(slots=True)
class _Truck:
    name: str
    lat: float
    lon: float
    heading: float
    speed: float

    @staticmethod
    def at_random(name: str, chance: random.Random) -> _Truck:
        south, north, west, east = REGION
        return _Truck(
            name,
            chance.uniform(south, north),
            chance.uniform(west, east),
            chance.uniform(0, 2 * math.pi),
            chance.uniform(50, 85),
        )

    def drive(self, hours: float, chance: random.Random) -> None:
        south, north, west, east = REGION
        self.heading += chance.gauss(0, 0.1)
        self.speed = min(95.0, max(0.0, self.speed + chance.gauss(0, 3)))
        distance = self.speed * hours / KM_A_DEGREE
        self.lat += distance * math.cos(self.heading)
        self.lon += distance * math.sin(self.heading) / math.cos(math.radians(self.lat))
        if not (south < self.lat < north and west < self.lon < east):
            self.lat = min(north, max(south, self.lat))
            self.lon = min(east, max(west, self.lon))
            self.heading += math.pi


def _record(key: str, at_ms: int, **fields: object) -> Generated:
    moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return Generated(key, json.dumps({**fields, "at": moment.replace("+00:00", "Z")}), at_ms)


GENERATORS: dict[str, Callable[[int, int, int], Iterator[Generated]]] = {
    "prices": prices,
    "trucks": trucks,
}


def log_line(
    topic: str | None, partition: int | None, key: bytes | None, value: bytes | None
) -> str:
    """A line of a payload log, as reconcile reads it, from what a client tells of a record."""
    texts = ((part or b"").decode() for part in (key, value))
    return f"{topic},{partition},{','.join(texts)}\n"
