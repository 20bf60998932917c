"""A disk that is slow, or full, as the system calls of a node see it; in the node's process.

Steered over a socket by the lab, in lines of JSON: what the disk is like from now on
(`{"slow_s": 0.5, "full": false}`, answered when it is so), and back a line whenever that was felt
(`{"felt": "slow"}`).
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from barnabas.broker.machine import Machine
from barnabas.lab.disk_journal import DiskJournalFiles
from barnabas.lab.faults.disk_state import DiskState
from barnabas.storage.fs import FilePool
from barnabas.storage.syscalls import Buffer, Disk, Syscalls

if TYPE_CHECKING:
    from barnabas.controller.journal_files import JournalFiles


class SteeredSyscalls(Syscalls):
    """The real ones, but for what a bad disk does to them.  Any thread may call."""

    def __init__(self, state: DiskState, steering: socket.socket) -> None:
        self._state = state
        self._steering = steering
        self._speaking = threading.Lock()

    def steer(self) -> None:
        """Follow what the lab says, until it goes.  A thread's work."""
        with self._steering, self._steering.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                self._state = DiskState.of(line)
                self._say(b'{"done": true}\n')

    def pwritev(self, fd: int, parts: Sequence[Buffer], position: int) -> int:  # type: ignore[override]
        self._suffer()
        if self._state.full:
            self._refuse()
        return os.pwritev(fd, parts, position)

    def fsync(self, fd: int) -> None:  # type: ignore[override]
        self._suffer()
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:  # type: ignore[override]
        self._suffer()
        os.fdatasync(fd)

    def statvfs(self, path: str) -> Any:  # type: ignore[override]
        found = os.statvfs(path)
        if not self._state.full:
            return found
        return SimpleNamespace(f_blocks=found.f_blocks, f_bavail=0, f_frsize=found.f_frsize)

    def _suffer(self) -> None:
        seconds = self._state.slow_s
        if seconds:
            self._say(b'{"felt": "slow"}\n')
            time.sleep(seconds)  # the thread that writes waits, as it does for a disk

    def _refuse(self) -> NoReturn:
        self._say(b'{"felt": "full"}\n')
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _say(self, line: bytes) -> None:
        with self._speaking:
            try:
                self._steering.sendall(line)
            except OSError:
                return  # the lab is gone, and this node will be


class SteeredMachine(Machine):
    """This machine, with a disk that the lab may break."""

    def __init__(self, calls: SteeredSyscalls) -> None:
        super().__init__()
        self._calls = calls

    def file_pool(self) -> FilePool:
        return FilePool(calls=self._calls)

    def journal_files(self, path: str) -> JournalFiles:
        return DiskJournalFiles(Disk(self._calls), path)
