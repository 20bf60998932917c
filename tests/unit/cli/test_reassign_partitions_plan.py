from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from barnabas.cli.command import CommandError
from barnabas.cli.json_files import parse_json
from barnabas.cli.options import UsageError
from barnabas.cli.reassign_partitions_plan import (
    RACKS_MISSING,
    Move,
    Plan,
    brokers_of,
    checked,
    follower_throttles,
    leader_throttles,
    moves,
    parse_brokers,
    parse_plan,
    parse_topics,
    propose,
)
from barnabas.client.cluster_admin import Endpoint
from barnabas.client.replica_admin import Reassignment


def plan_of(*partitions: dict[str, Any]) -> Plan:
    text = json.dumps({"version": 1, "partitions": partitions})
    return parse_plan(parse_json(text, "--reassignment-json-file: f"))


def move_of(topic: str, number: int, replicas: list[int], **more: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": number, "replicas": replicas, **more}


def brokers(*racks: str | None) -> list[Endpoint]:
    """One broker for each rack, from 1 on."""
    return [
        Endpoint(node_id=number, host="h", port=number, rack=rack, is_fenced=False)
        for number, rack in enumerate(racks, 1)
    ]


def test_a_plan_says_where_replicas_are_to_be() -> None:
    plan = plan_of(
        move_of("t", 0, [1, 2], log_dirs=["any", "/b"]), move_of("t", 1, [3]), move_of("u", 0, [])
    )
    assert plan == Plan(
        targets=[(("t", 0), (1, 2)), (("t", 1), (3,)), (("u", 0), ())],
        directories={("t", 0, 2): "/b"},
    )


def test_a_file_without_partitions_is_an_empty_plan() -> None:
    assert parse_plan(parse_json("{}", "f")) == Plan(targets=[], directories={})


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        ({"topic": "t", "partition": 0}, 'partitions[0]: the field "replicas" is missing'),
        ({"partition": 0, "replicas": [1]}, 'partitions[0]: the field "topic" is missing'),
        (
            {"topic": "t", "partition": 0, "replicas": ["1"]},
            'partitions[0].replicas[0]: a whole number is expected, not "1"',
        ),
        (
            {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any"]},
            (
                "Size of replicas list [1, 2] is different from size of log dirs list [any] for "
                "partition t-0"
            ),
        ),
    ],
)
def test_plans_that_cannot_be_meant_are_refused(partition: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan_of(partition)
    assert str(raised.value).endswith(said)


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([move_of("t", 0, [])], "Partition replica list cannot be empty"),
        (
            [move_of("t", 0, [1]), move_of("u", 0, [1]), move_of("t", 0, [2])],
            "Partition reassignment contains duplicate topic partitions: t-0",
        ),
        (
            [move_of("t", 0, [1, 2, 1]), move_of("t", 1, [3, 3])],
            (
                "Partition replica lists may not contain duplicate entries: "
                "t-0 contains multiple entries for 1. t-1 contains multiple entries for 3"
            ),
        ),
    ],
)
def test_plans_that_cannot_be_carried_out_are_refused(
    partitions: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(CommandError) as raised:
        checked(plan_of(*partitions))
    assert str(raised.value) == said


def test_topics_are_read_once_each() -> None:
    document = parse_json('{"topics": [{"topic": "a"}, {"topic": "b"}]}', "f")
    assert parse_topics(document) == ["a", "b"]
    assert parse_topics(parse_json("{}", "f")) == []
    twice = parse_json('{"topics": [{"topic": "a"}, {"topic": "a"}]}', "f")
    with pytest.raises(CommandError, match=r"contains duplicate entries: \[a\]$"):
        parse_topics(twice)


def test_brokers_are_named_once_each() -> None:
    assert parse_brokers("3,1") == [3, 1]
    with pytest.raises(CommandError, match=r"^Broker list contains duplicate entries: \[1\]$"):
        parse_brokers("1,2,1")


@pytest.mark.parametrize("seed", range(20))
def test_proposals_keep_the_number_of_replicas_and_spread_them(seed: int) -> None:
    current = {("t", number): (1, 2) for number in range(6)} | {("u", 0): (1,)}
    proposed = propose(current, brokers(None, None, None), Random(seed), by_rack=True)

    assert proposed.keys() == current.keys()
    assert all(len(set(each)) == len(current[place]) for place, each in proposed.items())
    leaders = [replicas[0] for (topic, _), replicas in proposed.items() if topic == "t"]
    assert sorted(leaders) == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("seed", range(20))
def test_proposals_use_every_rack(seed: int) -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    current = {("t", number): (1, 2) for number in range(8)}
    proposed = propose(current, brokers(*racks.values()), Random(seed), by_rack=True)
    assert all({racks[id_] for id_ in each} == {"a", "b"} for each in proposed.values())


def test_racks_are_known_of_all_brokers_or_of_none() -> None:
    current = {("t", 0): (1,)}
    with pytest.raises(CommandError) as raised:
        propose(current, brokers("a", None), Random(1), by_rack=True)
    assert str(raised.value) == RACKS_MISSING
    assert propose(current, brokers("a", None), Random(1), by_rack=False).keys() == current.keys()


def test_there_are_as_many_brokers_as_replicas() -> None:
    with pytest.raises(CommandError) as raised:
        propose({("t", 0): (1, 2)}, brokers(None), Random(1), by_rack=True)
    assert str(raised.value) == "Replication factor: 2 larger than available brokers: 1."


def test_moves_have_sources_and_destinations() -> None:
    under_way = {("t", 0): Reassignment(replicas=(1, 2, 3), adding=(3,), removing=(1,))}
    moved = moves(under_way, {("t", 0): (4, 2), ("t", 1): (2, 3)}, {("t", 1): (1, 2)})
    assert moved == {
        ("t", 0): Move(sources=frozenset({1, 2}), destinations=frozenset({4})),
        ("t", 1): Move(sources=frozenset({1, 2}), destinations=frozenset({3})),
    }
    assert brokers_of(moved) == [1, 2, 3, 4]


def test_throttled_replicas_are_named_as_apache_names_them() -> None:
    moved = {
        ("t", number): Move(sources=frozenset({1, 2}), destinations=frozenset({3}))
        for number in (0, 2, 10)
    } | {("u", 0): Move(sources=frozenset({1}), destinations=frozenset())}

    assert leader_throttles(moved) == {"t": "0:1,0:2,10:1,10:2,2:1,2:2", "u": "0:1"}
    assert follower_throttles(moved) == {"t": "0:3,10:3,2:3", "u": ""}
