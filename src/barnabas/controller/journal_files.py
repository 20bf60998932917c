"""The directory of an embedded journal: every system call it makes, and nothing else.

Whole files are read and written, so no descriptor stays open between calls.  A simulated disk is
another class with the same methods.  Any thread may call; the journal sees to it that two calls
never concern the same file at once.
"""

from __future__ import annotations

import os
from typing import NoReturn, Protocol

from barnabas.base.errors import StorageFailed


class JournalFiles(Protocol):
    """What a journal needs of a disk.  Every method raises StorageFailed if the disk refuses."""

    def names(self) -> list[str]:
        """Of the files there are; none if the directory does not exist yet."""

    def read(self, name: str) -> bytes:
        """All of that file."""

    def append(self, name: str, data: bytes, *, position: int) -> None:
        """Write at `position`, which is the file's end, and return when the disk has it."""

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Make that the file's content in one step: a crash leaves the old or the new.

        `durable`: return when the disk has it.
        """

    def truncate(self, name: str, size: int) -> None:
        """Cut the file to that size, durably.  A file that does not exist has size 0."""

    def remove(self, name: str) -> None:
        """Delete the file if it exists."""


class DirectoryFiles:
    """A real directory.  It is made when the first file is."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError:
            return []
        except OSError as error:
            _fail("list", self.path, error)

    def read(self, name: str) -> bytes:
        try:
            with open(self._path(name), "rb") as file:
                return file.read()
        except OSError as error:
            _fail("read", self._path(name), error)

    def append(self, name: str, data: bytes, *, position: int) -> None:
        path = self._path(name)
        try:
            is_new = not os.path.exists(path)
            if is_new:
                os.makedirs(self.path, exist_ok=True)
            with _open(path, os.O_WRONLY | os.O_CREAT) as fd:
                _write_all(fd, data, position)
                os.fsync(fd)
            if is_new:
                _sync_directory(self.path)
        except OSError as error:
            _fail("write", path, error)

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        path = self._path(name)
        part = path + ".part"
        try:
            os.makedirs(self.path, exist_ok=True)
            with _open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
                _write_all(fd, data, 0)
                if durable:
                    os.fsync(fd)
            os.replace(part, path)
            if durable:
                _sync_directory(self.path)
        except OSError as error:
            _fail("write", path, error)

    def truncate(self, name: str, size: int) -> None:
        path = self._path(name)
        if size == 0 and not os.path.exists(path):
            return
        try:
            with _open(path, os.O_WRONLY) as fd:
                os.ftruncate(fd, size)
                os.fsync(fd)
        except OSError as error:
            _fail("truncate", path, error)

    def remove(self, name: str) -> None:
        path = self._path(name)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            _fail("delete", path, error)

    def _path(self, name: str) -> str:
        assert os.sep not in name, f"{name} is not the name of a file"
        return os.path.join(self.path, name)


class _open:  # noqa: N801 (used like the function)
    """A file descriptor that is closed at the end of the block."""

    def __init__(self, path: str, flags: int) -> None:
        self._fd = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _write_all(fd: int, data: bytes, position: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, position)
        view = view[written:]
        position += written


def _sync_directory(path: str) -> None:
    """A new name is only durable when its directory is."""
    with _open(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)


def _fail(action: str, path: str, error: OSError) -> NoReturn:
    raise StorageFailed(f"cannot {action} {path}: {error.strerror or error}") from error
