"""Reading: bounds, progress, hints, look-ups by time."""

from __future__ import annotations

from pathlib import Path

import pytest
from storage_logs import NOW, Place, append, batch, fill, values_of, write

from barnabas.base.errors import CorruptMessage, OffsetOutOfRange
from barnabas.records.batch import Record, encode_batch, iter_headers
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.storage.log_read import FoundOffset

BATCH = len(batch(b"x" * 100))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Place(tmp_path / "t-0").open()


def offsets(
    log: Log, offset: int, *, max_bytes: int = 1 << 20, end: int | None = None, one: bool = True
) -> list[int]:
    """Base offsets of the whole batches that a read gives."""
    found = log.read(
        offset,
        max_bytes=max_bytes,
        end_offset=log.high_watermark if end is None else end,
        at_least_one=one,
    )
    return [header.base_offset for _, header in iter_headers(found.read())]


def three(log: Log) -> None:
    for _ in range(3):
        append(log, batch(b"x" * 100, b"y"))  # offsets 0-1, 2-3, 4-5


def test_a_read_begins_with_the_batch_that_holds_the_offset(log: Log) -> None:
    three(log)
    assert offsets(log, 0) == [0, 2, 4]
    assert offsets(log, 1) == [0, 2, 4]
    assert offsets(log, 2) == [2, 4]
    assert offsets(log, 5) == [4]
    assert offsets(log, 6) == []


def test_a_read_ends_before_its_bound(log: Log) -> None:
    three(log)
    assert offsets(log, 0, end=4) == [0, 2]
    assert offsets(log, 0, end=2) == [0]
    assert offsets(log, 2, end=2) == []
    assert offsets(log, 4, end=2) == []
    assert offsets(log, 0, end=0) == []
    assert offsets(log, 0, end=100) == [0, 2, 4]


def test_outside_of_the_log_there_is_nothing(log: Log) -> None:
    three(log)
    for offset in (-1, 7):
        with pytest.raises(OffsetOutOfRange):
            offsets(log, offset)
    log.delete_records_before(3)
    with pytest.raises(OffsetOutOfRange):
        offsets(log, 2)
    assert offsets(log, 3) == [2, 4]


def test_a_batch_larger_than_asked_for_comes_whole_or_not_at_all(log: Log) -> None:
    three(log)
    size = log.size_bytes // 3
    for _ in range(2):  # the second time a hint may help
        assert len(log.read(2, max_bytes=10, end_offset=6, at_least_one=True)) == size
        assert len(log.read(2, max_bytes=10, end_offset=6, at_least_one=False)) == 0
        assert len(log.read(2, max_bytes=0, end_offset=6, at_least_one=True)) == size
        assert len(log.read(2, max_bytes=size + 5, end_offset=6, at_least_one=True)) == size + 5
        assert offsets(log, 2, end=6) == [2, 4]


def test_a_reader_at_the_end_goes_on_where_it_was(log: Log) -> None:
    three(log)
    assert offsets(log, 4) == [4]
    assert offsets(log, 6) == []
    append(log, batch(b"z"))
    assert offsets(log, 6) == [6]
    assert offsets(log, 7) == []
    append(log, batch(b"z"))
    append(log, batch(b"z"))
    assert offsets(log, 7, max_bytes=1) == [7]
    assert offsets(log, 7) == [7, 8]
    assert offsets(log, 8, end=8) == []


def test_hints_do_not_outlive_a_truncation(log: Log) -> None:
    three(log)
    assert offsets(log, 4) == [4]
    log.truncate_to(4)
    append(log, batch(b"a"))
    append(log, batch(b"b"))
    append(log, batch(b"c"))
    assert offsets(log, 6) == [6]


def test_a_read_stays_within_one_segment_and_goes_on_in_the_next(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(segment_bytes=2 * BATCH)).open()
    fill(log, 5, size=99)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    assert offsets(log, 0) == [0, 1]
    assert offsets(log, 1) == [1]
    assert offsets(log, 2) == [2, 3]
    assert offsets(log, 3, end=4) == [3]
    assert len(values_of(log, max_bytes=1)) == 5


def test_offsets_that_compaction_removed_lead_to_the_next_there_is(log: Log) -> None:
    log.append_as_follower(batch(b"a", base_offset=5, leader_epoch=0), now_ms=NOW)
    log.append_as_follower(batch(b"b", base_offset=9, leader_epoch=0), now_ms=NOW)
    write(log)
    log.roll(NOW)
    log.append_as_follower(batch(b"c", base_offset=20, leader_epoch=0), now_ms=NOW)
    write(log)
    assert offsets(log, 0) == [5, 9]
    assert offsets(log, 6) == [9]
    assert offsets(log, 10) == [20]
    assert offsets(log, 15) == [20]
    assert offsets(log, 15, end=20) == []


def test_many_files_can_be_read_with_few_descriptors(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(segment_bytes=BATCH + 10), limit=2)
    log = place.open()
    fill(log, 30, size=99)
    assert len(log.segments) == 30
    assert len(values_of(log)) == 30
    assert place.pool.open_count <= 2


