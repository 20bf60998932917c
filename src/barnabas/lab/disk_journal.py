"""The directory of a metadata journal on a disk of the lab's making."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.storage.syscalls import Disk


class DiskJournalFiles:
    """Whole files, through a `Disk`; `JournalFiles` says what each method does."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def names(self) -> list[str]:
        return sorted(self._disk.list_names(self._path)) if self._disk.exists(self._path) else []

    def read(self, name: str) -> bytes:
        found = self._disk.read_bytes(self._at(name))
        assert found is not None, f"{name} is not there"
        return found

    def append(self, name: str, data: bytes, *, position: int) -> None:
        self._disk.make_directory(self._path)
        self._disk.write_bytes(self._at(name), data, position=position)
        self._disk.sync_path(self._at(name))

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        self._disk.make_directory(self._path)
        self._disk.write_atomically(self._at(name), data, sync=durable)

    def truncate(self, name: str, size: int) -> None:
        path = self._at(name)
        if self._disk.exists(path):
            self._disk.write_bytes(path, b"", position=size)
            self._disk.sync_path(path)

    def remove(self, name: str) -> None:
        self._disk.remove(self._at(name))

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)
