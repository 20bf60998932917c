"""`Files` of a lake in a local folder, where a process can die or stand still at any moment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from barnabas.pipelines.hadoop_files import FileInfo


class CrashError(Exception):
    """The process would be gone now."""


class FolderFiles:
    """Counts what changes something; the operation with the number `crash_at` is not done."""

    def __init__(
        self,
        root: Path,
        crash_at: int | None = None,
        before: Callable[[int], object] = lambda number: None,
    ) -> None:
        self.root = root
        self.crash_at = crash_at
        self.changes = 0
        self.operations = 0
        self._before = before
        """Called with the number of each operation, those included that only look: what happens to
        the lake while this process stands still."""

    def _look(self) -> None:
        number, self.operations = self.operations, self.operations + 1
        self._before(number)

    def _change(self) -> None:
        self._look()
        if self.changes == self.crash_at:
            raise CrashError
        self.changes += 1

    def names(self, directory: str) -> list[str]:
        self._look()
        top = self.root / directory
        found = (path.name for path in top.iterdir()) if top.exists() else ()
        return sorted(name for name in found if not name.startswith(("_", ".")))

    def walk(self, directory: str) -> list[FileInfo]:
        self._look()
        top = self.root / directory
        found = []
        for path in sorted(top.rglob("*")):
            below = path.relative_to(top)
            if path.is_file() and not any(part.startswith(("_", ".")) for part in below.parts):
                found.append(FileInfo(below.as_posix(), path.stat().st_size))
        return found

    def exists(self, path: str) -> bool:
        self._look()
        return (self.root / path).exists()

    def move(self, source: str, target: str) -> None:
        self._change()
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        (self.root / source).rename(self.root / target)

    def copy(self, source: str, target: str) -> None:
        self._change()
        if (self.root / source).exists():
            shutil.copytree(self.root / source, self.root / target)

    def delete(self, path: str) -> None:
        self._change()
        whole = self.root / path
        if whole.is_dir():
            shutil.rmtree(whole)
        else:
            whole.unlink(missing_ok=True)

    def read(self, path: str) -> str:
        self._look()
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        self._change()
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def create(self, path: str, text: str) -> None:
        self._change()
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        with (self.root / path).open("x", encoding="utf-8") as file:
            file.write(text)


class ObjectFiles(FolderFiles):
    """As in an object store: a move is a copy and then a deletion, and overwrites nothing."""

    def move(self, source: str, target: str) -> None:
        self._change()
        if self.exists(target):
            raise FileExistsError(target)
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.root / source, self.root / target)
        self._change()
        (self.root / source).unlink()
