from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from barnabas.base.errors import InvalidReplicationFactor
from barnabas.controller.decider.placement import Placer
from barnabas.controller.image_types import BrokerImage


def broker(broker_id: int, rack: str | None = None, *, fenced: bool = False) -> BrokerImage:
    return BrokerImage(id=broker_id, epoch=0, incarnation_id=bytes(16), rack=rack, fenced=fenced)


def test_the_same_seed_places_the_same() -> None:
    def places() -> list[list[int]]:
        placer = Placer([broker(i) for i in range(5)], Random(3))
        return [placer.place(3) for _ in range(20)]

    assert places() == places()


def test_another_seed_starts_elsewhere() -> None:
    firsts = {Placer([broker(i) for i in range(5)], Random(seed)).place(1)[0] for seed in range(40)}

    assert firsts == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("seed", range(5))
def test_leaders_and_replicas_are_spread_evenly(seed: int) -> None:
    placer = Placer([broker(i) for i in range(4)], Random(seed))

    places = [placer.place(2) for _ in range(40)]

    assert set(Counter(replicas[0] for replicas in places).values()) == {10}
    assert all(len(set(replicas)) == 2 for replicas in places)
    followers = Counter(replicas[1] for replicas in places)
    assert max(followers.values()) - min(followers.values()) <= 10


@pytest.mark.parametrize("seed", range(5))
def test_racks_take_turns_to_lead(seed: int) -> None:
    racks = {i: "abc"[i % 3] for i in range(6)}
    placer = Placer([broker(i, rack) for i, rack in racks.items()], Random(seed))

    leaders = [placer.place(2)[0] for _ in range(60)]

    assert set(Counter(racks[i] for i in leaders).values()) == {20}
    assert set(Counter(leaders).values()) == {10}


@pytest.mark.parametrize("seed", range(5))
def test_replicas_are_on_different_racks_as_long_as_there_are_racks(seed: int) -> None:
    racks = {i: "abc"[i % 3] for i in range(9)}
    placer = Placer([broker(i, rack) for i, rack in racks.items()], Random(seed))

    for _ in range(50):
        assert {racks[i] for i in placer.place(3)} == {"a", "b", "c"}


@pytest.mark.parametrize("seed", range(5))
def test_more_replicas_than_racks_use_every_rack(seed: int) -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b"}
    placer = Placer([broker(i, rack) for i, rack in racks.items()], Random(seed))

    for _ in range(20):
        replicas = placer.place(3)
        assert len(set(replicas)) == 3
        assert {racks[i] for i in replicas} == {"a", "b"}


def test_a_fenced_broker_never_leads_and_follows_only_if_it_must() -> None:
    brokers = [broker(0), broker(1), broker(2, fenced=True)]

    placer = Placer(brokers, Random(1))

    assert all(2 not in placer.place(2) for _ in range(10))
    for _ in range(10):
        replicas = placer.place(3)
        assert sorted(replicas) == [0, 1, 2]
        assert replicas[0] != 2


def test_too_few_brokers_are_refused() -> None:
    with pytest.raises(InvalidReplicationFactor, match="only 1 broker"):
        Placer([broker(0)], Random(1)).place(2)
    with pytest.raises(InvalidReplicationFactor, match="only 0 broker"):
        Placer([], Random(1)).place(1)
    with pytest.raises(InvalidReplicationFactor, match="All brokers are currently fenced"):
        Placer([broker(0, fenced=True)], Random(1)).place(1)


def test_a_broker_that_is_about_to_leave_follows_only_when_it_is_needed() -> None:
    leaving = replace(broker(3), in_controlled_shutdown=True)
    placer = Placer([broker(1), broker(2), leaving], Random(1))

    assert all(3 not in placer.place(2) for _ in range(20))
    assert all(placer.place(3)[2] == 3 for _ in range(20))
