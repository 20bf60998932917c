"""Logs on their way from one log directory to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from held_workers import HeldWorkers
from moving_world import CONFIG, KEY, World
from storage_logs import NOW, TOPIC_ID, append, batch, fill, records_of, values_of

from barnabas.base.errors import LogDirNotFound, StorageFailed
from barnabas.storage import checkpoint
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.manager import StorageSettings


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.crash()


def test_a_log_goes_on_in_the_other_directory_as_the_same_log(world: World) -> None:
    log = world.log
    fill(log, 30)
    before = values_of(log)
    world.begin()
    assert log.directory == str(world.root / "a/t-0")
    world.finish()
    assert log.directory == str(world.root / "b/t-0")
    assert world.manager.get("t", 0) is log
    assert world.manager.directory_of(log) is world.b
    assert (list(world.a.logs), list(world.b.logs)) == ([], [KEY])
    assert values_of(log) == before
    append(log, batch(b"after"))
    again = world.start().get("t", 0)
    assert again is not None
    assert again.directory == str(world.root / "b/t-0")
    again.advance_high_watermark(again.end_offset)
    assert values_of(again) == [*before, b"after"]


def test_what_happens_meanwhile_is_moved_too(world: World) -> None:
    log = world.log
    fill(log, 30)
    world.begin()
    number = 0
    while log.directory.endswith("a/t-0"):
        append(log, batch(b"meanwhile %d" % number, producer_id=7, epoch=0, sequence=number))
        number += 1
        if number == 5:
            log.delete_records_before(12)
        if number == 9:
            log.roll(NOW)
        assert world.workers.step()
    expected = [(r.offset, r.value) for r in records_of(log)]
    assert number > 9
    assert len(expected) == 30 - 12 + number
    world.manager.close()
    world.running = None
    world.start()
    again = world.manager.get("t", 0)
    assert again is not None
    assert [(r.offset, r.value) for r in records_of(again)] == expected
    assert again.start_offset == 12
    assert again.topic_id == TOPIC_ID
    assert again.active_producers()[0].batches[-1].last_offset == log.end_offset - 1


def test_a_log_that_is_cut_meanwhile_is_copied_anew(world: World) -> None:
    log = world.log
    fill(log, 30)
    world.begin()
    for _ in range(7):
        world.workers.step()
    log.truncate_to(4)
    append(log, batch(b"other"))
    world.finish()
    assert log.directory == str(world.root / "b/t-0")
    assert len(values_of(log)) == 5
    again = world.start().get("t", 0)
    assert again is not None
    assert again.end_offset == 5
    assert world.names == ["a/t-0-delete", "b/t-0"]


def test_what_the_cleaner_has_made_of_a_log_before_it_was_moved_there_and_back_is_not_used(
    world: World,
) -> None:
    """It is in the directory that had the log's name before."""
    log, held = world.log, HeldWorkers()
    log.reconfigure(replace(CONFIG, cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0))
    fill(log, 30)
    cleaner = Cleaner(
        world.manager.pool,
        held,
        settings=CleanerSettings(),
        clock=SimpleNamespace(now_ms=lambda: NOW, monotonic=lambda: 0.0),
        on_failure=lambda log, failure: pytest.fail(str(failure)),
    )
    world.manager.on_log_moved = lambda moved, source: cleaner.moved(moved, source.path)
    cleaner.tick([log], NOW)
    step, done = held.held.pop()
    step()
    while not list((world.root / "a/t-0").glob("*.cleaned")):
        done(None)
        step, done = held.held.pop()
        step()
    expected = values_of(log)
    for directory in (world.b, world.a):
        world.begin(directory)
        world.finish()
        assert world.manager.directory_of(log) is directory
    done(None)
    assert not cleaner.is_running
    assert values_of(log) == expected
    world.manager.tick(NOW + 60_001)
    world.finish()
    again = world.start().get("t", 0)
    assert again is not None
    assert again.end_offset == 30
    again.advance_high_watermark(30)
    assert values_of(again) == expected


def test_a_slice_on_its_way_to_a_client_stays_good(world: World) -> None:
    log = world.log
    fill(log, 30)
    found = log.read(3, max_bytes=500, end_offset=30, at_least_one=True)
    expected = found.read()
    world.begin()
    world.finish()
    assert log.directory == str(world.root / "b/t-0")
    assert found.read() == expected


def test_the_old_files_go_when_nobody_can_be_reading_them(world: World) -> None:
    fill(world.log, 30)
    world.begin()
    world.finish()
    assert world.names == ["a/t-0-delete", "b/t-0"]
    world.manager.tick(NOW + 10)
    world.finish()
    assert world.names == ["a/t-0-delete", "b/t-0"]
    world.manager.tick(NOW + 60_001)
    world.finish()
    assert world.names == ["b/t-0"]


