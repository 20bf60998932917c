"""The simulated disk: what a crash of a process keeps, and what a power cut may lose."""

from __future__ import annotations

import errno
import os
from random import Random
from typing import Any, cast

import pytest

from barnabas.lab.sim.disk import SimDisk
from barnabas.lab.sim.process import Process
from barnabas.lab.sim.syscalls import SimSyscalls
from barnabas.storage.syscalls import Disk, Syscalls

NEW = os.O_RDWR | os.O_CREAT


def calls_on(disk: SimDisk, process: Process | None = None) -> Any:
    return SimSyscalls(disk, process or Process("m"), pause=lambda _: None, now=lambda: 7)


@pytest.fixture
def disk() -> SimDisk:
    made = SimDisk()
    calls_on(made).mkdir("/data")
    made.sync(made.find("/data"))
    return made


def test_what_is_written_is_read_by_the_next_process(disk: SimDisk) -> None:
    calls = calls_on(disk)
    fd = calls.open("/data/a", NEW)
    assert calls.pwritev(fd, [b"one", b"two"], 0) == 6

    again = calls_on(disk)
    assert again.pread(again.open("/data/a", os.O_RDONLY), 100, 2) == b"etwo"
    assert again.stat("/data/a").st_size == 6


def test_a_dead_process_writes_nothing(disk: SimDisk) -> None:
    process = Process("m")
    calls = calls_on(disk, process)
    fd = calls.open("/data/a", NEW)
    process.kill()
    with pytest.raises(OSError, match="dead"):
        calls.pwritev(fd, [b"late"], 0)
    assert disk.find("/data/a").data == b""


def test_flushed_bytes_survive_a_power_cut_and_later_ones_from_the_front(disk: SimDisk) -> None:
    lost = set()
    for seed in range(200):
        target = SimDisk()
        calls = calls_on(target)
        calls.mkdir("/data")
        fd = calls.open("/data/a", NEW)
        calls.pwritev(fd, [b"flushed."], 0)
        calls.fsync(fd)
        calls.pwritev(fd, [b"first."], 8)
        calls.pwritev(fd, [b"second."], 14)
        target.lose_power(Random(seed))
        data = bytes(target.find("/data/a").data or b"")
        assert data.startswith(b"flushed.")
        kept = data[8:].rstrip(b"\0")
        assert b"first.second.".startswith(kept)
        lost.add(13 - len(kept))
    assert {0, 7, 13} <= lost  # nothing, one write, all of it
    assert len(lost) > 6  # and torn in between


def test_a_cut_file_may_be_whole_again_after_a_power_cut() -> None:
    found = set()
    for seed in range(20):
        disk = SimDisk()
        calls = calls_on(disk)
        fd = calls.open("/a", NEW)
        calls.pwritev(fd, [b"12345678"], 0)
        calls.fsync(fd)
        calls.ftruncate(fd, 2)
        disk.lose_power(Random(seed))
        found.add(bytes(disk.find("/a").data or b""))
    assert found == {b"12", b"12345678"}


def test_names_survive_in_the_order_of_their_changes() -> None:
    found = set()
    for seed in range(60):
        disk = SimDisk()
        calls = calls_on(disk)
        for name in "abc":
            calls.close(calls.open(f"/{name}", NEW))
        calls.rename("/c", "/d")
        disk.lose_power(Random(seed))
        found.add("".join(sorted(disk.children("/"))))
    assert found == {"", "a", "ab", "abc", "abd"}


def test_an_atomic_write_survives_whole() -> None:
    for seed in range(50):
        disk = SimDisk()
        files = Disk(cast("Syscalls", calls_on(disk)))
        files.write_atomically("/f", b"old")
        files.write_atomically("/f", b"new")
        disk.lose_power(Random(seed))
        assert disk.find("/f").data == b"new"


def test_a_renamed_directory_takes_its_files_along(disk: SimDisk) -> None:
    calls = calls_on(disk)
    calls.mkdir("/data/t-0")
    calls.close(calls.open("/data/t-0/log", NEW))
    calls.rename("/data/t-0", "/data/t-0.deleted")
    with calls.scandir("/data/t-0.deleted") as entries:
        assert [(entry.name, entry.is_dir()) for entry in entries] == [("log", False)]
    with pytest.raises(FileNotFoundError):
        calls.stat("/data/t-0/log")


def test_a_full_disk_takes_what_fits_and_then_refuses(disk: SimDisk) -> None:
    calls = calls_on(disk)
    fd = calls.open("/data/a", NEW)
    disk.room = 4
    assert calls.pwritev(fd, [b"123456"], 0) == 4
    with pytest.raises(OSError, match="space") as refused:
        calls.pwritev(fd, [b"56"], 4)
    assert refused.value.errno == errno.ENOSPC
    disk.room = None
    assert calls.pwritev(fd, [b"56"], 4) == 2


def test_a_lock_is_free_again_when_its_holder_is_dead(disk: SimDisk) -> None:
    holder = Process("m", 1)
    first = Disk(cast("Syscalls", calls_on(disk, holder)))
    second = Disk(cast("Syscalls", calls_on(disk, Process("m", 2))))
    assert first.lock("/data/.lock") is not None
    assert second.lock("/data/.lock") is None
    holder.kill()
    assert second.lock("/data/.lock") is not None


def test_a_slow_disk_holds_its_writer_up(disk: SimDisk) -> None:
    held: list[float] = []
    calls = SimSyscalls(disk, Process("m"), pause=held.append, now=lambda: 0)
    fd = calls.open("/data/a", NEW)
    disk.write_s = 0.5
    calls.pwritev(fd, [b"x"], 0)
    calls.fsync(fd)
    assert held == [0.5, 0.5]
