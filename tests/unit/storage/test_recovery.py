"""Opening logs: after clean stops, crashes, torn tails, lost and damaged files."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from storage_logs import NOW, Place, append, batch, fill, records_of, values_of, write

from barnabas.records.batch import iter_headers
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.storage.txn_index import AbortedTransaction

SIZE = len(batch(b"x" * 100))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "t-0", LogConfig(segment_bytes=4 * SIZE, index_interval_bytes=SIZE))


def facts(log: Log) -> dict[str, object]:
    """All that must survive, whatever way the log was opened."""
    return {
        "ends": (log.start_offset, log.end_offset, log.high_watermark),
        "records": [(r.offset, r.timestamp, r.value) for r in records_of(log)],
        "indexes": [(list(s.index), list(s.times)[:-1]) for s in log.segments],
        "times": [s.largest_timestamp() for s in log.segments],
        "producers": {
            e.producer_id: (e.state()[:-1], e.batches[-1:]) for e in log.active_producers()
        },
        "epochs": log.epochs.entries,
        "aborted": log.aborted_transactions(0, log.end_offset),
        "stable": log.last_stable_offset,
    }


def busy(log: Log) -> Log:
    """A log with something of everything, over several segments."""
    for number in range(14):
        append(log, batch(b"p%d" % number, producer_id=1, epoch=0, sequence=number))
        fill(log, 1, timestamp=NOW + number)
        append(
            log,
            batch(b"t" * 80, producer_id=2, epoch=number, sequence=0, transactional=True),
            leader_epoch=number // 5,
        )
        log.append_control(
            producer_id=2,
            producer_epoch=number,
            is_commit=number % 2 == 0,
            coordinator_epoch=3,
            leader_epoch=number // 5,
            now_ms=NOW,
        )
        write(log)
    append(log, batch(b"open", producer_id=3, epoch=0, sequence=0, transactional=True))
    fill(log, 2)
    assert len(log.segments) > 4
    return log


def test_a_new_directory_is_an_empty_log(place: Place) -> None:
    log = place.open()
    assert (log.start_offset, log.end_offset, log.high_watermark) == (0, 0, 0)
    assert place.names() == ["00000000000000000000.log"]
    again = place.open(start_offset=0)
    assert again.end_offset == 0


def test_a_new_log_may_begin_elsewhere(tmp_path: Path) -> None:
    log = Place(tmp_path / "n").open(start_offset=50)
    assert (log.start_offset, log.end_offset) == (50, 50)
    append(log, batch(b"x"))
    assert [record.offset for record in records_of(log)] == [50]


def test_a_clean_stop_and_a_crash_leave_the_same_log(place: Place, tmp_path: Path) -> None:
    log = busy(place.open())
    expected = facts(log)
    crashed = Place(tmp_path / "crashed", place.config)
    shutil.copytree(place.directory, crashed.directory, dirs_exist_ok=True)
    end = log.end_offset
    assert facts(crashed.open(high_watermark=end)) == expected
    log.close()
    assert facts(place.open(clean=True, high_watermark=end)) == expected
    assert facts(place.open(high_watermark=end)) == expected


def test_recovery_begins_at_the_recovery_point(place: Place) -> None:
    log = busy(place.open())
    expected = facts(log)
    point = log.segments[2].base_offset
    assert facts(place.open(recovery_point=point, high_watermark=log.end_offset)) == expected
    assert facts(place.open(recovery_point=10**6, high_watermark=log.end_offset)) == expected


def test_the_high_watermark_is_kept_within_the_log(place: Place) -> None:
    fill(place.open(), 3)
    assert place.open(high_watermark=2).high_watermark == 2
    assert place.open(high_watermark=9).high_watermark == 3
    assert place.open(start_offset=1, high_watermark=0).high_watermark == 1


@pytest.mark.parametrize("cut", [1, 30, SIZE - 1])
def test_a_torn_tail_is_cut(place: Place, cut: int) -> None:
    log = place.open()
    fill(log, 6, size=99)
    active = place.directory / "00000000000000000004.log"
    active.write_bytes(active.read_bytes()[:-cut])
    again = place.open(high_watermark=6)
    assert again.end_offset == again.high_watermark == 5
    assert len(values_of(again)) == 5
    assert active.stat().st_size == SIZE
    append(again, batch(b"new"))
    assert values_of(place.open(high_watermark=6))[-1] == b"new"


def test_what_follows_a_damaged_batch_is_set_aside(place: Place) -> None:
    log = place.open()
    fill(log, 14, size=99)
    second = place.directory / "00000000000000000004.log"
    data = bytearray(second.read_bytes())
    data[SIZE + 80] ^= 1
    second.write_bytes(data)
    again = place.open(high_watermark=14)
    assert again.end_offset == 5
    assert place.names(".log") == ["00000000000000000000.log", "00000000000000000004.log"]
    assert place.names(".snapshot") == ["00000000000000000004.snapshot"]
    assert len(place.names(".log.stray")) == 2


def lose_a_batch(place: Place) -> list[int]:
    """Fourteen records in segments of four; the second segment loses its last.  What is left."""
    fill(place.open(), 14, size=99)
    second = place.directory / "00000000000000000004.log"
    second.write_bytes(second.read_bytes()[:-SIZE])
    return [*range(7), *range(8, 14)]


def offsets_of(log: Log) -> list[int]:
    return [record.offset for record in records_of(log)]


def test_a_replica_ends_at_a_hole_and_what_follows_is_set_aside(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """A power cut may keep a later file and lose the end of an earlier one."""
    lose_a_batch(place)
    later = (place.directory / "00000000000000000008.log").read_bytes()
    log = place.open(high_watermark=14)
    assert offsets_of(log) == list(range(7))
    assert place.names(".log.stray") == [
        "00000000000000000008.log.stray",
        "00000000000000000011.log.stray",
    ]
    assert (place.directory / "00000000000000000008.log.stray").read_bytes() == later
    (line,) = [each.getMessage() for each in caplog.records]
    assert "ends at offset 7" in line
    assert "2 segments, from offset 8 on" in line


def test_what_is_set_aside_a_second_time_does_not_replace_the_first(place: Place) -> None:
    for _ in range(2):
        lose_a_batch(place)
        assert place.open(high_watermark=14).end_offset == 7
        log = place.open(high_watermark=7)
        log.truncate_to(0)
    assert "00000000000000000008.log.1.stray" in place.names(".log.1.stray")
    assert "00000000000000000008.log.stray" in place.names(".log.stray")


def test_what_is_set_aside_can_be_copied_anew(place: Place) -> None:
    lose_a_batch(place)
    log = place.open(high_watermark=14)
    fill(log, 7, size=99)
    log.close()
    for again in (place.open(clean=True, high_watermark=14), place.open(high_watermark=14)):
        assert offsets_of(again) == list(range(14))


def test_the_only_copy_keeps_what_follows_a_hole(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    left = lose_a_batch(place)
    log = place.open(high_watermark=14, is_only_copy=True)
    assert offsets_of(log) == left
    assert place.names(".stray") == []
    (line,) = [each.getMessage() for each in caplog.records]
    assert "offset 7 to 7 is lost" in line
    append(log, batch(b"new"))
    assert offsets_of(place.open(high_watermark=15, is_only_copy=True)) == [*left, 14]


def test_the_only_copy_keeps_what_follows_a_segment_that_is_torn_or_empty(place: Place) -> None:
    lose_a_batch(place)
    second = place.directory / "00000000000000000004.log"
    second.write_bytes(second.read_bytes()[:-1])
    log = place.open(high_watermark=14, is_only_copy=True)
    assert offsets_of(log) == [*range(6), *range(8, 14)]
    second.write_bytes(b"")
    log = place.open(high_watermark=14, is_only_copy=True)
    assert offsets_of(log) == [*range(4), *range(8, 14)]


@pytest.mark.parametrize("trusted", [{"recovery_point": 8}, {"compacted_to": 8}])
def test_a_hole_that_compaction_made_is_none_whatever_the_topic_is_now(
    place: Place, trusted: dict[str, int]
) -> None:
    """Something else makes recovery begin before the recovery point."""
    left = lose_a_batch(place)
    (place.directory / "00000000000000000000.txnindex").write_bytes(b"damaged")
    log = place.open(high_watermark=14, **trusted)
    assert offsets_of(log) == left
    assert place.names(".stray") == []


def test_a_hole_above_what_is_trusted_is_a_loss(place: Place) -> None:
    lose_a_batch(place)
    assert place.open(high_watermark=14, recovery_point=7, compacted_to=6).end_offset == 7


def test_a_compacted_log_may_have_holes_anywhere(place: Place) -> None:
    left = lose_a_batch(place)
    place.config = replace(place.config, cleanup_policy=("compact",))
    assert offsets_of(place.open(high_watermark=14)) == left


@pytest.mark.parametrize(
    "garbage", [bytes(500), b"\xff" * 500, b"\0\0\0\0\0\0\0\x06\0\0\0\x40" * 9]
)
def test_garbage_after_the_last_batch_is_cut(place: Place, garbage: bytes) -> None:
    fill(place.open(), 6, size=99)
    active = place.directory / "00000000000000000004.log"
    active.write_bytes(active.read_bytes() + garbage)
    again = place.open(high_watermark=6)
    assert again.end_offset == 6
    assert active.stat().st_size == 2 * SIZE


def test_a_batch_that_goes_back_in_offsets_ends_the_log(place: Place) -> None:
    log = place.open()
    fill(log, 3, size=99)
    path = place.directory / "00000000000000000000.log"
    data = path.read_bytes()
    (at, _), *_ = iter_headers(data, SIZE)
    path.write_bytes(data + data[at : at + SIZE])
    assert place.open().end_offset == 3


def test_a_marker_that_lies_is_noticed(place: Place) -> None:
    log = place.open()
    fill(log, 6, size=99)
    log.close()
    active = place.directory / "00000000000000000004.log"
    active.write_bytes(active.read_bytes()[:-9])
    assert place.open(clean=True, high_watermark=6).end_offset == 5


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "lost", [".index", ".timeindex", ".snapshot", ".txnindex", "leader-epoch-checkpoint"]
)
@pytest.mark.parametrize("damage", [None, b"", b"\xff\xfe\xfd"])
def test_lost_and_damaged_side_files_are_made_again(
    place: Place, clean: bool, lost: str, damage: bytes | None
) -> None:
    if lost == ".txnindex" and damage is None:
        clean = False  # after a clean stop no file means: nothing was aborted
    log = busy(place.open())
    end = log.end_offset
    expected = facts(log)
    log.close()
    touched = 0
    for name in place.names(lost):
        path = place.directory / name
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
        touched += 1
    assert touched
    found = facts(place.open(clean=clean, high_watermark=end))
    assert found == expected


def test_a_log_start_beyond_the_end_empties_the_log(place: Place) -> None:
    fill(place.open(), 3)
    log = place.open(start_offset=10)
    assert (log.start_offset, log.end_offset, log.high_watermark) == (10, 10, 10)
    append(log, batch(b"x"))
    assert [record.offset for record in records_of(log)] == [10]


def test_deleted_records_stay_deleted(place: Place) -> None:
    log = place.open()
    fill(log, 6, size=99)
    log.delete_records_before(2)
    log.close()
    again = place.open(clean=True, start_offset=2, high_watermark=6)
    assert [record.offset for record in records_of(again)] == [2, 3, 4, 5]
    assert again.epochs.entries == [(0, 2)]


def test_index_files_without_a_log_are_removed(place: Place) -> None:
    fill(place.open(), 3)
    stray = place.directory / "00000000000000000099.index"
    stray.write_bytes(b"")
    place.open()
    assert not stray.exists()


def test_producers_that_wrote_nothing_for_long_are_not_loaded(place: Place) -> None:
    log = place.open()
    append(log, batch(b"a", producer_id=1, epoch=0, sequence=0))
    log.close()
    day = 24 * 3600 * 1000
    assert len(place.open(clean=True, now_ms=NOW + day - 1).active_producers()) == 1
    assert place.open(clean=True, now_ms=NOW + day).active_producers() == []


def test_an_aborted_transaction_over_two_segments_is_rebuilt(place: Place) -> None:
    log = place.open()
    append(log, batch(b"t" * 99, producer_id=2, epoch=0, sequence=0, transactional=True))
    fill(log, 5, size=99)
    log.append_control(
        producer_id=2,
        producer_epoch=0,
        is_commit=False,
        coordinator_epoch=3,
        leader_epoch=0,
        now_ms=NOW,
    )
    write(log)
    log.roll(NOW)
    fill(log, 1)
    for path in place.directory.glob("*.txnindex"):
        path.unlink()
    again = place.open(recovery_point=log.segments[1].base_offset, high_watermark=8)
    assert again.aborted_transactions(0, 1) == [AbortedTransaction(2, 0, 6, 7)]


# What an interrupted compaction leaves.


def names_of_segment(base: int) -> list[str]:
    return [f"{base:020d}{kind}" for kind in (".log", ".index", ".timeindex")]


def with_segments(place: Place) -> None:
    log = place.open()
    fill(log, 14, size=99)
    log.close()


def test_files_that_were_to_be_deleted_and_half_written_ones_go(place: Place) -> None:
    with_segments(place)
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000004.log.cleaned",
        "00000000000000000004.index.cleaned",
        "leader-epoch-checkpoint.tmp",
    ):
        (place.directory / name).write_bytes(b"junk")
    assert len(values_of(place.open(clean=True, high_watermark=14))) == 14
    for suffix in (".deleted", ".cleaned", ".tmp"):
        assert place.names(suffix) == []


def test_a_replacement_that_had_begun_is_finished(place: Place) -> None:
    with_segments(place)
    compacted = b"".join(
        bytes(batch(b"c%d" % offset, base_offset=offset, leader_epoch=0)) for offset in (1, 7)
    )
    (place.directory / "00000000000000000000.log.swap").write_bytes(compacted)
    (place.directory / "00000000000000000000.index.swap").write_bytes(b"")
    (place.directory / "00000000000000000004.index").unlink()  # had got so far
    log = place.open(clean=True, high_watermark=14)
    assert [segment.base_offset for segment in log.segments] == [0, 8, 11]
    assert [record.offset for record in records_of(log)] == [1, 7, *range(8, 14)]
    assert place.names(".swap") == []


def test_a_replacement_that_was_not_ready_is_undone(place: Place) -> None:
    with_segments(place)
    (place.directory / "00000000000000000004.log.swap").write_bytes(b"junk")
    (place.directory / "00000000000000000000.log.cleaned").write_bytes(b"junk")
    log = place.open(clean=True, high_watermark=14)
    assert [record.offset for record in records_of(log)] == list(range(14))
    assert place.names(".swap") == place.names(".cleaned") == []


def test_damage_below_the_recovery_point_is_found_and_the_log_cut_there(place: Place) -> None:
    log = place.open()
    for number in range(14):
        append(log, batch(b"x" * 99, producer_id=1, epoch=0, sequence=number))
    log.close()
    for path in place.directory.glob("*.snapshot"):
        path.unlink()  # so that producers have to be found in the batches
    first = place.directory / "00000000000000000000.log"
    data = bytearray(first.read_bytes())
    data[SIZE + 5 : SIZE + 60] = bytes(55)
    first.write_bytes(data)
    again = place.open(clean=False, recovery_point=12, high_watermark=14)
    assert again.end_offset == 1
    append(again, batch(b"y", producer_id=1, epoch=0, sequence=1))