def test_everything_that_was_moved_is_durable_and_so_is_what_is_known_of_it(world: World) -> None:
    log = world.log
    fill(log, 30)
    log.delete_records_before(2)
    world.begin()
    world.finish()
    assert log.recovery_point == 30
    for name, offset in (
        (checkpoint.RECOVERY_POINTS, 30),
        (checkpoint.HIGH_WATERMARKS, 30),
        (checkpoint.LOG_STARTS, 2),
    ):
        path = str(world.root / "b" / name)
        assert checkpoint.read_offsets(world.manager.pool, path) == {KEY: offset}
    for segment in log.segments:
        assert f"{segment.base_offset:020d}.log" in world.disk.synced


def test_a_move_is_slowed_down_to_the_rate_that_is_set(world: World) -> None:
    fill(world.log, 30)
    world.manager.settings = StorageSettings(directories=(), move_bytes_per_second=1000)
    world.begin()
    seconds = 0
    while world.log.directory.endswith("a/t-0"):
        world.finish()
        world.manager.moves.tick()
        seconds += 1
    assert seconds >= world.log.size_bytes // 1000 - 1


def test_asking_again_changes_nothing_and_asking_for_where_it_is_ends_the_move(
    world: World,
) -> None:
    fill(world.log, 30)
    world.begin()
    move = world.manager.moves.get(KEY)
    assert move is not None
    world.begin()
    assert world.manager.moves.get(KEY) is move
    assert world.manager.moves.into(world.b) == [move]
    world.workers.step()
    assert 0 < move.size_bytes < world.log.size_bytes
    assert 0 < move.offset_lag <= 30
    world.begin(world.a)
    assert world.manager.moves.get(KEY) is None
    world.finish()
    assert world.log.directory == str(world.root / "a/t-0")
    world.manager.tick(NOW + 60_001)
    world.finish()
    assert world.names == ["a/t-0"]


def test_a_log_that_is_deleted_meanwhile_is_not_moved(world: World) -> None:
    fill(world.log, 30)
    world.begin()
    world.workers.step()
    world.manager.delete(world.log)
    world.finish()
    assert world.manager.moves.get(KEY) is None
    assert world.manager.logs == {}


def test_a_log_that_is_not_here_yet_is_made_where_it_was_asked_for(world: World) -> None:
    assert not world.manager.move("u", 0, world.a)
    log = world.manager.create("u", 0, TOPIC_ID, CONFIG)
    assert log.directory == str(world.root / "a/u-0")


def test_only_log_directories_that_work_can_be_moved_to(world: World) -> None:
    with pytest.raises(LogDirNotFound):
        world.manager.directory_at(str(world.root / "c"))
    assert world.manager.directory_at(str(world.root / "b") + "/") is world.b
    world.b.failure = StorageFailed("gone")
    with pytest.raises(StorageFailed):
        world.manager.directory_at(str(world.root / "b"))


def test_a_log_that_is_made_anew_can_be_moved_before_the_move_of_the_old_one_has_ended(
    world: World,
) -> None:
    fill(world.log, 30)
    world.begin()
    world.manager.delete(world.log)
    world.manager.move(*KEY, world.a)
    log = world.manager.create("t", 0, b"another topic id", CONFIG)
    assert log.directory == str(world.root / "a/t-0")
    append(log, batch(b"new"))
    world.begin()
    world.finish()
    assert log.directory == str(world.root / "b/t-0")
    assert values_of(log) == [b"new"]


def test_a_move_of_a_log_that_is_gone_is_not_shown_behind_one_that_takes_long(
    world: World,
) -> None:
    fill(world.log, 30)
    world.manager.move("u", 0, world.a)
    other = world.manager.create("u", 0, TOPIC_ID, CONFIG)
    world.begin()
    world.manager.move("u", 0, world.b)
    assert [move.log for move in world.manager.moves.into(world.b)] == [world.log, other]
    world.manager.delete(other)
    world.manager.moves.tick()
    assert [move.log for move in world.manager.moves.into(world.b)] == [world.log]


def test_of_the_segment_in_use_only_the_last_bytes_are_left_to_be_made_durable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are synced on the loop thread, so that everybody waits for it."""
    monkeypatch.setattr("barnabas.storage.move._PIECE", 100)
    monkeypatch.setattr("barnabas.storage.move._LITTLE", 100)
    fill(world.log, 5)
    assert len(world.log.segments) == 1
    world.begin()
    pieces = 0
    while world.log.directory.endswith("a/t-0"):
        world.disk.synced.clear()
        assert world.workers.step()
        assert f"{0:020d}.log" in world.disk.synced
        pieces += 1
    assert pieces > 1
