"""Making a log durable, on a worker thread."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.storage.segment_files import SEGMENT_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from barnabas.storage.fs import FilePool, PrivateFile
    from barnabas.storage.log import Log
    from barnabas.storage.log_state import LogState

EPOCH_FILE = "leader-epoch-checkpoint"
_THREADS = 8
_DESCRIPTORS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushJob:
    """What makes a log durable below `offset`.  `run` may be slow and belongs on a worker."""

    offset: int
    generation: int
    pool: FilePool
    files: list[PrivateFile]
    paths: list[str]
    directory: str | None
    """Where names changed too."""

    def run(self) -> None:
        try:
            for file in self.files:
                file.sync()
        finally:
            for file in self.files:
                file.close()
        for path in self.paths:
            self.pool.sync_path(path)
        if self.directory is not None:
            self.pool.sync_directory(self.directory)


def job_for(log: LogState, *, closed_only: bool) -> FlushJob | None:
    """Made on the loop thread: it holds a descriptor of its own for the segment in use."""
    offset = log.segments.active.base_offset if closed_only else log.written_end_offset
    if offset <= log.recovery_point:
        return None
    log.save_epochs()
    files: list[PrivateFile] = []
    paths: list[str] = []
    for segment in log.segments.from_offset(log.recovery_point):
        if segment.is_closed:  # by name, as there may be many; one that is renamed left the log
            paths += [segment.path(kind) for kind in SEGMENT_SUFFIXES]
        elif not closed_only:
            files.append(segment.file.duplicate())
    names_changed, log.names_changed = log.names_changed, False
    if names_changed:
        paths.append(f"{log.directory}/{EPOCH_FILE}")
    return FlushJob(
        offset=offset,
        generation=log.generation,
        pool=log.pool,
        files=files,
        paths=paths,
        directory=log.directory if names_changed else None,
    )


def flush_all(logs: Iterable[Log]) -> None:
    """Make logs durable, several at a time: the disk writes for many at the price of one.

    Raises the first failure when all others have been tried.
    """
    from concurrent.futures import ThreadPoolExecutor

    failures: list[StorageFailed] = []
    waiting = iter(logs)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="storage-flush") as threads:
        while chunk := list(islice(waiting, _DESCRIPTORS)):
            running: list[tuple[Log, FlushJob, Future[None]]] = []
            for log in chunk:
                try:
                    log.write_now()
                    job = log.flush_job()
                except StorageFailed as failure:
                    failures.append(failure)
                    continue
                if job is not None:
                    running.append((log, job, threads.submit(job.run)))
            for log, job, future in running:
                try:
                    future.result()
                except StorageFailed as failure:
                    failures.append(failure)
                else:
                    log.flushed(job)
    if failures:
        raise failures[0]
