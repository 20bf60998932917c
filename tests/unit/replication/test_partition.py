"""One partition: who may append and read, and when its records become visible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_broker import NODE_ID, SmallBroker
from storage_logs import NOW, batch

from barnabas.base.errors import (
    ApiError,
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeader,
    StorageFailed,
    UnknownLeaderEpoch,
)
from barnabas.replication.partition import Partition

OTHER = 2


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    yield made
    made.close()


def append(partition: Partition, *, acks: int = 1) -> int:
    return partition.append(batch(b"x"), acks=acks, now_ms=NOW).base_offset


def test_a_new_partition_leads_nothing_and_has_no_log() -> None:
    partition = Partition(node_id=NODE_ID, topic="t", index=3, topic_id=bytes(16))

    assert not partition.is_leader
    with pytest.raises(NotLeader):
        partition.leader_log()


@pytest.mark.parametrize(
    ("believed", "refusal"),
    [(-1, None), (-2, None), (5, None), (4, FencedLeaderEpoch), (6, UnknownLeaderEpoch)],
)
def test_a_client_must_believe_in_the_present_leader_epoch(
    world: SmallBroker, believed: int, refusal: type[ApiError] | None
) -> None:
    world.topic("t", leader_epoch=5)
    partition = world.partition("t")

    if refusal is None:
        assert partition.leader_log(believed) is partition.log
    else:
        with pytest.raises(refusal):
            partition.leader_log(believed)


def test_an_old_epoch_is_told_before_that_somebody_else_leads(world: SmallBroker) -> None:
    topic_id = world.topic("t", replicas=(NODE_ID, OTHER))
    world.change(topic_id, leader=OTHER)
    partition = world.partition("t")

    with pytest.raises(FencedLeaderEpoch):
        partition.leader_log(0)
    with pytest.raises(NotLeader):
        partition.leader_log(1)


def test_only_the_leader_appends(world: SmallBroker) -> None:
    world.topic("t", replicas=(NODE_ID, OTHER), leader=OTHER)

    with pytest.raises(NotLeader):
        append(world.partition("t"))


def test_acks_all_needs_enough_in_sync_replicas_and_acks_1_does_not(world: SmallBroker) -> None:
    world.topic("t", replicas=(NODE_ID, OTHER), isr=(NODE_ID,), min_insync_replicas="2")
    partition = world.partition("t")

    with pytest.raises(NotEnoughReplicas, match=r"min\.insync\.replicas is 2"):
        append(partition, acks=-1)
    assert append(partition, acks=1) == 0


def test_a_partition_whose_directory_failed_says_so(world: SmallBroker) -> None:
    world.topic("t")
    partition = world.partition("t")
    partition.log, partition.error = None, StorageFailed("the disk is gone")

    with pytest.raises(StorageFailed, match="the disk is gone"):
        append(partition)


def test_batches_carry_the_epoch_of_the_leader_that_appended_them(world: SmallBroker) -> None:
    topic_id = world.topic("t", replicas=(NODE_ID, OTHER), isr=(NODE_ID,), leader_epoch=3)
    world.append("t", b"a")
    world.replicas.write_dirty()
    world.change(topic_id, leader=NODE_ID)
    world.append("t", b"b")
    world.replicas.write_dirty()

    log = world.partition("t").leader_log()
    assert log.end_of_epoch(3) == (3, 1)
    assert log.end_of_epoch(4) == (4, 2)


def test_the_only_replica_makes_records_visible_once_they_are_written(world: SmallBroker) -> None:
    world.topic("t")
    partition = world.partition("t")
    append(partition)
    assert partition.log is not None
    assert not partition.advance_high_watermark()

    partition.log.write_pending()

    assert partition.advance_high_watermark()
    assert partition.log.high_watermark == 1


def test_with_followers_writing_alone_makes_nothing_visible(world: SmallBroker) -> None:
    world.topic("t", replicas=(NODE_ID, OTHER))
    partition = world.partition("t")
    append(partition)
    assert partition.log is not None
    partition.log.write_pending()

    assert not partition.advance_high_watermark()
    assert partition.log.high_watermark == 0


def test_when_the_isr_shrinks_to_the_leader_its_records_become_visible(world: SmallBroker) -> None:
    topic_id = world.topic("t", replicas=(NODE_ID, OTHER))
    world.append("t", b"a")
    world.replicas.write_dirty()
    log = world.partition("t").leader_log()
    assert log.high_watermark == 0

    world.change(topic_id, isr=[NODE_ID])

    assert log.high_watermark == 1


def test_leader_epochs_never_go_back() -> None:
    partition = Partition(node_id=NODE_ID, topic="t", index=0, topic_id=bytes(16))
    state = {"leader_id": NODE_ID, "partition_epoch": 0, "replicas": (1,), "isr": (1,)}
    partition.set_leadership(leader_epoch=4, **state)  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match="leader epoch went back"):
        partition.set_leadership(leader_epoch=3, **state)  # type: ignore[arg-type]
