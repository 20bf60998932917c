"""Files: a bounded number open, appends all or nothing, errors with the path."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from storage_logs import FlakyDisk

from barnabas.base.errors import StorageFailed
from barnabas.storage.fs import File, FilePool, FileSlice, Syscalls, is_disk_full


def new_file(pool: FilePool, path: Path) -> File:
    file = pool.file(str(path))
    file.create()
    return file


def test_no_more_files_are_open_than_the_pool_allows(tmp_path: Path) -> None:
    pool = FilePool(3)
    files = [new_file(pool, tmp_path / str(number)) for number in range(10)]
    for number, file in enumerate(files):
        file.append([b"%d" % number], 1)

    assert pool.open_count == 3
    assert [file.read(0, 10) for file in files] == [b"%d" % number for number in range(10)]
    pool.close()
    assert pool.open_count == 0


def test_a_file_in_use_stays_open_while_idle_ones_make_room(tmp_path: Path) -> None:
    pool = FilePool(3)
    busy = new_file(pool, tmp_path / "busy")
    fd = busy.fileno()
    for number in range(9):
        new_file(pool, tmp_path / str(number))
        assert busy.fileno() == fd
    pool.close()


class FewDescriptors(Syscalls):
    """No more files can be opened than `left` says."""

    left = 100

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
        if not self.left:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self.left -= 1
        return os.open(path, flags, mode)

    def close(self, fd: int) -> None:  # type: ignore[override]
        self.left += 1
        os.close(fd)


def test_a_pool_makes_do_with_fewer_descriptors_when_others_took_them(tmp_path: Path) -> None:
    calls = FewDescriptors()
    pool = FilePool(10, calls)
    calls.left = 3
    files = [new_file(pool, tmp_path / str(number)) for number in range(8)]
    assert pool.open_count == 3
    files[0].append([b"x"], 1)
    pool.close()
    calls.left = 0
    with pytest.raises(StorageFailed, match="Too many open files") as caught:
        files[0].read(0, 1)
    assert is_disk_full(caught.value)  # it may pass


def test_an_append_of_more_parts_than_the_kernel_takes_at_once(tmp_path: Path) -> None:
    pool = FilePool(4)
    file = new_file(pool, tmp_path / "f")
    file.append([b"ab"] * 3000, 6000)
    assert file.size == 6000
    assert file.read(0, 10_000) == b"ab" * 3000
    pool.close()


def test_an_append_goes_on_when_the_kernel_takes_a_few_bytes_at_a_time(tmp_path: Path) -> None:
    disk = FlakyDisk()
    disk.bite = 3
    pool = FilePool(4, disk)
    file = new_file(pool, tmp_path / "f")
    file.append([b"hello", b"", b" ", memoryview(b"world")], 11)
    assert file.read(0, 100) == b"hello world"
    pool.close()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    disk = FlakyDisk()
    pool = FilePool(4, disk)
    file = new_file(pool, tmp_path / "f")
    file.append([b"kept"], 4)
    disk.room = 3
    with pytest.raises(StorageFailed, match=r"cannot write .*/f: No space left") as caught:
        file.append([b"too much"], 8)
    assert is_disk_full(caught.value)
    assert (tmp_path / "f").read_bytes() == b"kept"
    disk.room = None
    file.append([b"!"], 1)
    assert (tmp_path / "f").read_bytes() == b"kept!"
    pool.close()


def test_a_renamed_file_opens_again_under_its_new_name(tmp_path: Path) -> None:
    pool = FilePool(1)
    file = new_file(pool, tmp_path / "old")
    file.append([b"x"], 1)
    file.rename(str(tmp_path / "new"))
    new_file(pool, tmp_path / "other")  # takes the only descriptor
    file.append([b"y"], 1)
    assert (tmp_path / "new").read_bytes() == b"xy"
    assert not (tmp_path / "old").exists()
    file.delete()
    assert not (tmp_path / "new").exists()
    file.delete()  # gone already
    pool.close()


def test_a_missing_file_is_a_storage_failure_that_names_it(tmp_path: Path) -> None:
    pool = FilePool(1)
    with pytest.raises(StorageFailed, match="nowhere") as caught:
        pool.file(str(tmp_path / "nowhere"), 5).read(0, 5)
    assert not is_disk_full(caught.value)


def test_a_slice_reads_its_part_and_can_be_narrowed(tmp_path: Path) -> None:
    pool = FilePool(1)
    file = new_file(pool, tmp_path / "f")
    file.append([b"0123456789"], 10)
    part = FileSlice(file, 2, 6)
    assert len(part) == 6
    assert part.read() == b"234567"
    assert part.narrow(1, 3).read() == b"345"
    assert part.narrow(4, 100).read() == b"67"
    assert FileSlice(file, 0, 0).read() == b""
    assert os.pread(part.fileno(), len(part), part.position) == b"234567"
    pool.close()


def test_a_duplicate_outlives_rename_and_close(tmp_path: Path) -> None:
    pool = FilePool(1)
    file = new_file(pool, tmp_path / "f")
    file.append([b"abc"], 3)
    with file.duplicate() as private:
        file.delete()
        private.sync()
        assert private.read(0, 3) == b"abc"
        assert private.size == 3
    pool.close()


def test_an_atomic_write_replaces_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    pool = FilePool(1)
    path = str(tmp_path / "checkpoint")
    for content in (b"one", b"two"):
        pool.write_atomically(path, content)
        assert pool.read_bytes(path) == content
    assert pool.list_names(str(tmp_path)) == ["checkpoint"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    disk = FlakyDisk()
    pool = FilePool(1, disk)
    path = str(tmp_path / "checkpoint")
    pool.write_atomically(path, b"one")
    disk.broken = True
    with pytest.raises(StorageFailed):
        pool.write_atomically(path, b"two")
    assert pool.read_bytes(path) == b"one"


def test_tails_are_cut_to_whole_units(tmp_path: Path) -> None:
    pool = FilePool(1)
    path = str(tmp_path / "index")
    assert pool.read_tail(path, 8, 8) is None
    pool.write_bytes(path, bytes(range(20)))
    assert pool.read_tail(path, 8, 8) == bytes(range(8, 16))
    pool.write_bytes(path, b"xyz")
    assert pool.read_tail(path, 8, 8) == b""


def test_writing_at_a_position_ends_the_file_there(tmp_path: Path) -> None:
    pool = FilePool(1)
    path = str(tmp_path / "f")
    pool.write_bytes(path, b"0123456789")
    pool.write_bytes(path, b"ab", position=4)
    assert pool.read_bytes(path) == b"0123ab"


def test_a_tree_is_removed_with_all_it_holds(tmp_path: Path) -> None:
    pool = FilePool(1)
    top = tmp_path / "top"
    pool.make_directory(str(top / "inner"))
    (top / "file").write_bytes(b"x")
    (top / "inner" / "file").write_bytes(b"x")
    pool.remove_tree(str(top))
    assert not top.exists()
    pool.remove_tree(str(top))  # gone already


def test_a_lock_has_one_holder_even_in_one_process(tmp_path: Path) -> None:
    pool = FilePool(1)
    path = str(tmp_path / ".lock")
    first = pool.lock(path)
    assert first is not None
    assert pool.lock(path) is None
    first.close()
    second = pool.lock(path)
    assert second is not None
    second.close()
