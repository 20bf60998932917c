"""System calls on the disk: the port, errors, and files that are used whole or by one thread.

Every system call of the room goes through a `Syscalls` object that a simulation may replace, and
only here and in fs.py does an `OSError` become `StorageFailed`.  Nothing here keeps state that two
threads could share.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections import deque
from typing import TYPE_CHECKING, NoReturn

from barnabas.base.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

Buffer = bytes | bytearray | memoryview

IOV_MAX = 1024  # the most buffers that Linux takes in one call
OPEN_FLAGS = os.O_RDWR | os.O_CLOEXEC


class Syscalls:
    """The calls that reach the disk; a simulated disk overrides them with the same signatures."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    dup = staticmethod(os.dup)
    pread = staticmethod(os.pread)
    pwritev = staticmethod(os.pwritev)
    ftruncate = staticmethod(os.ftruncate)
    fsync = staticmethod(os.fsync)
    fdatasync = staticmethod(os.fdatasync)
    fstat = staticmethod(os.fstat)
    stat = staticmethod(os.stat)
    rename = staticmethod(os.replace)
    unlink = staticmethod(os.unlink)
    mkdir = staticmethod(os.makedirs)
    rmdir = staticmethod(os.rmdir)

    @staticmethod
    def scandir(path: str) -> contextlib.AbstractContextManager[Iterator[os.DirEntry[str]]]:
        return os.scandir(path)

    flock = staticmethod(fcntl.flock)
    lockf = staticmethod(fcntl.lockf)
    statvfs = staticmethod(os.statvfs)
    utime = staticmethod(os.utime)


SYSCALLS = Syscalls()
_MAY_PASS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE))


def is_disk_full(error: StorageFailed) -> bool:
    """Whether the failure may pass, and the directory is not broken: a full disk or quota.

    Having no descriptor left for a file is of that kind too.
    """
    cause = error.__cause__
    while isinstance(cause, StorageFailed):  # said again, to whoever else must learn of it
        cause = cause.__cause__
    return isinstance(cause, OSError) and cause.errno in _MAY_PASS


def fail(action: str, path: str, error: OSError) -> NoReturn:
    """Raise the error that clients are told when the disk refuses."""
    raise StorageFailed(f"cannot {action} {path}: {error.strerror or error}") from error


def write_fully(calls: Syscalls, fd: int, parts: Sequence[Buffer], position: int) -> int:
    """Write all parts at `position`, whatever the kernel takes at a time; the bytes written."""
    start = position
    views = deque(memoryview(part) for part in parts if len(part))
    while views:
        head = [views[i] for i in range(min(len(views), IOV_MAX))]
        written = calls.pwritev(fd, head, position)
        if written == 0:
            raise OSError(errno.EIO, "the disk took no bytes")
        position += written
        while views and written >= len(views[0]):
            written -= len(views.popleft())
        if written:
            views[0] = views[0][written:]
    return position - start


def read_fully(calls: Syscalls, fd: int, length: int, position: int) -> bytes:
    """Up to `length` bytes from `position`; fewer only at the end of the file."""
    data = calls.pread(fd, length, position)
    if len(data) == length or not data:
        return data
    parts = [data]
    missing = length - len(data)
    while missing:
        data = calls.pread(fd, missing, position + length - missing)
        if not data:
            break
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


class PrivateFile:
    """An open file of one worker thread, outside the pool.  A context manager; close it."""

    __slots__ = ("_calls", "_fd", "path")

    def __init__(self, calls: Syscalls, path: str, fd: int) -> None:
        self.path = path
        self._calls = calls
        self._fd = fd

    def __enter__(self) -> PrivateFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        try:
            return int(self._calls.fstat(self._fd).st_size)
        except OSError as error:
            fail("read", self.path, error)

    def read(self, position: int, length: int) -> bytes:
        try:
            return read_fully(self._calls, self._fd, length, position)
        except OSError as error:
            fail("read", self.path, error)

    def write(self, position: int, parts: Sequence[Buffer]) -> int:
        """Write all of `parts` at `position`; the number of bytes."""
        try:
            return write_fully(self._calls, self._fd, parts, position)
        except OSError as error:
            fail("write", self.path, error)

    def truncate(self, size: int) -> None:
        try:
            self._calls.ftruncate(self._fd, size)
        except OSError as error:
            fail("truncate", self.path, error)

    def sync(self) -> None:
        try:
            self._calls.fsync(self._fd)
        except OSError as error:
            fail("flush", self.path, error)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._calls.close(fd)


