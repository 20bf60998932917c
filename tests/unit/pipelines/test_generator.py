"""Made-up data is the same for everyone, and looks like what it is called."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from barnabas.pipelines.generator import GENERATORS, PRICES, REGION, Generated

START_MS = 1_767_603_600_000


def made(kind: str, count: int, *, seed: int = 1) -> list[Generated]:
    return list(islice(GENERATORS[kind](seed, START_MS, 100), count))


def values(kind: str, count: int) -> list[dict[str, Any]]:
    return [json.loads(each.value) for each in made(kind, count)]


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_seed_makes_the_same_records_and_another_makes_others(kind: str) -> None:
    assert made(kind, 50) == made(kind, 50)
    assert made(kind, 50) != made(kind, 50, seed=2)


@pytest.mark.parametrize("kind", GENERATORS)
def test_time_goes_on_and_is_that_of_the_record(kind: str) -> None:
    records = made(kind, 100)

    assert [each.at_ms for each in records] == sorted(each.at_ms for each in records)
    assert records[0].at_ms == START_MS
    assert json.loads(records[0].value)["at"] == "2026-01-05T09:00:00.000Z"


def test_prices_stay_near_where_they_began() -> None:
    for trade in values("prices", 20_000):
        assert 0.3 < trade["price"] / PRICES[trade["symbol"]] < 3
        assert trade["volume"] > 0


def test_trucks_stay_in_their_region_and_move() -> None:
    south, north, west, east = REGION
    positions = values("trucks", 8_000)

    for each in positions:
        assert south <= each["lat"] <= north
        assert west <= each["lon"] <= east
        assert 0 <= each["speed"] <= 95
    first = [each["lat"] for each in positions if each["truck"] == "truck-01"]
    assert len(set(first)) > len(first) / 2
