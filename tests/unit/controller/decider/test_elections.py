from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barnabas.controller.decider.elections import (
    Ballot,
    Elected,
    Elections,
    Wish,
    broker_comes,
    broker_goes,
    choose_leader,
    difference,
    finished,
    with_eligible,
)
from barnabas.controller.image_types import LOST_DIRECTORY, PartitionImage
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord

T = b"t".ljust(16, b"\0")
DIRS = (b"a" * 16, b"b" * 16, b"c" * 16)
PARTITION = PartitionImage(
    replicas=(1, 2, 3), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=9, directories=DIRS
)


def there(*brokers: int):  # type: ignore[no-untyped-def]
    return lambda broker: broker in brokers


# Choosing


@pytest.mark.parametrize(
    ("alive", "ballot", "expected"),
    [
        ((1, 2, 3), Ballot.ONLINE, Elected(1)),
        ((2, 3), Ballot.ONLINE, Elected(2)),
        ((3,), Ballot.ONLINE, Elected(-1)),
        ((3,), Ballot.PREFERRED, Elected(-1)),
        ((3,), Ballot.UNCLEAN, Elected(3, unclean=True)),
        ((2, 3), Ballot.UNCLEAN, Elected(2)),
        ((), Ballot.UNCLEAN, Elected(-1)),
    ],
)
def test_the_leader_stays_or_the_first_in_sync_follows(
    alive: tuple[int, ...], ballot: Ballot, expected: Elected
) -> None:
    assert choose_leader(PARTITION, there(*alive), ballot) == expected


def test_a_leader_that_is_not_the_first_replica_stays_unless_the_first_is_preferred() -> None:
    partition = replace(PARTITION, leader=2)

    assert choose_leader(partition, there(1, 2, 3), Ballot.ONLINE) == Elected(2)
    assert choose_leader(partition, there(1, 2, 3), Ballot.PREFERRED) == Elected(1)
    assert choose_leader(partition, there(2, 3), Ballot.PREFERRED) == Elected(2)


def test_with_nobody_in_sync_an_eligible_replica_comes_before_an_unclean_one() -> None:
    partition = replace(PARTITION, isr=(), leader=-1, elr=(3,))

    assert choose_leader(partition, there(2, 3), Ballot.UNCLEAN) == Elected(3)


def test_an_eligible_replica_does_not_lead_while_somebody_is_in_sync() -> None:
    partition = replace(PARTITION, isr=(1,), elr=(3,))

    assert choose_leader(partition, there(3), Ballot.ONLINE) == Elected(-1)


def test_when_nobody_is_safe_the_last_leader_comes_back_uncleanly() -> None:
    partition = replace(PARTITION, isr=(), leader=-1, last_known_elr=(2,))

    assert choose_leader(partition, there(2, 3), Ballot.ONLINE) == Elected(2, unclean=True)
    assert choose_leader(partition, there(3), Ballot.ONLINE) == Elected(-1)


# Reassignments


def test_a_reassignment_ends_when_all_that_stay_are_in_sync() -> None:
    moving = replace(PARTITION, adding=(3,), removing=(1,))

    assert finished(moving) is moving
    assert finished(replace(moving, isr=(1, 2, 3))) == replace(
        PARTITION, replicas=(2, 3), isr=(2, 3), directories=DIRS[1:]
    )


def test_a_reassignment_that_only_removes_ends_at_once() -> None:
    assert finished(replace(PARTITION, removing=(3,))) == replace(
        PARTITION, replicas=(1, 2), directories=DIRS[:2]
    )


def test_an_isr_is_never_moved_away_from() -> None:
    moving = replace(PARTITION, isr=(1,), removing=(1,))

    assert finished(moving) is moving
    everything = replace(PARTITION, removing=(1, 2, 3))
    assert finished(everything) is everything


# Eligible replicas


@pytest.mark.parametrize(
    ("isr", "elr", "to_be", "min_isr", "lost", "expected"),
    [
        ((1, 2, 3), (), (1, 2), 2, -1, ()),
        ((1, 2), (), (1,), 2, -1, (2,)),
        ((1,), (2,), (), 2, -1, (1, 2)),
        ((1,), (2,), (), 2, 1, (2,)),
        ((), (1, 2), (2,), 2, -1, (1,)),
        ((2,), (1,), (2, 1), 2, -1, ()),
        ((2,), (1,), (2, 3), 3, -1, (1,)),
    ],
)
def test_who_leaves_an_isr_below_the_minimum_is_eligible(
    *,
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    to_be: tuple[int, ...],
    min_isr: int,
    lost: int,
    expected: tuple[int, ...],
) -> None:
    old = replace(PARTITION, isr=isr, elr=elr)

    goal = with_eligible(replace(old, isr=to_be), old, min_isr=min_isr, lost=lost)

    assert goal.elr == expected