class Disk:
    """Whole files and directories.  Any thread may call."""

    def __init__(self, calls: Syscalls = SYSCALLS) -> None:
        self.calls = calls

    def open_private(self, path: str, *, create: bool = False) -> PrivateFile:
        """A descriptor of the caller's own; with `create` the file is made, or emptied."""
        flags = OPEN_FLAGS | (os.O_CREAT | os.O_TRUNC if create else 0)
        try:
            return PrivateFile(self.calls, path, self.calls.open(path, flags, 0o644))
        except OSError as error:
            fail("open", path, error)

    def read_bytes(self, path: str) -> bytes | None:
        """The whole content, or None if there is no such file."""
        try:
            fd = self.calls.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            fail("open", path, error)
        try:
            return read_fully(self.calls, fd, self.calls.fstat(fd).st_size, 0)
        except OSError as error:
            fail("read", path, error)
        finally:
            self.calls.close(fd)

    def read_tail(self, path: str, length: int, unit: int = 1) -> bytes | None:
        """The last `length` bytes of the whole `unit`s in a file, or None if there is no file."""
        try:
            fd = self.calls.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            fail("open", path, error)
        try:
            size = self.calls.fstat(fd).st_size
            size -= size % unit
            return read_fully(self.calls, fd, min(length, size), max(0, size - length))
        except OSError as error:
            fail("read", path, error)
        finally:
            self.calls.close(fd)

    def write_bytes(self, path: str, data: Buffer, *, position: int = 0) -> None:
        """Write at `position` and end the file there; it is made if missing.  Not durable."""
        try:
            fd = self.calls.open(path, OPEN_FLAGS | os.O_CREAT, 0o644)
        except OSError as error:
            fail("open", path, error)
        try:
            write_fully(self.calls, fd, [data], position)
            self.calls.ftruncate(fd, position + len(data))
        except OSError as error:
            fail("write", path, error)
        finally:
            self.calls.close(fd)

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        """Replace a file so that a crash leaves the old content or the new, never a mixture."""
        temporary = path + ".tmp"
        with self.open_private(temporary, create=True) as file:
            file.write(0, [data])
            if sync:
                file.sync()
        self.rename(temporary, path)
        if sync:
            self.sync_directory(os.path.dirname(path))

    def sync_path(self, path: str) -> None:
        """Make a file durable; one that does not exist needs nothing."""
        try:
            fd = self.calls.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            fail("open", path, error)
        try:
            self.calls.fsync(fd)
        except OSError as error:
            fail("flush", path, error)
        finally:
            self.calls.close(fd)

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable: files made, renamed and removed."""
        try:
            fd = self.calls.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            fail("open", path, error)
        try:
            self.calls.fsync(fd)
        except OSError as error:
            fail("flush", path, error)
        finally:
            self.calls.close(fd)

    def rename(self, old: str, new: str) -> None:
        try:
            self.calls.rename(old, new)
        except OSError as error:
            fail("rename", old, error)

    def rename_if_there(self, old: str, new: str) -> bool:
        try:
            self.calls.rename(old, new)
        except FileNotFoundError:
            return False
        except OSError as error:
            fail("rename", old, error)
        return True

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if there is none."""
        try:
            self.calls.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            fail("remove", path, error)

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all it holds; nothing happens if there is none."""
        try:
            with self.calls.scandir(path) as entries:
                found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
            for child, is_directory in found:
                if is_directory:
                    self.remove_tree(child)
                else:
                    self.calls.unlink(child)
            self.calls.rmdir(path)
        except FileNotFoundError:
            return
        except OSError as error:
            fail("remove", path, error)

    def make_directory(self, path: str) -> None:
        """Make a directory and what leads to it; it may exist."""
        try:
            self.calls.mkdir(path, exist_ok=True)
        except OSError as error:
            fail("create", path, error)

    def exists(self, path: str) -> bool:
        try:
            self.calls.stat(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            fail("read", path, error)
        return True

    def size_and_mtime_ms(self, path: str) -> tuple[int, int]:
        try:
            found = self.calls.stat(path)
        except OSError as error:
            fail("read", path, error)
        return found.st_size, found.st_mtime_ns // 1_000_000

    def set_mtime(self, path: str, modified_ms: int) -> None:
        try:
            self.calls.utime(path, (modified_ms / 1000, modified_ms / 1000))
        except OSError as error:
            fail("write", path, error)

    def list_names(self, path: str) -> list[str]:
        """Names of all that a directory holds, in no order."""
        try:
            with self.calls.scandir(path) as entries:
                return [entry.name for entry in entries]
        except OSError as error:
            fail("list", path, error)

    def list_directories(self, path: str) -> list[str]:
        """Names of the directories that a directory holds, sorted."""
        try:
            with self.calls.scandir(path) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except OSError as error:
            fail("list", path, error)

    def space(self, path: str) -> tuple[int, int]:
        """Bytes of the volume that a path is on: in all, and still usable."""
        try:
            found = self.calls.statvfs(path)
        except OSError as error:
            fail("read", path, error)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def lock(self, path: str) -> PrivateFile | None:
        """Take a lock file; closing the result gives it back.  None: somebody else has it.

        Two kinds of lock, because each has a gap: a record lock is what Apache Kafka takes, but
        does not keep a second holder in this process out; flock does.
        """
        try:
            fd = self.calls.open(path, OPEN_FLAGS | os.O_CREAT, 0o644)
        except OSError as error:
            fail("open", path, error)
        try:
            self.calls.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.calls.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.calls.close(fd)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            fail("lock", path, error)
        return PrivateFile(self.calls, path, fd)
