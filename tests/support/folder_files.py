"""`Files` of a lake in a local folder, which can fail at any of their operations."""

from __future__ import annotations

import shutil
from pathlib import Path

from barnabas.pipelines.hadoop_files import FileInfo


class CrashError(Exception):
    """The process would be gone now."""


class FolderFiles:
    """Counts what changes something; the operation with the number `crash_at` is not done."""

    def __init__(self, root: Path, crash_at: int | None = None) -> None:
        self.root = root
        self.crash_at = crash_at
        self.changes = 0

    def _change(self) -> None:
        if self.changes == self.crash_at:
            raise CrashError
        self.changes += 1

    def walk(self, directory: str) -> list[FileInfo]:
        top = self.root / directory
        found = []
        for path in sorted(top.rglob("*")):
            below = path.relative_to(top)
            if path.is_file() and not any(part.startswith(("_", ".")) for part in below.parts):
                found.append(FileInfo(below.as_posix(), path.stat().st_size))
        return found

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def move(self, source: str, target: str) -> None:
        self._change()
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        (self.root / source).rename(self.root / target)

    def delete(self, path: str) -> None:
        self._change()
        whole = self.root / path
        if whole.is_dir():
            shutil.rmtree(whole)
        else:
            whole.unlink(missing_ok=True)

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        self._change()
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")
