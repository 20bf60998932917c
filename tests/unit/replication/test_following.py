"""What a follower does with its leader's answers, when its disk does not do as it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_broker import SmallBroker
from storage_logs import NOW, batch

from barnabas.base.errors import StorageFailed
from barnabas.replication import following

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
