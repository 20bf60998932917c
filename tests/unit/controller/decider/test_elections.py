from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.controller.decider.elections import Election, choose_leader, partition_change
from barnabas.controller.image_types import PartitionImage
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord

T = b"t" * 16
PARTITION = PartitionImage(
    replicas=(1, 2, 3), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=9
)


def active(*brokers: int):  # type: ignore[no-untyped-def]
    return lambda broker: broker in brokers


@pytest.mark.parametrize(
    ("alive", "unclean", "expected"),
    [
        ((1, 2, 3), False, Election(1)),
        ((2, 3), False, Election(2)),
        ((3,), False, Election(-1)),
        ((3,), True, Election(3, unclean=True)),
        ((2, 3), True, Election(2)),
        ((), True, Election(-1)),
    ],
)
def test_the_leader_stays_or_the_first_in_sync_follows(
    alive: tuple[int, ...], unclean: bool, expected: Election
) -> None:
    assert choose_leader(PARTITION, active(*alive), unclean=unclean) == expected


def test_a_leader_that_is_not_the_first_replica_stays_unless_the_first_is_preferred() -> None:
    partition = replace(PARTITION, leader=2)

    assert choose_leader(partition, active(1, 2, 3)) == Election(2)
    assert choose_leader(partition, active(1, 2, 3), prefer_first=True) == Election(1)
    assert choose_leader(partition, active(2, 3), prefer_first=True) == Election(2)


def test_a_replica_that_has_everything_committed_comes_before_an_unclean_one() -> None:
    partition = replace(PARTITION, elr=(3,))

    assert choose_leader(partition, active(3), unclean=True) == Election(3)


def test_the_isr_to_be_counts_not_the_isr_that_is() -> None:
    assert choose_leader(PARTITION, active(1, 2, 3), isr=(2,)) == Election(2)


def test_what_is_already_so_needs_no_record() -> None:
    assert partition_change(T, 0, PARTITION, isr=(1, 2), election=Election(1)) is None


def test_the_last_in_sync_replica_is_never_dropped() -> None:
    alone = replace(PARTITION, isr=(1,))

    assert partition_change(T, 5, alone, isr=(), election=Election(-1)) == PartitionChangeRecord(
        partition_id=5, topic_id=T, leader=-1
    )


def test_an_unclean_leader_is_the_whole_isr_and_must_recover() -> None:
    record = partition_change(T, 0, PARTITION, isr=(), election=Election(3, unclean=True))

    assert record == PartitionChangeRecord(
        partition_id=0, topic_id=T, isr=[3], leader=3, leader_recovery_state=1
    )


def test_who_leads_is_no_longer_only_eligible() -> None:
    partition = replace(PARTITION, isr=(1,), elr=(2, 3))

    assert partition_change(T, 0, partition, isr=(), election=Election(2)) == PartitionChangeRecord(
        partition_id=0, topic_id=T, isr=[2], leader=2, eligible_leader_replicas=[3]
    )
