from __future__ import annotations

from typing import Any

import pytest

from barnabas.controller.decider import periodic
from barnabas.controller.decider.periodic import PeriodicWork, decide_preferred, decide_unclean
from barnabas.protocol.messages import metadata_records as mr


def set_(world: Any, name: str, value: str, *, topic: str = "") -> None:
    kind = 2 if topic else 4
    world.replay(mr.ConfigRecord(resource_type=kind, resource_name=topic, name=name, value=value))


def names(work: PeriodicWork, world: Any, now_ms: int) -> list[str]:
    return [task.name for task in work.due(world.image, world.env, now_ms)]


def test_leaders_go_back_to_their_first_replica_where_that_is_in_sync(trio: Any) -> None:
    t = trio.add_topic("t", [1, 2], [1, 2], [3, 2], [2, 1, 3])
    for index, isr in ((1, [1, 2]), (2, [2]), (3, [1, 2, 3])):
        trio.replay(
            mr.PartitionChangeRecord(partition_id=index, topic_id=t, leader=isr[0], isr=isr)
        )
    trio.replay(
        mr.PartitionChangeRecord(partition_id=1, topic_id=t, leader=2),
        mr.PartitionChangeRecord(partition_id=3, topic_id=t, leader=1, removing_replicas=[3]),
    )

    assert decide_preferred(trio.image, trio.env).records == (
        mr.PartitionChangeRecord(partition_id=1, topic_id=t, leader=1),
    )


def test_partitions_without_leader_get_one_where_unclean_leaders_are_allowed(trio: Any) -> None:
    t = trio.add_topic("t", [1, 2], isr=[1])
    trio.add_topic("u", [1, 2], isr=[1])
    for topic in trio.image.topics_by_id:
        trio.replay(mr.PartitionChangeRecord(partition_id=0, topic_id=topic, leader=-1))
    trio.replay(
        mr.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=trio.image.brokers[1].epoch, fenced=1
        )
    )
    set_(trio, "unclean.leader.election.enable", "true", topic="t")

    assert decide_unclean(trio.image, trio.env).records == (
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=t, leader=2, isr=[2], leader_recovery_state=1
        ),
    )


def test_each_is_due_once_an_interval(trio: Any) -> None:
    work = PeriodicWork()

    assert names(work, trio, 0) == []
    assert names(work, trio, 299_999) == []
    assert names(work, trio, 300_000) == ["preferred", "unclean"]
    assert names(work, trio, 300_001) == []
    assert names(work, trio, 600_000) == ["preferred", "unclean"]


def test_the_intervals_are_settings(make_world: Any) -> None:
    world = make_world(
        **{
            "leader.imbalance.check.interval.seconds": "1",
            "unclean.leader.election.interval.ms": "2500",
        }
    )
    work = PeriodicWork()

    seen = [names(work, world, now) for now in range(0, 5_001, 1_000)]

    assert seen == [[], ["preferred"], ["preferred"], ["preferred", "unclean"], ["preferred"],
                    ["preferred"]]  # fmt: skip


def test_without_automatic_rebalance_leaders_stay_where_they_are(make_world: Any) -> None:
    world = make_world(**{"auto.leader.rebalance.enable": "false"})
    work = PeriodicWork()
    names(work, world, 0)

    assert names(work, world, 300_000) == ["unclean"]


def test_many_elections_are_held_in_several_turns(
    trio: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periodic, "ELECTIONS_MAX", 2)
    t = trio.add_topic("t", *([1, 2] for _ in range(3)))
    for index in range(3):
        trio.replay(mr.PartitionChangeRecord(partition_id=index, topic_id=t, leader=2))
    work = PeriodicWork()
    names(work, trio, 0)

    turns = []
    for now in (300_000, 300_001, 300_002):
        for task in work.due(trio.image, trio.env, now):
            decision = task.decide(trio.image, trio.env)
            work.decided(task, decision, now)
            trio.replay(*decision.records)
            turns.append((task.name, len(decision.records)))

    assert turns == [("preferred", 2), ("unclean", 0), ("preferred", 1)]
