"""A disk in memory: what was written, and what of it is durable.

Written bytes are seen at once by everybody, as the page cache promises, and survive the death of a
process.  When the machine loses power, a file is what it was at its last `fsync` and, of the writes
since, the first few; the last of these may be torn, and its end may be zeros.  Names follow a
journal as file systems have one: any `fsync` makes all earlier names durable, and of the later
changes the first few survive.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

Change = tuple[str, str, "Inode | None"]
"""What happens to a name: (path, its new path or "", the file that gets it or None if it goes)."""


class Inode:
    """A file, or a directory if `data` is None."""

    __slots__ = ("data", "durable", "mtime_ns", "pending")

    def __init__(self, *, is_directory: bool = False) -> None:
        self.data: bytearray | None = None if is_directory else bytearray()
        self.durable = b""
        self.pending: list[tuple[int, bytes | None]] = []
        """Since the last fsync: a write of bytes at a position, or (size, None) for a cut."""
        self.mtime_ns = 0

    @property
    def is_directory(self) -> bool:
        return self.data is None

    def write(self, position: int, piece: bytes) -> None:
        assert self.data is not None
        _write(self.data, position, piece)
        self.pending.append((position, piece))

    def truncate(self, size: int) -> None:
        assert self.data is not None
        _truncate(self.data, size)
        self.pending.append((size, None))

    def sync(self) -> None:
        if self.pending and self.data is not None:
            self.durable = bytes(self.data)
            self.pending.clear()

    def lose_power(self, random: Random) -> None:
        if self.data is None or not self.pending:
            return
        data = bytearray(self.durable)
        survivors = random.randint(0, len(self.pending))
        for position, piece in self.pending[:survivors]:
            if piece is None:
                _truncate(data, position)
            else:
                _write(data, position, piece)
        if survivors < len(self.pending) and (torn := self.pending[survivors])[1]:
            position, piece = torn[0], torn[1]
            kept = piece[: random.randint(0, len(piece))]
            if random.random() < 0.2:
                kept += bytes(len(piece) - len(kept))  # its blocks were there, their content not
            _write(data, position, kept)
        self.data = data
        self.durable = bytes(data)
        self.pending.clear()


class SimDisk:
    """The disk of one machine, which outlives the machine's processes.

    Faults: `room` bytes are left (None: no limit), `is_broken` refuses writes, `write_s` is how
    long the writer is held up by each write.
    """

    def __init__(self) -> None:
        self.room: int | None = None
        self.is_broken = False
        self.write_s = 0.0
        self.locks: dict[Inode, object] = {}
        """Lock files, and the process that holds each."""
        self._names: dict[str, Inode] = {"/": Inode(is_directory=True)}
        self._durable: dict[str, Inode] = dict(self._names)
        self._journal: list[Change] = []

    # -- names

    def find(self, path: str) -> Inode:
        found = self._names.get(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found

    def has(self, path: str) -> bool:
        return path in self._names

    def children(self, path: str) -> list[str]:
        """Names in a directory, in the order in which they were made."""
        if not self.find(path).is_directory:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        prefix = path.rstrip("/") + "/"
        return [
            each[len(prefix) :]
            for each in self._names
            if each.startswith(prefix)
            and len(each) > len(prefix)
            and "/" not in each[len(prefix) :]
        ]

    def link(self, path: str, inode: Inode) -> None:
        if not self.find(os.path.dirname(path)).is_directory:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        self._change((path, "", inode))

    def unlink(self, path: str) -> None:
        self.find(path)
        self._change((path, "", None))

    def rename(self, old: str, new: str) -> None:
        self.find(old)
        self.find(os.path.dirname(new))
        self._change((old, new, None))

    def _change(self, change: Change) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._journal.append(change)
        _apply(self._names, change)

    # -- durability

    def sync(self, inode: Inode) -> None:
        """Make a file durable, and every name as it is now."""
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        inode.sync()
        if self._journal:
            self._journal.clear()
            self._durable = dict(self._names)

    def take(self, size: int) -> int:
        """How many of `size` bytes the disk has room for; OSError if none."""
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.room is None or not size:
            return size
        allowed = min(size, self.room)
        if not allowed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= allowed
        return allowed

    def lose_power(self, random: Random) -> None:
        """Go back to what is durable, and some of what is not."""
        names = dict(self._durable)
        for change in self._journal[: random.randint(0, len(self._journal))]:
            _apply(names, change)
        self._names = names
        self._durable = dict(names)
        self._journal.clear()
        self.locks.clear()
        for inode in names.values():
            inode.lose_power(random)


def _apply(names: dict[str, Inode], change: Change) -> None:
    path, new, inode = change
    if new:
        moved = [each for each in names if each == path or each.startswith(path + "/")]
        if moved != [path]:
            for each in [each for each in names if each.startswith(new + "/")]:
                del names[each]
        for each in moved:
            names[new + each[len(path) :]] = names.pop(each)
    elif inode is not None:
        names[path] = inode
    else:
        names.pop(path, None)


def _write(data: bytearray, position: int, piece: bytes) -> None:
    if position > len(data):
        data.extend(bytes(position - len(data)))
    data[position : position + len(piece)] = piece


def _truncate(data: bytearray, size: int) -> None:
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))
