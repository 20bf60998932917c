from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.controller.journal_files import DirectoryFiles


@pytest.fixture
def files(tmp_path: Path) -> DirectoryFiles:
    return DirectoryFiles(tmp_path / "journal")


def test_the_directory_is_made_with_the_first_file(files: DirectoryFiles) -> None:
    assert files.names() == []
    files.append("b", b"xy", position=0)
    files.replace("a", b"1")
    assert files.names() == ["a", "b"]
    assert files.read("b") == b"xy"


def test_what_is_appended_stands_at_its_position(files: DirectoryFiles) -> None:
    files.append("f", b"hello", position=0)
    files.append("f", b"LO!", position=3)
    assert files.read("f") == b"helLO!"


def test_replacing_leaves_nothing_of_the_old_file(files: DirectoryFiles) -> None:
    files.replace("f", b"a long content")
    files.replace("f", b"short", durable=False)
    assert files.read("f") == b"short"
    assert files.names() == ["f"]


def test_files_are_cut_and_removed(files: DirectoryFiles) -> None:
    files.append("f", b"hello", position=0)
    files.truncate("f", 2)
    assert files.read("f") == b"he"
    files.truncate("not there", 0)
    files.remove("f")
    files.remove("f")
    assert files.names() == []


def test_what_is_written_is_synced_before_the_call_returns(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.path.isdir(f"/proc/self/fd/{fd}")))

    files.append("f", b"1", position=0)
    assert synced == [False, True]  # the file, then the directory that has its name
    synced.clear()
    files.append("f", b"2", position=1)
    assert synced == [False]
    synced.clear()
    files.replace("g", b"3")
    assert synced == [False, True]
    synced.clear()
    files.truncate("f", 1)
    assert synced == [False]
    synced.clear()
    files.replace("g", b"4", durable=False)
    assert synced == []


def test_short_writes_are_continued(files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: write(fd, data[:3], at))

    files.append("f", b"hello world", position=0)

    assert files.read("f") == b"hello world"


def test_the_error_of_the_disk_is_told_with_the_path(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    files = DirectoryFiles(blocked)

    for call in (
        files.names,
        lambda: files.read("f"),
        lambda: files.append("f", b"", position=0),
        lambda: files.replace("f", b""),
        lambda: files.truncate("f", 5),
        lambda: files.remove("f"),
    ):
        with pytest.raises(StorageFailed, match=str(blocked)):
            call()
