"""Making logs shorter: DeleteRecords, retention, truncation, replacement by compaction."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from storage_logs import NOW, Place, append, batch, fill, records_of, values_of, write

from barnabas.base.errors import OffsetOutOfRange
from barnabas.storage.config import LogConfig
from barnabas.storage.index import OffsetIndex, TimeIndex
from barnabas.storage.log import Log
from barnabas.storage.log_trim import CleanedSegment

SIZE = len(batch(b"x" * 100))


def small_segments(tmp_path: Path, **settings: object) -> Place:
    """Two batches of `fill` to a segment."""
    config = LogConfig(segment_bytes=2 * SIZE, **settings)  # type: ignore[arg-type]
    return Place(tmp_path / "t-0", config)


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def offsets(log: Log) -> list[int]:
    return [record.offset for record in records_of(log)]


# DeleteRecords.


def test_deleting_records_moves_the_start_and_drops_whole_segments(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 7, size=99)
    assert log.delete_records_before(3) == 3
    assert log.start_offset == 3
    assert bases(log) == [2, 4, 6]
    assert offsets(log) == [3, 4, 5, 6]
    assert log.delete_records_before(1) == 3  # never back
    assert log.delete_records_before(7) == 7
    assert bases(log) == [6]
    assert offsets(log) == []
    append(log, batch(b"x"))
    assert offsets(log) == [7]


def test_records_above_the_high_watermark_cannot_be_deleted(tmp_path: Path) -> None:
    log = small_segments(tmp_path).open()
    fill(log, 3)
    log.append_as_leader(batch(b"x"), leader_epoch=0, now_ms=NOW)
    log.write_pending()
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(4)
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(-2)


def test_dropped_segments_are_renamed_and_left_to_the_manager(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 5, size=99)
    held = log.read(0, max_bytes=1000, end_offset=5, at_least_one=True)
    log.delete_records_before(4)
    assert [segment.base_offset for segment in log.deleted] == [0, 2]
    assert place.names(".deleted") == [
        "00000000000000000000.index.deleted",
        "00000000000000000000.log.deleted",
        "00000000000000000000.timeindex.deleted",
        "00000000000000000002.index.deleted",
        "00000000000000000002.log.deleted",
        "00000000000000000002.timeindex.deleted",
    ]
    assert place.names(".snapshot") == ["00000000000000000004.snapshot"]
    place.pool.close()
    assert len(held.read()) == 2 * SIZE  # an answer on its way still has its bytes


# Retention.


def test_segments_go_when_their_newest_record_is_too_old(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_ms=1000).open()
    fill(log, 7, size=99, step=1000)  # segments end at +1000, +3000, +5000, +6000
    assert log.enforce_retention(NOW + 2000) == 0
    assert log.enforce_retention(NOW + 4001) == 2
    assert log.start_offset == 4
    assert bases(log) == [4, 6]


def test_an_active_segment_that_is_too_old_is_rolled_and_goes(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_ms=1000).open()
    fill(log, 3, size=99)
    assert log.enforce_retention(NOW + 1001) == 2
    assert bases(log) == [3]
    assert log.start_offset == log.end_offset == 3
    assert log.enforce_retention(NOW + 9999) == 0
    append(log, batch(b"x"))
    assert offsets(log) == [3]


def test_without_timestamps_the_time_of_the_last_write_counts(tmp_path: Path) -> None:
    place = small_segments(tmp_path, retention_ms=1000)
    log = place.open()
    append(log, batch(b"a", timestamp=-1))
    path = place.directory / "00000000000000000000.log"
    os.utime(path, (NOW / 1000, NOW / 1000))
    assert log.enforce_retention(NOW + 1000) == 0
    assert log.enforce_retention(NOW + 1001) == 1


def test_segments_go_while_the_rest_is_large_enough(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_bytes=5 * SIZE, retention_ms=-1).open()
    fill(log, 9, size=99)
    assert log.enforce_retention(NOW * 2) == 2
    assert bases(log) == [4, 6, 8]
    assert log.size_bytes == 5 * SIZE
    assert log.enforce_retention(NOW * 2) == 0


def test_nothing_above_the_high_watermark_goes(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_ms=1000).open()
    fill(log, 3, size=99)
    for _ in range(4):
        log.append_as_leader(batch(b"x" * 100), leader_epoch=0, now_ms=NOW)
    log.write_pending()
    assert log.high_watermark == 3
    assert log.enforce_retention(NOW + 5000) == 1
    assert bases(log) == [2, 4, 6]


def test_a_compacted_topic_keeps_old_segments_but_not_deleted_records(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_ms=1000, cleanup_policy=("compact",)).open()
    fill(log, 7, size=99)
    assert log.enforce_retention(NOW + 5000) == 0
    log.reconfigure(LogConfig(retention_ms=1000, cleanup_policy=("compact", "delete")))
    assert log.enforce_retention(NOW + 5000) == 4


def test_producers_are_remembered_when_their_records_are_gone(tmp_path: Path) -> None:
    log = small_segments(tmp_path, retention_ms=1000).open()
    append(log, batch(b"a", producer_id=1, epoch=0, sequence=0))
    log.enforce_retention(NOW + 5000)
    assert log.start_offset == 1
    append(log, batch(b"b", producer_id=1, epoch=0, sequence=1))
    assert values_of(log) == [b"b"]


# Truncation.


def test_truncation_drops_whole_batches_from_the_offset_on(tmp_path: Path) -> None:
    log = small_segments(tmp_path).open()
    fill(log, 7, size=99)
    assert not log.truncate_to(7)
    assert log.truncate_to(5)
    assert log.end_offset == log.high_watermark == 5
    assert bases(log) == [0, 2, 4]
    assert offsets(log) == [0, 1, 2, 3, 4]
    assert log.truncate_to(2)
    assert bases(log) == [0]
    assert offsets(log) == [0, 1]
    append(log, batch(b"new"))
    assert values_of(log)[-1] == b"new"
    assert offsets(log) == [0, 1, 2]


def test_truncation_inside_a_batch_drops_the_batch(tmp_path: Path) -> None:
    log = Place(tmp_path).open()
    append(log, batch(b"a"))
    append(log, batch(b"b", b"c", b"d"))
    assert log.truncate_to(3)
    assert log.end_offset == 1


def test_truncation_takes_epochs_producers_and_aborts_with_it(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(index_interval_bytes=1))
    log = place.open()
    append(log, batch(b"a", producer_id=1, epoch=0, sequence=0), leader_epoch=0)
    append(log, batch(b"b", producer_id=1, epoch=0, sequence=1), leader_epoch=1)
    append(
        log,
        batch(b"c", producer_id=2, epoch=0, sequence=0, transactional=True, timestamp=NOW + 9),
        leader_epoch=1,
    )
    log.append_control(
        producer_id=2,
        producer_epoch=0,
        is_commit=False,
        coordinator_epoch=0,
        leader_epoch=1,
        now_ms=NOW,
    )
    write(log)
    assert log.truncate_to(3)
    assert log.aborted_transactions(0, 3) == []
    assert log.last_stable_offset == 2
    assert log.truncate_to(1)
    assert log.epochs.entries == [(0, 0)]
    assert [entry.last_sequence for entry in log.active_producers()] == [0]
    assert log.last_stable_offset == 1
    found = log.find_max_timestamp()
    assert found is not None
    assert found.timestamp == NOW
    append(log, batch(b"B", producer_id=1, epoch=0, sequence=1), leader_epoch=2)
    assert values_of(place.open(high_watermark=2)) == [b"a", b"B"]


def test_truncating_to_the_start_leaves_an_empty_log(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 7, size=99)
    log.delete_records_before(2)
    assert log.truncate_to(0)
    assert (log.start_offset, log.end_offset) == (2, 2)
    assert place.names(".log") == ["00000000000000000002.log"]
    append(log, batch(b"x"))
    assert offsets(log) == [2]


def test_a_reset_begins_anew_at_another_offset(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 5, size=99)
    append(log, batch(b"a", producer_id=1, epoch=0, sequence=0))
    log.reset_to(100, now_ms=NOW)
    assert (log.start_offset, log.end_offset, log.high_watermark) == (100, 100, 100)
    assert log.active_producers() == []
    assert log.epochs.entries == []
    assert place.names(".log") == ["00000000000000000100.log"]
    assert place.names(".snapshot") == []
    append(log, batch(b"x"))
    assert offsets(log) == [100]


# Replacement.


def write_cleaned(place: Place, base_offset: int, *batches: memoryview) -> CleanedSegment:
    stem = place.directory / f"{base_offset:020d}"
    data = b"".join(map(bytes, batches))
    Path(f"{stem}.log.cleaned").write_bytes(data)
    Path(f"{stem}.index.cleaned").write_bytes(OffsetIndex().encode())
    times = TimeIndex()
    times.add(NOW, 1)
    Path(f"{stem}.timeindex.cleaned").write_bytes(times.encode())
    return CleanedSegment(base_offset=base_offset, size_bytes=len(data), modified_ms=NOW)


def test_only_closed_replicated_and_decided_segments_are_cleanable(tmp_path: Path) -> None:
    log = small_segments(tmp_path).open()
    fill(log, 4, size=99)
    append(log, batch(b"t", producer_id=1, epoch=0, sequence=0, transactional=True))
    fill(log, 4, size=99)
    views = log.cleanable_segments()
    assert [(view.base_offset, view.next_base_offset) for view in views] == [(0, 2), (2, 4)]
    assert views[0].size_bytes == 2 * SIZE
    assert views[0].largest_timestamp == NOW
    assert views[0].path.endswith("/00000000000000000000.log")


def test_compacted_segments_take_the_place_of_old_ones(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 7, size=99)
    views = log.cleanable_segments()
    cleaned = write_cleaned(
        place,
        0,
        batch(b"one", base_offset=1, leader_epoch=0),
        batch(b"three", base_offset=3, leader_epoch=0),
    )
    assert log.replace_segments([cleaned], views[:2])
    assert bases(log) == [0, 4, 6]
    assert offsets(log) == [1, 3, 4, 5, 6]
    assert log.start_offset == 0
    assert [segment.base_offset for segment in log.deleted] == [0, 2]
    assert place.names(".swap") == place.names(".cleaned") == []
    modified = (place.directory / "00000000000000000000.log").stat().st_mtime
    assert modified == NOW / 1000
    log.close()
    again = place.open(clean=True, high_watermark=7)
    assert offsets(again) == [1, 3, 4, 5, 6]


def test_nothing_is_replaced_if_retention_was_faster(tmp_path: Path) -> None:
    place = small_segments(tmp_path)
    log = place.open()
    fill(log, 7, size=99)
    views = log.cleanable_segments()
    cleaned = write_cleaned(place, 0, batch(b"one", base_offset=1, leader_epoch=0))
    log.delete_records_before(2)
    assert not log.replace_segments([cleaned], views[:2])
    assert bases(log) == [2, 4, 6]
    assert place.names(".cleaned") == []
