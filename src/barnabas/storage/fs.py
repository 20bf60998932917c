"""Files as the rest of the room sees them: opened when needed, a bounded number at a time.

With syscalls.py the only place that reaches the disk.  `FilePool` and `File` belong to the loop
thread; a worker thread uses a `PrivateFile` and what the pool inherits from `Disk`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections import deque
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.storage.syscalls import (
    IOV_MAX,
    OPEN_FLAGS,
    SYSCALLS,
    Buffer,
    Disk,
    PrivateFile,
    Syscalls,
    fail,
    is_disk_full,
    read_fully,
    write_fully,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Buffer",
    "Disk",
    "File",
    "FilePool",
    "FileSlice",
    "PrivateFile",
    "Syscalls",
    "is_disk_full",
]

_LARGEST_POOL = 16_384


def default_pool_limit() -> int:
    """Half of the descriptors this process may have: the other half is for connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _LARGEST_POOL
    return max(16, min(soft // 2, _LARGEST_POOL))


class File:
    """A file that is opened when it is needed.  Its end is ours: `size` is where appends go.

    Bytes below `size` are in the page cache at least; they are durable after `sync`.
    A descriptor got from `fileno` is good until the next call on any file of the pool.
    """

    __slots__ = ("_fd", "_pool", "_used", "path", "size")

    def __init__(self, pool: FilePool, path: str, size: int = 0) -> None:
        self.path = path
        self.size = size
        self._pool = pool
        self._fd = -1
        self._used = False

    def __repr__(self) -> str:
        return f"File({self.path!r}, size={self.size})"

    def create(self) -> None:
        """Make the file, empty, whatever was there."""
        self.close()
        self._pool.open_into(self, OPEN_FLAGS | os.O_CREAT | os.O_TRUNC)
        self.size = 0

    def fileno(self) -> int:
        if self._fd < 0:
            self._pool.open_into(self, OPEN_FLAGS)
        else:
            self._used = True
        return self._fd

    def append(self, parts: Sequence[Buffer], total: int) -> None:
        """Write `parts` (`total` bytes) at the end.  All or, with StorageFailed, nothing of it."""
        fd = self.fileno()
        calls = self._pool.calls
        try:
            if len(parts) > IOV_MAX or calls.pwritev(fd, parts, self.size) != total:
                written = write_fully(calls, fd, parts, self.size)
                assert written == total, f"{written} bytes written of {total}"
        except OSError as error:
            self.take_back(self.size)
            fail("write", self.path, error)
        self.size += total

    def take_back(self, size: int) -> None:
        """The file ends at `size` again.  Never fails.

        What lies beyond is overwritten by the next append.  It is cut anyhow, so that a crash
        before then leaves no half batch; if the disk refuses even that, recovery cuts it.
        """
        self.size = size
        with contextlib.suppress(OSError, StorageFailed):  # the latter if it cannot be opened
            self._pool.calls.ftruncate(self.fileno(), size)

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        fd = self.fileno()
        try:
            return read_fully(self._pool.calls, fd, length, position)
        except OSError as error:
            fail("read", self.path, error)

    def truncate(self, size: int) -> None:
        fd = self.fileno()
        try:
            self._pool.calls.ftruncate(fd, size)
        except OSError as error:
            fail("truncate", self.path, error)
        self.size = size

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        fd = self.fileno()
        try:
            self._pool.calls.fdatasync(fd)
        except OSError as error:
            fail("flush", self.path, error)

    def duplicate(self) -> PrivateFile:
        """A descriptor for a worker thread that stays good if this file is renamed or closed."""
        fd = self.fileno()
        try:
            copy = self._pool.calls.dup(fd)
        except OSError as error:
            fail("open", self.path, error)
        return PrivateFile(self._pool.calls, self.path, copy)

    def rename(self, path: str) -> None:
        self._pool.rename(self.path, path)
        self.path = path

    def delete(self) -> None:
        """Remove the file; nothing happens if it is gone already."""
        self.close()
        self._pool.remove(self.path)

    def close(self) -> None:
        """Give the descriptor back; the file can still be used and opens again when needed."""
        if self._fd >= 0:
            self._pool.close_of(self)

    # Only FilePool calls these two: they keep a read of `fileno` free of method calls.
    def opened(self, fd: int) -> None:
        self._fd = fd
        self._used = False  # used once is not used often: a scan must not drive the others out

    def take_descriptor(self, *, idle_only: bool) -> int:
        """The descriptor to close, or -1 if there is none or the file was used since last asked."""
        if idle_only and self._used:
            self._used = False
            return -1
        fd, self._fd = self._fd, -1
        return fd


class FileSlice:
    """Bytes of a file that will not change: what a fetch answers, sent by `sendfile`."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        assert length >= 0, f"negative length {length}"
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"FileSlice({self.file.path!r}, {self.position}, {self.length})"

    def fileno(self) -> int:
        """Ask again before every call that uses it: the pool may close and reopen the file."""
        return self.file.fileno()

    def read(self) -> bytes:
        if not self.length:
            return b""
        return self.file.read(self.position, self.length)

    def narrow(self, start: int, length: int) -> FileSlice:
        """The part that begins `start` bytes in and has at most `length` bytes."""
        assert 0 <= start <= self.length, f"{start} is outside 0..{self.length}"
        return FileSlice(self.file, self.position + start, min(length, self.length - start))


class FilePool(Disk):
    """All open files of a broker: at most `limit` at a time, the least recently used closed first.

    "Recently" is one bit per file (the clock algorithm), so that using an open file costs nothing.
    """

    def __init__(self, limit: int | None = None, calls: Syscalls = SYSCALLS) -> None:
        super().__init__(calls)
        self.limit = default_pool_limit() if limit is None else limit
        self._open: deque[File] = deque()
        assert self.limit > 0, "a pool without room"

    @property
    def open_count(self) -> int:
        return len(self._open)

    def file(self, path: str, size: int = 0) -> File:
        """A handle on a file that exists and has `size` bytes, or that `create` will make."""
        return File(self, path, size)

    def open_into(self, file: File, flags: int) -> None:
        while len(self._open) >= self.limit:
            self._close_one()
        while True:
            try:
                file.opened(self.calls.open(file.path, flags, 0o644))
                break
            except OSError as error:
                if error.errno != errno.EMFILE or not self._open:
                    fail("open", file.path, error)
                self._close_one()  # others took the descriptors: make do with fewer
        self._open.append(file)

    def _close_one(self) -> None:
        """The one that was not used for the longest time."""
        while True:
            oldest = self._open.popleft()
            fd = oldest.take_descriptor(idle_only=True)
            if fd >= 0:
                self.calls.close(fd)
                return
            self._open.append(oldest)

    def close_of(self, file: File) -> None:
        self._open.remove(file)
        self.calls.close(file.take_descriptor(idle_only=False))

    def close(self) -> None:
        while self._open:
            self.calls.close(self._open.popleft().take_descriptor(idle_only=False))
