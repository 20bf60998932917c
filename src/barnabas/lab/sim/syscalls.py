"""The system calls of one simulated process on its machine's disk: storage's `Syscalls`."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from barnabas.lab.sim.disk import Inode, SimDisk

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.lab.sim.process import Process

Buffer = bytes | bytearray | memoryview
VOLUME_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class _Entry:
    """What `scandir` tells of a name."""

    name: str
    path: str
    directory: bool

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.directory


class SimSyscalls:
    """Same names and errors as the real ones.  A process that is dead changes nothing any more."""

    def __init__(
        self,
        disk: SimDisk,
        process: Process,
        *,
        pause: Callable[[float], None],
        now: Callable[[], int],
    ) -> None:
        """`pause` holds the process up for some seconds; `now` is the wall time in ms."""
        self._disk = disk
        self._process = process
        self._pause = pause
        self._now = now
        self._open: dict[int, Inode] = {}
        self._next = 3

    # -- descriptors

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        self._check()
        if flags & os.O_CREAT and not self._disk.has(path):
            self._disk.link(path, Inode())
        inode = self._disk.find(path)
        if inode.is_directory and not flags & os.O_DIRECTORY:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if flags & os.O_TRUNC and inode.data:
            inode.truncate(0)
        return self._descriptor(inode)

    def _descriptor(self, inode: Inode) -> int:
        self._next += 1
        self._open[self._next] = inode
        return self._next

    def close(self, fd: int) -> None:
        inode = self._open.pop(fd)
        if inode not in self._open.values() and self._disk.locks.get(inode) is self._process:
            del self._disk.locks[inode]

    def dup(self, fd: int) -> int:
        return self._descriptor(self._inode(fd))

    def pread(self, fd: int, length: int, position: int) -> bytes:
        data = self._inode(fd).data
        assert data is not None, "a directory is not read"
        return bytes(data[position : position + length])

    def pwritev(self, fd: int, parts: Sequence[Buffer], position: int) -> int:
        inode = self._inode(fd)
        piece = b"".join(parts)
        allowed = self._disk.take(len(piece))
        inode.write(position, piece[:allowed])
        inode.mtime_ns = self._now() * 1_000_000
        self._wait()
        return allowed

    def ftruncate(self, fd: int, size: int) -> None:
        self._inode(fd).truncate(size)

    def fsync(self, fd: int) -> None:
        self._disk.sync(self._inode(fd))
        self._wait()

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def fstat(self, fd: int) -> Any:
        return _stat(self._inode(fd))

    def flock(self, fd: int, operation: int) -> None:
        inode = self._inode(fd)
        holder: Any = self._disk.locks.get(inode)
        if holder is not None and holder is not self._process and holder.is_alive:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._disk.locks[inode] = self._process

    def lockf(self, fd: int, operation: int) -> None:
        self.flock(fd, operation)

    # -- names

    def stat(self, path: str) -> Any:
        return _stat(self._disk.find(path))

    def rename(self, old: str, new: str) -> None:
        self._check()
        self._disk.rename(old, new)

    def unlink(self, path: str) -> None:
        self._check()
        self._disk.unlink(path)

    def mkdir(self, path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
        """As os.makedirs."""
        self._check()
        if self._disk.has(path):
            if exist_ok:
                return
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.mkdir(os.path.dirname(path), mode, exist_ok=True)
        self._disk.link(path, Inode(is_directory=True))

    def rmdir(self, path: str) -> None:
        self._check()
        if self._disk.children(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._disk.unlink(path)

    @contextlib.contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[_Entry]]:
        disk = self._disk
        yield iter(
            [
                _Entry(name, f"{path}/{name}", disk.find(f"{path}/{name}").is_directory)
                for name in disk.children(path)
            ]
        )

    def statvfs(self, path: str) -> Any:
        room = self._disk.room
        free = VOLUME_BYTES if room is None else room
        return SimpleNamespace(f_blocks=VOLUME_BYTES, f_bavail=free, f_frsize=1)

    def utime(self, path: str, times: tuple[float, float]) -> None:
        self._disk.find(path).mtime_ns = int(times[1] * 1_000_000_000)

    # -- the process

    def _check(self) -> None:
        if not self._process.is_alive:
            raise OSError(errno.EIO, f"{self._process} is dead")

    def _inode(self, fd: int) -> Inode:
        self._check()
        inode = self._open.get(fd)
        if inode is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return inode

    def _wait(self) -> None:
        if self._disk.write_s:
            self._pause(self._disk.write_s)


def _stat(inode: Inode) -> Any:
    size = 0 if inode.data is None else len(inode.data)
    return SimpleNamespace(st_size=size, st_mtime_ns=inode.mtime_ns)
