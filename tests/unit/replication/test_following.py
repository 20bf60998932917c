"""What a follower does with its leader's answers that is not the usual thing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_broker import SmallBroker
from storage_logs import NOW, batch

from barnabas.base.errors import OffsetOutOfRange, StorageFailed
from barnabas.replication import following
from barnabas.replication.fetcher import Reset
from barnabas.storage.checkpoint import RECOVERY_POINTS

LEADER = 2


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    yield made
    made.close()


def two_batches(first_offset: int) -> memoryview:
    """The second is so much later that it begins a new segment."""
    return memoryview(
        bytes(batch(b"a", base_offset=first_offset, leader_epoch=0))
        + bytes(batch(b"b", base_offset=first_offset + 1, leader_epoch=0, timestamp=NOW + 100_000))
    )


def test_a_disk_that_was_full_in_the_middle_of_an_answer_takes_it_later(
    world: SmallBroker,
) -> None:
    topic_id = world.topic(
        "t", replicas=(LEADER, 1), isr=(LEADER, 1), leader=LEADER, segment_ms="1000"
    )
    partition = world.replicas.get_by_id(topic_id, 0)
    assert partition.log is not None
    world.disk.room = 0
    with pytest.raises(StorageFailed):
        following.append(world.replicas, partition, two_batches(0), now_ms=NOW)
    world.replicas.write_dirty()
    assert partition.log.written_end_offset == partition.log.end_offset == 0

    world.disk.room = None
    following.append(world.replicas, partition, two_batches(0), now_ms=NOW)
    world.replicas.write_dirty()
    assert partition.log.written_end_offset == 2


def values(*base_and_count: tuple[int, int]) -> memoryview:
    return memoryview(
        b"".join(
            bytes(batch(*[b"v"] * count, base_offset=base, leader_epoch=0))
            for base, count in base_and_count
        )
    )


def test_a_leaders_log_that_begins_in_the_middle_of_a_batch_is_copied(world: SmallBroker) -> None:
    """DeleteRecords does that; the batch comes as a whole."""
    topic_id = world.topic("t", replicas=(LEADER, 1), isr=(LEADER,), leader=LEADER)
    partition = world.replicas.get_by_id(topic_id, 0)
    log = partition.log
    assert log is not None
    following.reset(world.replicas, partition, Reset(7, is_whole_log=True), now_ms=NOW)
    assert (log.start_offset, log.end_offset) == (7, 7)

    following.append(world.replicas, partition, values((4, 6), (10, 2)), now_ms=NOW)
    world.replicas.write_dirty()
    following.follow_watermarks(world.replicas, partition, 12, 7)

    assert (log.start_offset, log.written_end_offset, log.high_watermark) == (7, 12, 12)
    assert log.segments.active.base_offset == 4


def test_a_log_that_begins_earlier_than_it_was_to_is_not_taken_for_durable(
    world: SmallBroker,
) -> None:
    topic_id = world.topic("t", replicas=(LEADER, 1), isr=(LEADER,), leader=LEADER)
    partition = world.replicas.get_by_id(topic_id, 0)
    following.reset(world.replicas, partition, Reset(7, is_whole_log=True), now_ms=NOW)
    (directory,) = world.logs.directories
    world.logs.housekeeping.write_checkpoints(directory)

    following.append(world.replicas, partition, values((4, 6)), now_ms=NOW)
    world.replicas.write_dirty()

    assert directory.read_checkpoint(RECOVERY_POINTS) == {("t", 0): 4}


def test_a_log_whose_last_write_failed_is_not_begun_anew(world: SmallBroker) -> None:
    """Whoever queued it has to hear of it first."""
    topic_id = world.topic(
        "t", replicas=(LEADER, 1), isr=(LEADER,), leader=LEADER, segment_ms="1000"
    )
    partition = world.replicas.get_by_id(topic_id, 0)
    following.reset(world.replicas, partition, Reset(7, is_whole_log=True), now_ms=NOW)
    world.disk.room = 0
    with pytest.raises(StorageFailed):
        following.append(world.replicas, partition, two_batches(7), now_ms=NOW)
    with pytest.raises(StorageFailed):
        following.append(world.replicas, partition, values((4, 6)), now_ms=NOW)


@pytest.mark.parametrize("first", [(0, 7), (0, 3)])
def test_a_batch_from_before_the_beginning_is_refused(
    world: SmallBroker, first: tuple[int, int]
) -> None:
    topic_id = world.topic("t", replicas=(LEADER, 1), isr=(LEADER,), leader=LEADER)
    partition = world.replicas.get_by_id(topic_id, 0)
    following.reset(world.replicas, partition, Reset(7, is_whole_log=True), now_ms=NOW)
    with pytest.raises(OffsetOutOfRange):
        following.append(world.replicas, partition, values(first), now_ms=NOW)
    assert partition.log is not None
    assert partition.log.end_offset == 7


def test_a_log_that_has_records_is_not_begun_anew(world: SmallBroker) -> None:
    topic_id = world.topic("t", replicas=(LEADER, 1), isr=(LEADER,), leader=LEADER)
    partition = world.replicas.get_by_id(topic_id, 0)
    following.append(world.replicas, partition, values((0, 3)), now_ms=NOW)
    world.replicas.write_dirty()
    with pytest.raises(OffsetOutOfRange):
        following.append(world.replicas, partition, values((1, 5)), now_ms=NOW)
    assert partition.log is not None
    assert (partition.log.start_offset, partition.log.end_offset) == (0, 3)
