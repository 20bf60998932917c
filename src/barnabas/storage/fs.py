"""The disk, as the rest of the room sees it.

Every system call on a file is made here, through a `Syscalls` object that a simulation may replace,
and only here does an `OSError` become `StorageFailed`.

`FilePool` and `File` belong to the loop thread.  A worker thread uses `PrivateFile` (a descriptor of
its own) and the whole-file functions of the pool, which keep no state.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
from collections import deque
from typing import TYPE_CHECKING, NoReturn

from barnabas.base.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

Buffer = bytes | bytearray | memoryview

IOV_MAX = 1024  # the most buffers that Linux takes in one call
_LARGEST_POOL = 16_384
_OPEN = os.O_RDWR | os.O_CLOEXEC


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


SYSCALLS = Syscalls()


def default_pool_limit() -> int:
    """Half of the descriptors this process may have: the other half is for connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _LARGEST_POOL
    return max(16, min(soft // 2, _LARGEST_POOL))


def is_disk_full(error: StorageFailed) -> bool:
    """Whether the failure is a full disk or quota, which may pass, and not a broken directory."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)


def fail(action: str, path: str, error: OSError) -> NoReturn:
    """Raise the error that clients are told when the disk refuses."""
    raise StorageFailed(f"cannot {action} {path}: {error.strerror or error}") from error


def _write_fully(calls: Syscalls, fd: int, parts: Sequence[Buffer], position: int) -> int:
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


def _read_fully(calls: Syscalls, fd: int, length: int, position: int) -> bytes:
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
        self._pool.open_into(self, _OPEN | os.O_CREAT | os.O_TRUNC)
        self.size = 0

    def fileno(self) -> int:
        self._used = True
        if self._fd < 0:
            self._pool.open_into(self, _OPEN)
        return self._fd

    def append(self, parts: Sequence[Buffer], total: int) -> None:
        """Write `parts` (`total` bytes) at the end.  All or, with StorageFailed, nothing of it."""
        fd = self.fileno()
        calls = self._pool.calls
        try:
            if len(parts) > IOV_MAX or calls.pwritev(fd, parts, self.size) != total:
                written = _write_fully(calls, fd, parts, self.size)
                assert written == total, f"{written} bytes written of {total}"
        except OSError as error:
            # What got through lies beyond `size`: the next append overwrites it.  Cut it anyhow, so
            # that a crash before then leaves no half batch; if even that fails, recovery cuts it.
            with contextlib.suppress(OSError):
                calls.ftruncate(fd, self.size)
            fail("write", self.path, error)
        self.size += total

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        fd = self.fileno()
        try:
            return _read_fully(self._pool.calls, fd, length, position)
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
        self._used = True

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
            return _read_fully(self._calls, self._fd, length, position)
        except OSError as error:
            fail("read", self.path, error)

    def write(self, position: int, parts: Sequence[Buffer]) -> int:
        """Write all of `parts` at `position`; the number of bytes."""
        try:
            return _write_fully(self._calls, self._fd, parts, position)
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


class FilePool:
    """All open files of a broker: at most `limit` at a time, the least recently used closed first.

    "Recently" is one bit per file (the clock algorithm), so that using an open file costs nothing.
    """

    def __init__(self, limit: int | None = None, calls: Syscalls = SYSCALLS) -> None:
        self.limit = default_pool_limit() if limit is None else limit
        self.calls = calls
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
            oldest = self._open.popleft()
            fd = oldest.take_descriptor(idle_only=True)
            if fd < 0:
                self._open.append(oldest)
            else:
                self.calls.close(fd)
        try:
            file.opened(self.calls.open(file.path, flags, 0o644))
        except OSError as error:
            fail("open", file.path, error)
        self._open.append(file)

    def close_of(self, file: File) -> None:
        self._open.remove(file)
        self.calls.close(file.take_descriptor(idle_only=False))

    def close(self) -> None:
        while self._open:
            self.calls.close(self._open.popleft().take_descriptor(idle_only=False))

    # Whole files and directories: no state, so worker threads may call these too.

    def open_private(self, path: str, *, create: bool = False) -> PrivateFile:
        """A descriptor of the caller's own; with `create` the file is made, or emptied."""
        flags = _OPEN | (os.O_CREAT | os.O_TRUNC if create else 0)
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
            return _read_fully(self.calls, fd, self.calls.fstat(fd).st_size, 0)
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
            return _read_fully(self.calls, fd, min(length, size), max(0, size - length))
        except OSError as error:
            fail("read", path, error)
        finally:
            self.calls.close(fd)

    def write_bytes(self, path: str, data: Buffer, *, position: int = 0) -> None:
        """Write at `position` and end the file there; it is made if missing.  Not durable."""
        try:
            fd = self.calls.open(path, _OPEN | os.O_CREAT, 0o644)
        except OSError as error:
            fail("open", path, error)
        try:
            _write_fully(self.calls, fd, [data], position)
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

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[bool]:
        """Hold a lock file for the block; False if another holder has it.

        Two kinds of lock, because each has a gap: a record lock is what Apache Kafka takes, but
        does not keep a second holder in this process out; flock does.
        """
        lock = self.lock(path)
        try:
            yield lock is not None
        finally:
            if lock is not None:
                lock.close()

    def lock(self, path: str) -> PrivateFile | None:
        """Take a lock file; closing the result gives it back.  None: somebody else has it."""
        try:
            fd = self.calls.open(path, _OPEN | os.O_CREAT, 0o644)
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
