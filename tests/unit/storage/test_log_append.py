"""Appending: offsets, epochs, repeats, rolling, what a failed write leaves, control batches."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from storage_logs import (
    NOW,
    FlakyDisk,
    Place,
    QuickDisk,
    append,
    batch,
    fill,
    records_of,
    values_of,
    write,
)

from barnabas.base.errors import (
    CorruptMessage,
    InvalidProducerEpoch,
    MessageTooLarge,
    OffsetOutOfRange,
    OutOfOrderSequenceNumber,
    StorageFailed,
)
from barnabas.records.batch import Record, encode_batch, read_header
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Appended, Log
from barnabas.storage.txn_index import AbortedTransaction

DAY = 24 * 3600 * 1000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "t-0")


@pytest.fixture
def log(place: Place) -> Log:
    return place.open()


def idempotent(
    sequence: int, *values: bytes, epoch: int = 0, transactional: bool = False
) -> memoryview:
    return batch(
        *values, producer_id=9, epoch=epoch, sequence=sequence, transactional=transactional
    )


def test_batches_get_dense_offsets_and_the_leaders_epoch(log: Log) -> None:
    first = append(log, batch(b"a", b"b"), leader_epoch=4)
    second = append(log, batch(b"c"), leader_epoch=4)
    assert first == Appended(0, 1, -1, 0)
    assert second == Appended(2, 2, -1, 0)
    assert [(record.offset, record.value) for record in records_of(log)] == [
        (0, b"a"),
        (1, b"b"),
        (2, b"c"),
    ]
    written = read_header(log.read(0, max_bytes=100, end_offset=3, at_least_one=True).read())
    assert written.leader_epoch == 4
    assert log.end_of_epoch(4) == (4, 3)


def test_nothing_is_seen_before_it_is_written(log: Log) -> None:
    log.append_as_leader(batch(b"a"), leader_epoch=0, now_ms=NOW)
    assert log.is_dirty
    assert log.end_offset == 1
    assert log.written_end_offset == 0
    assert len(log.read(0, max_bytes=100, end_offset=1, at_least_one=True)) == 0
    log.write_pending()
    assert not log.is_dirty
    assert len(log.read(0, max_bytes=100, end_offset=1, at_least_one=True)) > 0


def test_log_append_time_is_told_and_kept(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    log = place.open()
    appended = append(log, batch(b"a", timestamp=5), now_ms=NOW)
    assert appended.log_append_time == NOW
    assert [record.timestamp for record in records_of(log)] == [NOW]


def test_a_batch_is_converted_to_the_topics_codec(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(compression_type="gzip"))
    log = place.open()
    append(log, batch(b"a" * 1000))
    append(log, batch(b"b" * 1000))
    assert values_of(log) == [b"a" * 1000, b"b" * 1000]
    assert log.size_bytes < 500


def test_what_is_refused_leaves_no_trace(log: Log) -> None:
    damaged = batch(b"a")
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        append(log, damaged)
    log.reconfigure(LogConfig(max_message_bytes=100))
    with pytest.raises(MessageTooLarge):
        append(log, batch(b"a" * 200))
    assert log.end_offset == 0
    assert not log.is_dirty


def test_an_exact_repeat_is_told_what_the_first_was_told(log: Log) -> None:
    first = append(log, idempotent(0, b"a", b"b"))
    append(log, idempotent(2, b"c"))
    again = append(log, idempotent(0, b"a", b"b"))
    assert again == first._replace(log_append_time=NOW)
    assert log.end_offset == 3


def test_a_repeat_within_one_loop_turn_is_known_too(log: Log) -> None:
    first = log.append_as_leader(idempotent(0, b"a"), leader_epoch=0, now_ms=NOW)
    again = log.append_as_leader(idempotent(0, b"a"), leader_epoch=0, now_ms=NOW)
    assert again.base_offset == first.base_offset == 0
    log.write_pending()
    assert log.end_offset == 1


def test_sequence_and_epoch_are_checked(log: Log) -> None:
    append(log, idempotent(0, b"a", epoch=1))
    with pytest.raises(OutOfOrderSequenceNumber):
        append(log, idempotent(2, b"c", epoch=1))
    with pytest.raises(InvalidProducerEpoch):
        append(log, idempotent(1, b"b", epoch=0))
    append(log, idempotent(0, b"b", epoch=2))
    assert values_of(log) == [b"a", b"b"]


# Rolling.


def test_a_full_segment_is_closed_and_named_by_the_next_offset(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(segment_bytes=1000))
    log = place.open()
    fill(log, 20, size=200)
    assert len(log.segments) > 3
    bases = [segment.base_offset for segment in log.segments]
    assert place.names(".log") == [f"{base:020d}.log" for base in bases]
    assert place.names(".snapshot") == [f"{base:020d}.snapshot" for base in bases[1:]]
    assert len(values_of(log)) == 20
    for segment in log.segments:
        assert segment.size_bytes <= 1000


def test_a_segment_is_closed_when_a_timestamp_is_too_far_from_its_first(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(segment_ms=1000)).open()
    append(log, batch(b"a", timestamp=NOW))
    append(log, batch(b"b", timestamp=NOW + 1000))
    assert len(log.segments) == 1
    append(log, batch(b"c", timestamp=NOW + 1001))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_without_timestamps_the_age_of_the_segment_counts(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(segment_ms=1000)).open()
    append(log, batch(b"a", timestamp=-1), now_ms=NOW + 900)
    append(log, batch(b"b", timestamp=-1), now_ms=NOW + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_compaction_may_not_have_to_wait_for_a_segment_to_fill(tmp_path: Path) -> None:
    config = LogConfig(cleanup_policy=("compact",), max_compaction_lag_ms=500)
    log = Place(tmp_path, config).open()
    append(log, batch(b"a", timestamp=NOW))
    append(log, batch(b"b", timestamp=NOW + 501))
    assert len(log.segments) == 2


def test_a_segment_with_full_indexes_is_closed(tmp_path: Path) -> None:
    config = LogConfig(index_interval_bytes=1, segment_index_bytes=48)  # three time entries
    log = Place(tmp_path, config).open()
    fill(log, 12, step=1)
    assert len(log.segments) == 3


def test_an_offset_too_far_from_the_base_begins_a_segment(log: Log) -> None:
    append(log, batch(b"a"))
    far = 3_000_000_000
    log.append_as_follower(batch(b"b", base_offset=far, leader_epoch=1), now_ms=NOW)
    write(log)
    assert [segment.base_offset for segment in log.segments] == [0, far - (2**31 - 1)]
    assert values_of(log) == [b"a", b"b"]
    assert log.end_offset == far + 1


def test_an_empty_segment_that_a_hole_makes_useless_goes_away(log: Log, place: Place) -> None:
    far = 3_000_000_000
    log.append_as_follower(batch(b"b", base_offset=far, leader_epoch=1), now_ms=NOW)
    write(log)
    assert len(log.segments) == 1
    assert len(place.names(".log")) == 1


def test_rolling_an_empty_log_changes_nothing(log: Log) -> None:
    log.roll(NOW)
    assert len(log.segments) == 1


def test_settings_hold_from_the_next_append_on(log: Log) -> None:
    fill(log, 3)
    log.reconfigure(LogConfig(segment_bytes=100))
    append(log, batch(b"x"))
    assert len(log.segments) == 2


# Failing writes.


def flaky(tmp_path: Path, **settings: int) -> tuple[Log, FlakyDisk, Place]:
    disk = FlakyDisk()
    place = Place(tmp_path, LogConfig(**settings), disk=disk)
    return place.open(), disk, place


def abort(log: Log, producer_id: int) -> None:
    """Queue the marker that ends its transaction."""
    log.append_control(
        producer_id=producer_id,
        producer_epoch=0,
        is_commit=False,
        coordinator_epoch=0,
        leader_epoch=2,
        now_ms=NOW,
    )


def facts(log: Log) -> object:
    return (
        log.start_offset,
        log.end_offset,
        log.high_watermark,
        log.size_bytes,
        [(s.base_offset, s.size_bytes, list(s.index), list(s.times)) for s in log.segments],
        [segment.max_timestamp for segment in log.segments],
        {entry.producer_id: entry.state() for entry in log.active_producers()},
        log.epochs.entries,
        log.last_stable_offset,
        log.aborted_transactions(0, log.end_offset),
    )


def test_a_full_disk_takes_back_everything_queued(tmp_path: Path) -> None:
    log, disk, place = flaky(tmp_path, index_interval_bytes=1)
    append(log, idempotent(0, b"a"), leader_epoch=1)
    append(log, batch(b"n", timestamp=NOW + 5), leader_epoch=1)
    before = facts(log)
    disk.room = 10
    log.append_as_leader(idempotent(1, b"b"), leader_epoch=2, now_ms=NOW)
    log.append_as_leader(batch(b"x" * 50, timestamp=NOW + 99), leader_epoch=2, now_ms=NOW)
    log.append_as_leader(
        batch(b"y", producer_id=44, epoch=0, sequence=0, transactional=True),
        leader_epoch=2,
        now_ms=NOW,
    )
    abort(log, 44)
    with pytest.raises(StorageFailed):
        log.write_pending()
    assert facts(log) == before
    assert not log.is_dirty
    disk.room = None
    append(log, idempotent(1, b"b"), leader_epoch=2)
    assert values_of(log) == [b"a", b"n", b"b"]
    assert facts(place.open(high_watermark=3)) == facts(log)


def test_a_failed_write_forgets_no_transaction_that_was_aborted_before(tmp_path: Path) -> None:
    log, disk, place = flaky(tmp_path)
    log.append_as_leader(
        batch(b"y", producer_id=44, epoch=0, sequence=0, transactional=True),
        leader_epoch=0,
        now_ms=NOW,
    )
    abort(log, 44)
    write(log)
    log.close()
    log = place.open(clean=True, high_watermark=2)
    aborted = place.open(clean=True, high_watermark=2).aborted_transactions(0, 2)
    assert len(aborted) == 1

    log.append_as_leader(batch(b"b"), leader_epoch=0, now_ms=NOW)
    abort(log, 44)
    assert log.aborted_transactions(0, 2) == aborted  # a reader comes before the write
    disk.room = 0
    with pytest.raises(StorageFailed):
        log.write_pending()

    assert log.aborted_transactions(0, 2) == aborted


def test_a_log_that_cannot_be_opened_to_write_it_keeps_nothing_of_what_was_queued(
    tmp_path: Path,
) -> None:
    class NoDescriptors(QuickDisk):
        none_left = False

        def open(self, path: str, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
            if self.none_left:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return os.open(path, flags, mode)

    disk = NoDescriptors()
    log = Place(tmp_path, disk=disk).open()
    append(log, batch(b"a"))
    before = facts(log)
    received = bytearray(idempotent(0, b"b"))
    log.append_as_leader(memoryview(received), leader_epoch=0, now_ms=NOW)
    log.segments.active.file.close()
    disk.none_left = True
    with pytest.raises(StorageFailed, match="Too many open files"):
        log.write_pending()
    disk.none_left = False

    assert facts(log) == before
    assert not log.is_dirty
    received[:] = bytes(len(received))  # whoever queued it is told, and uses the buffer again
    append(log, batch(b"c"))
    assert values_of(log) == [b"a", b"c"]


def test_timestamps_before_all_times_are_taken_right_after_a_start(tmp_path: Path) -> None:
    log, _, place = flaky(tmp_path)
    append(log, batch(b"a"))
    log.close()
    log = place.open(clean=True, high_watermark=1)

    for _ in range(6):
        append(log, batch(b"b" * 1000, timestamp=-5))

    assert len(log.segments.active.index) == 1
    assert values_of(log) == [b"a"] + [b"b" * 1000] * 6


def test_a_failed_write_before_a_roll_is_told_to_all_who_queued(tmp_path: Path) -> None:
    log, disk, _ = flaky(tmp_path, segment_bytes=400)
    append(log, batch(b"a" * 100))
    log.append_as_leader(batch(b"b" * 100), leader_epoch=0, now_ms=NOW)
    disk.room = 0
    with pytest.raises(StorageFailed):
        log.append_as_leader(batch(b"c" * 100), leader_epoch=0, now_ms=NOW)
    disk.room = None
    with pytest.raises(StorageFailed):  # not before the loop turn's write has told of it
        log.append_as_leader(batch(b"d"), leader_epoch=0, now_ms=NOW)
    assert log.is_dirty
    with pytest.raises(StorageFailed):
        log.write_pending()
    assert not log.is_dirty
    append(log, batch(b"e"))
    assert values_of(log) == [b"a" * 100, b"e"]


def test_a_write_before_its_turn_is_told_of_again(tmp_path: Path) -> None:
    log, disk, _ = flaky(tmp_path)
    log.append_as_leader(batch(b"a"), leader_epoch=0, now_ms=NOW)
    disk.room = 0
    with pytest.raises(StorageFailed):
        log.enforce_retention(NOW)
    disk.room = None
    assert log.is_dirty
    with pytest.raises(StorageFailed):  # the one who queued it hears of it
        log.write_pending()
    assert log.enforce_retention(NOW) == 0
    append(log, batch(b"b"))
    assert values_of(log) == [b"b"]


def test_a_failed_roll_can_be_tried_again(tmp_path: Path) -> None:
    log, disk, _ = flaky(tmp_path, segment_bytes=400)
    append(log, batch(b"a" * 100))
    append(log, batch(b"b" * 100))
    disk.broken = True
    with pytest.raises(StorageFailed):
        log.append_as_leader(batch(b"c" * 100), leader_epoch=0, now_ms=NOW)
    disk.broken = False
    append(log, batch(b"d" * 100))
    assert values_of(log) == [b"a" * 100, b"b" * 100, b"d" * 100]
    assert len(log.segments) == 2


def test_an_abandoned_log_takes_nothing_any_more(log: Log) -> None:
    append(log, batch(b"a"))
    log.abandon()
    for _ in range(2):
        with pytest.raises(StorageFailed):
            log.append_as_leader(batch(b"b"), leader_epoch=0, now_ms=NOW)
        with pytest.raises(StorageFailed):
            log.write_pending()


# Flushing.


def test_flush_messages_makes_appends_durable_before_they_are_acknowledged(tmp_path: Path) -> None:
    log, disk, _ = flaky(tmp_path, flush_messages=2)
    append(log, batch(b"a"))
    assert disk.synced == []
    append(log, batch(b"b"))
    assert "00000000000000000000.log" in disk.synced
    assert log.recovery_point == 2
    disk.synced.clear()
    append(log, batch(b"c", b"d"))
    assert disk.synced == ["00000000000000000000.log"]  # no names changed


def test_a_flush_job_covers_closed_segments_and_their_indexes(tmp_path: Path) -> None:
    log, disk, _ = flaky(tmp_path, segment_bytes=400)
    fill(log, 6, size=100)
    base = log.segments.active.base_offset
    job = log.flush_job(closed_only=True)
    assert job is not None
    assert log.recovery_point == 0
    job.run()
    log.flushed(job)
    assert log.recovery_point == base
    synced = set(disk.synced)
    for segment in log.segments:
        assert (f"{segment.base_offset:020d}.log" in synced) == segment.is_closed
        assert (f"{segment.base_offset:020d}.index" in synced) == segment.is_closed
    assert "leader-epoch-checkpoint" in synced
    assert log.flush_job(closed_only=True) is None


def test_a_flush_from_before_a_truncation_says_nothing(log: Log) -> None:
    fill(log, 4)
    job = log.flush_job()
    assert job is not None
    log.truncate_to(2)
    fill(log, 2)
    job.run()
    log.flushed(job)
    assert log.recovery_point == 0


# Followers and transactions.


def test_a_follower_keeps_the_leaders_offsets_and_epochs(log: Log) -> None:
    data = bytes(batch(b"a", b"b", base_offset=5, leader_epoch=2)) + bytes(
        batch(b"c", base_offset=9, leader_epoch=3)
    )
    appended = log.append_as_follower(data + data[:70], now_ms=NOW)  # half a batch at the end
    write(log)
    assert appended == Appended(5, 9, -1, 0)
    assert log.end_offset == 10
    assert [record.offset for record in records_of(log)] == [5, 6, 9]
    assert log.epochs.entries == [(2, 5), (3, 9)]


def test_a_follower_refuses_damaged_and_old_batches_as_a_whole(log: Log) -> None:
    good = bytes(batch(b"a", base_offset=0, leader_epoch=0))
    damaged = bytearray(batch(b"b", base_offset=1, leader_epoch=0))
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append_as_follower(good + bytes(damaged), now_ms=NOW)
    with pytest.raises(OffsetOutOfRange):
        log.append_as_follower(good + good, now_ms=NOW)
    assert log.end_offset == 0
    assert not log.is_dirty


def end(log: Log, *, commit: bool, epoch: int = 0, version: int = 0) -> None:
    log.append_control(
        producer_id=9,
        producer_epoch=epoch,
        is_commit=commit,
        coordinator_epoch=1,
        leader_epoch=0,
        now_ms=NOW,
        transaction_version=version,
    )
    write(log)


def test_an_open_transaction_holds_the_last_stable_offset(log: Log) -> None:
    append(log, batch(b"a"))
    append(log, idempotent(0, b"b", transactional=True))
    append(log, batch(b"c"))
    assert log.last_stable_offset == 1
    assert log.high_watermark == 3
    end(log, commit=True)
    assert log.last_stable_offset == log.high_watermark == 4
    assert log.aborted_transactions(0, 4) == []


def test_an_aborted_transaction_is_told_to_readers_of_its_range(log: Log) -> None:
    append(log, batch(b"a"))
    append(log, idempotent(0, b"b", transactional=True))
    append(log, idempotent(1, b"c", transactional=True))
    end(log, commit=False)
    append(log, batch(b"d"))
    aborted = AbortedTransaction(9, 1, 3, 4)
    assert log.aborted_transactions(0, 5) == [aborted]
    assert log.aborted_transactions(2, 3) == [aborted]
    assert log.aborted_transactions(0, 1) == []
    assert log.aborted_transactions(4, 5) == []
    assert values_of(log) == [b"a", b"b", b"c", b"d"]


def test_aborted_transactions_are_found_over_segments(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(segment_bytes=300)).open()
    for number in range(4):
        append(log, idempotent(number, b"x" * 100, transactional=True))
    end(log, commit=False)
    fill(log, 3)
    assert len(log.segments) > 2
    assert log.aborted_transactions(0, 2) == [AbortedTransaction(9, 0, 4, 5)]


def test_a_follower_learns_of_markers(tmp_path: Path, log: Log) -> None:
    append(log, idempotent(0, b"b", transactional=True))
    end(log, commit=False)
    data = log.read(0, max_bytes=10_000, end_offset=2, at_least_one=True).read()
    follower = Place(tmp_path / "other").open()
    follower.append_as_follower(data, now_ms=NOW)
    write(follower)
    assert follower.aborted_transactions(0, 2) == [AbortedTransaction(9, 0, 1, 2)]
    assert follower.active_producers() == log.active_producers()
    assert follower.last_stable_offset == 2


def test_a_control_batch_of_another_kind_is_just_appended(log: Log) -> None:
    other = encode_batch(
        [Record(timestamp=NOW, key=b"\0\0\0\2", value=b"")], control=True, leader_epoch=0
    )
    log.append_as_follower(other, now_ms=NOW)
    write(log)
    assert log.end_offset == 1
    assert log.active_producers() == []
