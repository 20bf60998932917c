"""Making a log durable, on a worker thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.storage.segment import INDEX, TIME_INDEX, TXN_INDEX

if TYPE_CHECKING:
    from barnabas.storage.fs import FilePool, PrivateFile
    from barnabas.storage.segment import Segment

EPOCH_FILE = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushJob:
    """What makes a log durable below `offset`.  `run` may be slow and belongs on a worker."""

    offset: int
    generation: int
    pool: FilePool
    files: list[PrivateFile]
    paths: list[str]
    directory: str

    @classmethod
    def for_segments(
        cls,
        segments: list[Segment],
        *,
        pool: FilePool,
        directory: str,
        offset: int,
        generation: int,
    ) -> FlushJob:
        """Made on the loop thread: it holds descriptors of its own, whatever happens to names."""
        paths = [f"{directory}/{EPOCH_FILE}"]
        for segment in segments:
            if segment.is_closed:
                paths += [segment.path(kind) for kind in (INDEX, TIME_INDEX, TXN_INDEX)]
        return cls(
            offset=offset,
            generation=generation,
            pool=pool,
            files=[segment.file.duplicate() for segment in segments],
            paths=paths,
            directory=directory,
        )

    def run(self) -> None:
        try:
            for file in self.files:
                file.sync()
        finally:
            for file in self.files:
                file.close()
        for path in self.paths:
            self.pool.sync_path(path)
        self.pool.sync_directory(self.directory)