def test_a_missing_or_wrong_index_is_made_again(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(segment_bytes=8 * BATCH, index_interval_bytes=1))
    log = place.open()
    fill(log, 20, size=99)
    log.close()
    good = (tmp_path / "00000000000000000000.index").read_bytes()
    assert len(good) == 7 * 8
    for damage in (None, b"", b"\0\0\0\3\0\0\0\5", b"\1" * 40, good[:-3], good + bytes(1000)):
        index = tmp_path / "00000000000000000000.index"
        if damage is None:
            index.unlink()
        else:
            index.write_bytes(damage)
        (tmp_path / "00000000000000000008.timeindex").unlink(missing_ok=True)
        again = place.open(clean=True, high_watermark=20)
        assert offsets(again, 5) == [5, 6, 7]
        assert len(values_of(again)) == 20
        assert again.find_by_time(NOW) == FoundOffset(0, NOW, 0)


def test_a_damaged_log_is_not_sent_to_anyone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = place.open()
    fill(log, 5)
    log.close()
    path = tmp_path / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    again = place.open(clean=True, high_watermark=5)
    data[16 : len(data) // 2] = b"\7" * (len(data) // 2 - 16)  # the disk rots meanwhile
    path.write_bytes(data)
    with pytest.raises(CorruptMessage):
        offsets(again, 4)


# By time.


def timed(log: Log, *timestamps: int) -> None:
    data = encode_batch([Record(timestamp=t, value=b"v") for t in timestamps])
    append(log, memoryview(data))


@pytest.mark.parametrize("interval", [0, 150, 4096])
@pytest.mark.parametrize("segment_bytes", [200, 1 << 20])
def test_the_first_record_not_older_is_found(
    tmp_path: Path, interval: int, segment_bytes: int
) -> None:
    config = LogConfig(index_interval_bytes=interval, segment_bytes=segment_bytes)
    log = Place(tmp_path, config).open()
    everything = [[10, 30, 20], [5, 6], [40, 7], [40], [60, 50, 70], [1]]
    for timestamps in everything:
        timed(log, *timestamps)
    flat = [timestamp for timestamps in everything for timestamp in timestamps]
    for wanted in range(75):
        expected = next((i for i, t in enumerate(flat) if t >= wanted), None)
        found = log.find_by_time(wanted)
        assert (found and found.offset) == expected, wanted
        if found is not None:
            assert found.timestamp == flat[found.offset]
            assert found.leader_epoch == 0


def test_deleted_records_are_not_found_by_time(log: Log) -> None:
    timed(log, 10, 20, 30)
    log.delete_records_before(1)
    assert log.find_by_time(5) == FoundOffset(1, 20, 0)


def test_the_greatest_timestamp_is_found_at_its_first_record(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(segment_bytes=200)).open()
    assert log.find_max_timestamp() is None
    timed(log, -1)
    assert log.find_max_timestamp() == FoundOffset(0, -1, 0)
    log = Place(tmp_path / "other", LogConfig(segment_bytes=200)).open()
    timed(log, 10, 30)
    timed(log, 20, 50, 50)
    timed(log, 50)
    timed(log, 40)
    assert log.find_max_timestamp() == FoundOffset(3, 50, 0)


def test_with_log_append_time_a_batch_has_one_timestamp(tmp_path: Path) -> None:
    log = Place(tmp_path, LogConfig(message_timestamp_type="LogAppendTime")).open()
    append(log, batch(b"a", b"b"), now_ms=100)
    append(log, batch(b"c", b"d"), now_ms=200)
    assert log.find_by_time(150) == FoundOffset(2, 200, 0)
    assert log.find_max_timestamp() == FoundOffset(2, 200, 0)


def test_times_are_known_after_a_clean_restart(tmp_path: Path) -> None:
    place = Place(tmp_path, LogConfig(segment_bytes=300))
    log = place.open()
    for timestamp in range(100, 110):
        timed(log, timestamp)
    log.close()
    again = place.open(clean=True, high_watermark=10)
    assert again.find_max_timestamp() == FoundOffset(9, 109, 0)
    assert again.find_by_time(104) == FoundOffset(4, 104, 0)
    timed(again, 108)
    assert again.find_max_timestamp() == FoundOffset(9, 109, 0)


@pytest.mark.parametrize("interval", [0, 700])
@pytest.mark.parametrize("segment_bytes", [2_000, 1 << 20])
def test_a_reader_is_told_of_the_aborted_transactions_in_what_it_gets_and_few_others(
    tmp_path: Path, interval: int, segment_bytes: int
) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=interval)
    log = Place(tmp_path, config).open()
    for number in range(40):  # two at a time: one begins before the other ends
        for producer_id in (1, 2):
            data = batch(
                b"x", producer_id=producer_id, epoch=0, sequence=number, transactional=True
            )
            log.append_as_leader(data, leader_epoch=0, now_ms=NOW)
        for producer_id in (1, 2):
            log.append_control(
                producer_id=producer_id,
                producer_epoch=0,
                is_commit=False,
                coordinator_epoch=0,
                leader_epoch=0,
                now_ms=NOW,
            )
    write(log)
    end = log.last_stable_offset
    every = log.aborted_transactions(0, end)
    assert len(every) == 80

    for offset in range(end):
        for max_bytes in (1, 500, 10_000_000):
            found = log.read(offset, max_bytes=max_bytes, end_offset=end, at_least_one=True)
            last = [header.last_offset for _, header in iter_headers(found.read())][-1]
            told = log.aborted_in(found, offset, end)
            needed = [t for t in every if t.last_offset >= offset and t.first_offset <= last]
            assert [t for t in told if t in needed] == needed
            assert len(told) - len(needed) <= interval // 50 + 2

    empty = log.read(end, max_bytes=1, end_offset=end, at_least_one=True)
    assert log.aborted_in(empty, end, end) == []