def enable_elr(world: Any, min_isr: int) -> None:
    world.replay(
        mr.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        mr.ConfigRecord(
            resource_type=4, resource_name="", name="min.insync.replicas", value=str(min_isr)
        ),
    )


def go(world: Any, broker_id: int, *, uncleanly: bool = False) -> Any:
    records = broker_goes(world.image, broker_id, world.env, uncleanly=uncleanly)
    world.replay(
        *records,
        mr.BrokerRegistrationChangeRecord(
            broker_id=broker_id, broker_epoch=world.image.brokers[broker_id].epoch, fenced=1
        ),
    )
    return world.image.partition("t", 0)


def come(world: Any, broker_id: int) -> Any:
    records = list(broker_comes(world.image, broker_id, world.env))
    world.replay(
        mr.BrokerRegistrationChangeRecord(
            broker_id=broker_id, broker_epoch=world.image.brokers[broker_id].epoch, fenced=-1
        ),
        *records,
    )
    return world.image.partition("t", 0)


def test_the_life_of_a_partition_with_eligible_replicas(trio: Any) -> None:
    trio.add_topic("t", [1, 2, 3])
    enable_elr(trio, 2)

    partition = go(trio, 3)
    assert (partition.isr, partition.elr, partition.leader) == ((1, 2), (), 1)
    partition = go(trio, 2)
    assert (partition.isr, partition.elr, partition.leader) == ((1,), (2,), 1)
    partition = go(trio, 1)
    assert (partition.isr, partition.elr, partition.leader) == ((), (1, 2), -1)
    assert partition.last_known_elr == (1,)

    partition = come(trio, 3)
    assert partition.leader == -1, "3 may lack what was committed without it"
    partition = come(trio, 2)
    assert (partition.isr, partition.elr, partition.leader) == ((2,), (1,), 2)
    assert partition.last_known_elr == ()
    assert not partition.recovering


def test_who_may_have_lost_records_is_not_eligible(trio: Any) -> None:
    trio.add_topic("t", [1, 2])
    enable_elr(trio, 2)
    go(trio, 2)
    partition = go(trio, 1)
    assert (partition.isr, partition.elr, partition.last_known_elr) == ((), (1, 2), (1,))

    partition = go(trio, 2, uncleanly=True)
    assert partition.elr == (1,)
    partition = go(trio, 1, uncleanly=True)
    assert (partition.isr, partition.elr, partition.leader) == ((), (), -1)

    assert come(trio, 2).leader == -1
    partition = come(trio, 1)
    assert (partition.isr, partition.leader) == ((1,), 1), "the last leader had most"
    assert partition.recovering


# Plans


def test_the_last_one_in_sync_is_waited_for(trio: Any) -> None:
    trio.add_topic("t", [1, 2], isr=[1])

    assert list(broker_goes(trio.image, 1, trio.env)) == [
        PartitionChangeRecord(partition_id=0, topic_id=T, leader=-1)
    ]


def test_an_unclean_leader_is_the_whole_isr_and_must_recover(make_world: Any) -> None:
    world = make_world(**{"unclean.leader.election.enable": "true"})
    world.add_broker(1)
    world.add_broker(2)
    world.add_topic("t", [1, 2], isr=[1])

    assert list(broker_goes(world.image, 1, world.env)) == [
        PartitionChangeRecord(
            partition_id=0, topic_id=T, isr=[2], leader=2, leader_recovery_state=1
        )
    ]


def test_a_replica_in_a_directory_that_is_gone_does_not_lead(trio: Any) -> None:
    trio.add_topic("t", [1, 2, 3])
    gone = {2: LOST_DIRECTORY}

    record = Elections(trio.image, trio.env, going=1).plan(
        trio.image.topics["t"], 0, Wish(isr=(2, 3), directories=gone)
    )

    assert record is not None
    assert record.leader == 3


def test_a_new_replica_gets_its_brokers_directory(trio: Any) -> None:
    trio.add_topic("t", [1, 2])

    record = Elections(trio.image, trio.env).plan(
        trio.image.topics["t"], 0, Wish(replicas=(1, 2, 3), adding=(3,))
    )

    unassigned = bytes(15) + b"\1"
    assert record == PartitionChangeRecord(
        partition_id=0,
        topic_id=T,
        replicas=[1, 2, 3],
        adding_replicas=[3],
        directories=[unassigned, unassigned, trio.image.brokers[3].log_dirs[0]],
    )


def test_what_is_already_so_needs_no_record(trio: Any) -> None:
    trio.add_topic("t", [1, 2, 3])

    assert Elections(trio.image, trio.env).plan(trio.image.topics["t"], 0) is None


def test_a_replica_that_is_taken_away_starts_a_new_leader_epoch() -> None:
    fewer = replace(PARTITION, replicas=(1, 2), directories=DIRS[:2])

    assert difference(T, 0, PARTITION, fewer) == PartitionChangeRecord(
        partition_id=0, topic_id=T, replicas=[1, 2], directories=list(DIRS[:2]), leader=1
    )
