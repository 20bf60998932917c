"""Logs on their way to another log directory, and crashes or disks that refuse on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moving_world import KEY, World
from storage_logs import NOW, append, batch, fill, values_of

from barnabas.base.errors import StorageFailed


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.crash()


def test_a_full_disk_ends_the_move_and_harms_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    fill(world.log, 30)
    world.disk.room = 1500
    world.begin()
    world.finish()
    assert world.manager.moves.get(KEY) is None
    assert "could not be moved" in caplog.text
    world.disk.room = None
    append(world.log, batch(b"on"))
    assert values_of(world.log)[-1] == b"on"
    assert world.log.directory == str(world.root / "a/t-0")


def test_after_a_crash_a_move_begins_anew(world: World) -> None:
    fill(world.log, 30)
    world.begin()
    world.workers.step()
    world.start()
    log = world.manager.get("t", 0)
    assert log is not None
    assert log.directory == str(world.root / "a/t-0")
    world.manager.moves.tick()
    world.finish()
    assert log.directory == str(world.root / "b/t-0")
    assert log.end_offset == 30


def test_a_crash_between_the_two_names_finishes_the_move(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world.log, 30)
    world.begin()
    rename = world.manager.pool.rename

    def crash(old: str, new: str) -> None:
        if old.endswith("-future"):
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(world.manager.pool, "rename", crash)
    with pytest.raises(KeyboardInterrupt):
        world.finish()
    assert world.names == ["a/t-0-moved", "b/t-0-future"]
    log = world.start().get("t", 0)
    assert log is not None
    assert (log.directory, log.end_offset) == (str(world.root / "b/t-0"), 30)
    assert world.names == ["b/t-0"]


@pytest.mark.parametrize("crashes", [False, True])
def test_what_recovery_has_set_aside_is_not_removed_with_the_old_files(
    world: World, monkeypatch: pytest.MonkeyPatch, *, crashes: bool
) -> None:
    fill(world.log, 30)
    aside = world.root / "a/t-0" / f"{40:020d}.log.stray"
    aside.write_bytes(b"set aside")
    world.begin()
    if crashes:
        monkeypatch.setattr("barnabas.storage.moving._let_go", lambda _, left: (left, False))
    world.finish()
    monkeypatch.undo()
    if crashes:
        assert world.names == ["a/t-0-moved", "b/t-0"]
        world.start()
    world.manager.tick(NOW + 60_001)
    world.finish()
    assert world.names == ["a/t-0-stray", "b/t-0"]
    (found,) = (world.root / "a").glob("*-stray/*.stray")
    assert found.read_bytes() == b"set aside"


def test_a_disk_that_refuses_the_second_name_leaves_the_log_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world.log, 30)
    world.begin()
    rename = world.manager.pool.rename

    def refuse(old: str, new: str) -> None:
        if old.endswith("-future"):
            raise StorageFailed("no")
        rename(old, new)

    monkeypatch.setattr(world.manager.pool, "rename", refuse)
    world.finish()
    monkeypatch.undo()
    assert (list(world.a.logs), list(world.b.logs)) == ([KEY], [])
    append(world.log, batch(b"on"))
    assert world.start().get("t", 0) is not None


def test_a_disk_that_does_not_keep_the_second_name_leaves_the_log_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world.log, 30)
    world.begin()
    sync = world.manager.pool.sync_directory

    def refuse(path: str) -> None:
        if path == world.b.path and (world.root / "b/t-0").exists():
            raise StorageFailed("no")
        sync(path)

    monkeypatch.setattr(world.manager.pool, "sync_directory", refuse)
    world.finish()
    monkeypatch.undo()
    assert world.names == ["a/t-0", "b/t-0-future"]
    assert (list(world.a.logs), list(world.b.logs)) == ([KEY], [])
    append(world.log, batch(b"on"))
    world.log.roll(NOW)
    again = world.start().get("t", 0)
    assert again is not None
    assert again.end_offset == 31


def test_a_log_between_two_names_is_not_used_and_the_next_start_finishes_its_move(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world.log, 30)
    world.begin()
    rename = world.manager.pool.rename

    def refuse(old: str, new: str) -> None:
        if old.endswith(("-future", "-moved")):
            raise StorageFailed("no")
        rename(old, new)

    monkeypatch.setattr(world.manager.pool, "rename", refuse)
    world.finish()
    monkeypatch.undo()
    assert world.a.failure is not None
    assert world.manager.logs == {}
    world.manager.tick(NOW + 60_001)
    world.finish()
    assert world.names == ["a/t-0-moved", "b/t-0-future"]
    again = world.start().get("t", 0)
    assert again is not None
    assert (again.directory, again.end_offset) == (str(world.root / "b/t-0"), 30)


def test_a_disk_that_breaks_down_as_a_log_comes_to_it_leaves_the_others_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(world.log, 30)
    world.begin()
    pool = world.manager.pool
    sync, exists = pool.sync_directory, pool.exists
    is_broken = False

    def breaks(path: str) -> None:
        nonlocal is_broken
        is_broken |= path == world.b.path and (world.root / "b/t-0").exists()
        if is_broken and path.startswith(world.b.path):
            raise StorageFailed("no")
        sync(path)

    def refuses(path: str) -> bool:
        if is_broken and path.startswith(world.b.path):
            raise StorageFailed("no")
        return exists(path)

    monkeypatch.setattr(pool, "sync_directory", breaks)
    monkeypatch.setattr(pool, "exists", refuses)
    world.finish()
    assert is_broken
    assert world.a.failure is None
    assert world.log.directory == str(world.root / "a/t-0")
    assert "b/t-0 is out of date: remove it" in caplog.text
    append(world.log, batch(b"on"))
    world.log.roll(NOW)
    assert values_of(world.log)[-1] == b"on"
