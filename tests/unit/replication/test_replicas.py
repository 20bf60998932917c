"""All partitions of a broker: look-ups, metadata, one write per turn, and writes that fail."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct

import pytest
from small_broker import NODE_ID, SmallBroker
from storage_logs import values_of

from barnabas.base.errors import (
    ErrorCode,
    NotLeader,
    StorageFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from barnabas.protocol.messages import metadata_records as mr
from barnabas.replication.opening import AT_ONCE
from barnabas.replication.partition import Partition
from barnabas.replication.purgatory import Parked
from barnabas.storage.log import Log

OTHER = 2
RESULT = Struct(">hqqq")
Make = Callable[..., SmallBroker]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[SmallBroker] = []

    def start(**settings: str) -> SmallBroker:
        made.append(SmallBroker(tmp_path / str(len(made)), **settings))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def world(make: Make) -> SmallBroker:
    return make()


def shown(world: SmallBroker, topic: str, index: int = 0) -> list[bytes | None]:
    """What a consumer can read."""
    return values_of(world.partition(topic, index).leader_log())


class Outcome:
    """What an `after_write` callback sees of a partition."""

    def __init__(self, world: SmallBroker, partition: Partition) -> None:
        self.failures: list[StorageFailed | None] = []
        world.replicas.after_write(lambda: self.failures.append(partition.write_failure))


class Waiting:
    """A parked request that is content when `enough` says so."""

    def __init__(self, enough: Callable[[], bool]) -> None:
        self.enough = enough
        self.answers: list[str] = []

    def attempt(self, expired: bool) -> bool:
        if expired or self.enough():
            self.answers.append("expired" if expired else "enough")
            return True
        return False

    def parked(self, partition: Partition, deadline: float = 1e9) -> Parked:
        return Parked(self.attempt, [partition], deadline)


# Look-ups.


def test_partitions_are_found_by_name_and_by_id(world: SmallBroker) -> None:
    topic_id = world.topic("t", 2)

    found = world.replicas.get("t", 1)

    assert (found.topic, found.index, found.topic_id) == ("t", 1, topic_id)
    assert world.replicas.get_by_id(topic_id, 1) is found
    assert world.replicas.find("t", 1) is found
    assert world.replicas.find("t", 2) is None
    assert len(world.replicas.all()) == 2


def test_what_is_not_there_is_told_apart_from_what_is_elsewhere(world: SmallBroker) -> None:
    elsewhere = world.topic("elsewhere", replicas=(OTHER,))

    with pytest.raises(UnknownTopicOrPartition):
        world.replicas.get("t", 0)
    with pytest.raises(UnknownTopicId):
        world.replicas.get_by_id(bytes(15) + b"x", 0)
    with pytest.raises(NotLeader):
        world.replicas.get("elsewhere", 0)
    with pytest.raises(NotLeader):
        world.replicas.get_by_id(elsewhere, 0)
    with pytest.raises(UnknownTopicOrPartition):
        world.replicas.get("elsewhere", 1)


# Metadata.


def test_a_deleted_topic_is_gone_at_once_and_its_waiters_hear_of_it(world: SmallBroker) -> None:
    topic_id = world.topic("t")
    world.append("t", b"a")
    world.replicas.write_dirty()
    partition = world.partition("t")
    waiting = Waiting(lambda: not partition.is_leader)
    world.replicas.fetches.park(waiting.parked(partition))

    world.delete(topic_id)

    assert waiting.answers == ["enough"]
    assert not partition.is_leader
    assert partition.log is None
    assert world.logs.get("t", 0) is None
    with pytest.raises(UnknownTopicOrPartition):
        world.replicas.get("t", 0)


def test_batches_queued_for_a_topic_that_is_deleted_are_answered_as_written(
    world: SmallBroker,
) -> None:
    topic_id = world.topic("t")
    partition = world.partition("t")
    world.append("t", b"a")
    outcome = Outcome(world, partition)

    world.delete(topic_id)

    assert outcome.failures == [None]
    assert world.replicas.dirty == []


def test_a_topic_made_anew_under_its_old_name_starts_empty(world: SmallBroker) -> None:
    old = world.topic("t", topic_id=b"1" * 16)
    world.append("t", b"old")
    world.replicas.write_dirty()
    world.delete(old)

    new = world.topic("t", topic_id=b"2" * 16)

    assert shown(world, "t") == []
    with pytest.raises(UnknownTopicId):
        world.replicas.get_by_id(old, 0)
    assert world.replicas.get_by_id(new, 0) is world.partition("t")


def test_a_replica_that_moves_away_is_dropped_and_one_that_comes_is_made(
    world: SmallBroker,
) -> None:
    topic_id = world.topic("t", replicas=(NODE_ID, OTHER))
    world.change(topic_id, replicas=[OTHER], isr=[OTHER], leader=OTHER)
    assert world.replicas.all() == []

    world.change(topic_id, replicas=[OTHER, NODE_ID], isr=[OTHER])

    assert world.partition("t").leader_id == OTHER
    assert world.logs.get("t", 0) is not None


def test_changed_settings_reach_the_logs_of_the_topic(world: SmallBroker) -> None:
    world.topic("t", 2)
    world.topic("other")
    world.config = world.config.with_dynamic({"message.max.bytes": "77"}, {})

    world.replicas.reconfigure("t")

    limits = [
        world.partition(topic, index).leader_log().config.max_message_bytes
        for topic, index in (("t", 0), ("t", 1), ("other", 0))
    ]
    assert limits == [77, 77, 1_048_588]


def test_a_partition_on_a_broken_disk_is_there_but_offline(world: SmallBroker) -> None:
    world.logs.fail_directory(world.logs.directories[0], StorageFailed("broken"))

    world.topic("t")

    with pytest.raises(StorageFailed):
        world.append("t", b"a")


# Writing.


def test_nothing_is_visible_before_the_write_and_all_of_it_after(world: SmallBroker) -> None:
    world.topic("t")
    world.append("t", b"a")
    world.append("t", b"b", b"c")
    assert shown(world, "t") == []

    world.replicas.write_dirty()

    assert shown(world, "t") == [b"a", b"b", b"c"]
    assert world.replicas.dirty == []


def test_a_partition_is_written_once_however_many_batches_it_got(world: SmallBroker) -> None:
    world.topic("t", 2)
    for _ in range(3):
        world.append("t", b"a")
        world.append("t", b"b", index=1)

    assert [partition.index for partition in world.replicas.dirty] == [0, 1]


def test_callbacks_come_after_the_write_and_before_readers_are_woken(world: SmallBroker) -> None:
    world.topic("t")
    partition = world.partition("t")
    log = partition.leader_log()
    events: list[str] = []
    waiting = Waiting(lambda: not events.append("reader") and log.high_watermark > 0)
    world.replicas.fetches.park(waiting.parked(partition))
    world.append("t", b"a")
    world.replicas.after_write(lambda: events.append(f"writer {log.written_end_offset}"))

    world.replicas.write_dirty()

    assert events == ["writer 1", "reader"]
    assert waiting.answers == ["enough"]


def test_what_a_callback_appends_is_written_too(world: SmallBroker) -> None:
    world.topic("t")
    world.append("t", b"a")
    world.replicas.after_write(lambda: bool(world.append("t", b"b")))

    world.replicas.write_dirty()

    assert shown(world, "t") == [b"a", b"b"]


def test_who_gathers_is_called_before_the_write_once_and_also_by_what_a_write_leads_to(
    world: SmallBroker,
) -> None:
    world.topic("t")
    replicas = world.replicas
    replicas.before_write(lambda: bool(world.append("t", b"a")))

    def gather_more() -> None:
        assert shown(world, "t") == [b"a"], "the first write is being answered"
        replicas.before_write(lambda: bool(world.append("t", b"b")))

    replicas.after_write(gather_more)
    replicas.write_dirty()
    replicas.write_dirty()

    assert shown(world, "t") == [b"a", b"b"]


def test_a_callback_that_breaks_keeps_no_other_from_being_called(world: SmallBroker) -> None:
    world.topic("t")
    broken: list[int] = []
    world.replicas.before_write(lambda: broken.remove(1))
    world.replicas.before_write(lambda: bool(world.append("t", b"a")))

    world.replicas.write_dirty()

    assert shown(world, "t") == [b"a"]


def test_a_callback_without_any_batch_is_called(world: SmallBroker) -> None:
    called: list[int] = []
    world.replicas.after_write(lambda: called.append(1))

    world.replicas.write_dirty()
    world.replicas.write_dirty()

    assert called == [1]


def test_a_produce_to_all_replicas_waits_until_the_isr_has_it(world: SmallBroker) -> None:
    topic_id = world.topic("t", replicas=(NODE_ID, OTHER))
    partition = world.partition("t")
    world.append("t", b"a", acks=-1)
    log = partition.leader_log()
    waiting = Waiting(lambda: log.high_watermark > 0)
    world.replicas.produces.park(waiting.parked(partition))
    world.replicas.write_dirty()
    assert waiting.answers == []

    world.change(topic_id, isr=[NODE_ID])

    assert waiting.answers == ["enough"]


# Writes that fail.


def encoded(world: SmallBroker, out: list[object], partition: Partition) -> None:
    """Put a success answer into `out`, as the short way of Produce does."""
    partition.unconfirmed.append((out, len(out), 3))
    out.append(b"abc" + RESULT.pack(0, 41, 42, 43) + b"xyz")


def test_logs_that_a_full_disk_did_not_take_are_named_when_they_are_made(
    world: SmallBroker,
) -> None:
    """Who rests on them, as coordinators do, has to be told."""
    world.topic("before")
    world.disk.room = 0
    world.topic("t", 2)
    assert world.replicas.retry_full_disk() == []
    world.disk.room = None
    made = world.replicas.retry_full_disk()
    assert [(partition.topic, partition.index) for partition in made] == [("t", 0), ("t", 1)]
    assert all(partition.is_leader and partition.log is not None for partition in made)
    assert world.replicas.retry_full_disk() == []


def test_a_full_disk_refuses_what_was_queued_and_later_takes_more(world: SmallBroker) -> None:
    world.topic("t")
    partition = world.partition("t")
    world.append("t", b"a")
    world.replicas.write_dirty()
    world.disk.room = 0
    world.append("t", b"lost")
    outcome = Outcome(world, partition)
    out: list[object] = [b"another answer"]
    encoded(world, out, partition)

    world.replicas.write_dirty()

    refused = RESULT.pack(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)
    assert out == [b"another answer", b"abc" + refused + b"xyz"]
    assert [type(failure) for failure in outcome.failures] == [StorageFailed]
    assert partition.write_failure is None
    assert partition.unconfirmed == []
    assert shown(world, "t") == [b"a"]

    world.disk.room = None
    assert world.append("t", b"b").base_offset == 1
    world.replicas.write_dirty()
    assert shown(world, "t") == [b"a", b"b"]


def test_one_failed_write_leaves_the_others_of_the_turn_alone(make: Make) -> None:
    world = make(directories="one,two")
    world.topic("t", 2)
    first, second = world.partition("t", 0), world.partition("t", 1)
    world.append("t", b"a", index=0)
    world.append("t", b"b", index=1)
    outcomes = Outcome(world, first), Outcome(world, second)
    out: list[object] = []
    encoded(world, out, second)
    assert first.log is not None
    world.logs.fail_directory(world.logs.directory_of(first.log), StorageFailed("broken"))

    world.replicas.write_dirty()

    assert outcomes[0].failures != [None]
    assert outcomes[1].failures == [None]
    assert out == [b"abc" + RESULT.pack(0, 41, 42, 43) + b"xyz"]
    assert shown(world, "t", 1) == [b"b"]


def test_a_fault_in_one_answer_or_write_leaves_the_others_of_the_turn_alone(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault() -> None:
        raise AssertionError("planted")

    world = make(directories="one,two")
    world.topic("t", 2)
    first, second = world.partition("t", 0), world.partition("t", 1)
    world.append("t", b"a", index=0)
    world.append("t", b"b", index=1)
    world.replicas.after_write(fault)
    outcomes = Outcome(world, first), Outcome(world, second)
    monkeypatch.setattr(Log, "write_pending", either(fault, Log.write_pending, first.log))

    world.replicas.write_dirty()

    assert [type(failure) for failure in outcomes[0].failures] == [StorageFailed]
    assert outcomes[1].failures == [None]
    assert shown(world, "t", 1) == [b"b"]
    assert first.log is None, "nobody knows what it has"
    assert caplog.text.count("planted") >= 2


def either(
    fault: Callable[[], None], write: Callable[[Log], None], broken: Log | None
) -> Callable[[Log], None]:
    """Writing, which fails for one log."""
    return lambda log: fault() if log is broken else write(log)


def test_a_log_that_cannot_be_deleted_does_not_keep_other_changes_from_being_applied(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(directories="one,two")
    first, second = world.topic("first"), world.topic("second")
    broken = world.partition("first").leader_log().directory

    def rename(old: str, new: str) -> None:
        if old == broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.replace(old, new)

    monkeypatch.setattr(world.disk, "rename", rename, raising=False)

    world.replay(mr.RemoveTopicRecord(topic_id=first), mr.RemoveTopicRecord(topic_id=second))

    assert [world.replicas.find(topic, 0) for topic in ("first", "second")] == [None, None]
    assert world.logs.get("second", 0) is None
    assert [directory.failure is None for directory in world.logs.directories] == [False, True]


def test_a_broken_disk_takes_its_whole_directory_out_of_service(world: SmallBroker) -> None:
    world.topic("t", 3)
    outs: list[list[object]] = [[], [], []]
    for index in (0, 1):
        world.append("t", b"a", index=index)
        encoded(world, outs[index], world.partition("t", index))
    reader = Waiting(lambda: world.partition("t", 2).log is None)
    world.replicas.fetches.park(reader.parked(world.partition("t", 2)))
    world.disk.broken = True

    world.replicas.write_dirty()

    refused = RESULT.pack(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)
    assert outs == [[b"abc" + refused + b"xyz"], [b"abc" + refused + b"xyz"], []]
    assert reader.answers == ["enough"]
    assert world.logs.usable_directories() == []
    for index in range(3):
        with pytest.raises(StorageFailed):
            world.append("t", b"a", index=index)


def test_a_partition_written_before_its_directory_failed_keeps_its_answer(
    world: SmallBroker,
) -> None:
    world.topic("t", 2)
    world.append("t", b"a", index=0)
    world.append("t", b"b", index=1)
    written = Outcome(world, world.partition("t", 0))
    failed = Outcome(world, world.partition("t", 1))
    log = world.partition("t", 0).leader_log()
    write = log.pool.calls.pwritev

    def once(fd: int, parts: list[memoryview], position: int) -> int:
        done = write(fd, parts, position)
        world.disk.broken = True
        return done

    world.disk.pwritev = once  # type: ignore[assignment, method-assign]

    world.replicas.write_dirty()

    assert written.failures == [None]
    assert [type(failure) for failure in failed.failures] == [StorageFailed]


@pytest.mark.parametrize("kind", ["full", "broken"])
def test_a_batch_that_needs_a_new_segment_on_a_bad_disk_fails_the_turn(
    make: Make, kind: str
) -> None:
    world = make()
    world.topic("t", segment_bytes="1048576")
    partition = world.partition("t")
    world.append("t", bytes(600_000))
    queued = Outcome(world, partition)
    world.disk.room, world.disk.broken = (0, False) if kind == "full" else (None, True)

    with pytest.raises(StorageFailed):
        world.append("t", bytes(600_000))
    world.replicas.write_dirty()

    assert [type(failure) for failure in queued.failures] == [StorageFailed]
    assert bool(world.logs.usable_directories()) is (kind == "full")


def test_a_disk_that_cannot_begin_a_segment_is_given_up_at_once(make: Make) -> None:
    world = make()
    world.topic("t", segment_bytes="1048576")
    world.append("t", bytes(600_000))
    world.replicas.write_dirty()
    world.disk.broken = True

    with pytest.raises(StorageFailed):
        world.append("t", bytes(600_000))

    assert world.logs.usable_directories() == []
    assert world.partition("t").log is None


# Time.


def test_the_next_deadline_is_the_earliest_of_fetches_and_produces(world: SmallBroker) -> None:
    world.topic("t")
    partition, replicas = world.partition("t"), world.replicas
    assert replicas.next_deadline() is None
    fetch, produce = Waiting(lambda: False), Waiting(lambda: False)
    replicas.fetches.park(fetch.parked(partition, 5.0))
    assert replicas.next_deadline() == 5.0
    replicas.produces.park(produce.parked(partition, 3.0))
    assert replicas.next_deadline() == 3.0

    replicas.expire(3.0)
    assert (fetch.answers, produce.answers) == ([], ["expired"])
    assert replicas.next_deadline() == 5.0

    replicas.expire(6.0)
    assert fetch.answers == ["expired"]
    assert replicas.next_deadline() is None


def test_a_fetch_of_many_partitions_is_tried_once_when_they_all_change(world: SmallBroker) -> None:
    """A broker that goes takes thousands with it, and others wait in one fetch for them all."""
    topic = world.topic("many", 50, replicas=(NODE_ID, 2))
    tries: list[bool] = []

    def attempt(expired: bool) -> bool:
        tries.append(expired)
        return False

    watched = [world.partition("many", index) for index in range(50)]
    world.replicas.fetches.park(Parked(attempt, [*watched, world.replicas.tail(2)], 1e9))

    world.replay(
        *(
            mr.PartitionChangeRecord(partition_id=index, topic_id=topic, isr=[NODE_ID])
            for index in range(50)
        )
    )

    assert len(tries) <= 2  # for what it watches as a client, and as a follower


# Many at once.


def test_more_logs_than_a_turn_bears_are_made_in_turns_of_their_own(world: SmallBroker) -> None:
    asked: list[None] = []
    world.replicas.on_unopened = lambda: asked.append(None)
    world.topic("many", AT_ONCE + 10)
    last = world.partition("many", AT_ONCE + 9)
    assert world.partition("many", AT_ONCE - 1).leader_log().end_offset == 0
    assert len(asked) == 1
    with pytest.raises(NotLeader):
        last.leader_log()

    opened = world.replicas.open_more()

    assert [each.index for each in opened] == list(range(AT_ONCE, AT_ONCE + 10))
    assert last.leader_log().end_offset == 0
    assert world.replicas.open_more() == []
    assert len(asked) == 1


def test_a_topic_that_is_deleted_before_its_logs_are_made_leaves_nothing(
    world: SmallBroker,
) -> None:
    topic_id = world.topic("many", AT_ONCE + 10)

    world.delete(topic_id)

    assert world.replicas.open_more() == []
    assert world.logs.get("many", AT_ONCE) is None
