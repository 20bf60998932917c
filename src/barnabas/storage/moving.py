"""Moving logs from one log directory of a broker to another, while they are used (KIP-113).

Bytes of a log that are written never change, so a worker copies them, file by file, to a directory
`<topic>-<partition>.<id>-future` beside the other logs there.  What is appended, rolled, compacted
or deleted meanwhile is found by looking again, until little is left; that is copied on the loop
thread, between two appends.  Then the log, the same object as before, goes on with files that have
other paths.  Every byte has the position it had, so answers on their way notice nothing.

Everything that was copied is durable before the log is taken away from where it was: first its old
directory is renamed to end in `-moved`, then the new one gets the log's name, and the old one
becomes a `-delete`.  With both `-moved` and `-future` there, a move is finished at the next start;
with `-future` alone it begins anew.  A disk that refuses the second name and will not have the
first one back has failed: both are left as they are, for that start.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.storage.move import FUTURE, Move
from barnabas.storage.segment_files import STRAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from barnabas.storage.checkpoint import Partition
    from barnabas.storage.directory import LogDirectory
    from barnabas.storage.fs import FilePool
    from barnabas.storage.log import Log
    from barnabas.storage.manager import LogManager

MOVED = "-moved"
_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]+)\.(?P<id>[0-9a-f]{32})-(future|moved)")
_MISSES_MAX = 10
_logger = logging.getLogger(__name__)


class Moves:
    """The moves of one `LogManager`, one after the other.  Loop thread only."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._moves: dict[Partition, Move] = {}
        self._is_copying = False
        """A worker has something to copy."""
        self._is_looking = False
        self._budget = 0.0

    def get(self, key: Partition) -> Move | None:
        return self._moves.get(key)

    def into(self, directory: LogDirectory) -> list[Move]:
        """Those on their way to `directory`."""
        return [move for move in self._moves.values() if move.target is directory]

    def begin(self, log: Log, target: LogDirectory) -> None:
        """Move `log` there; a move to elsewhere is given up, one to where it is is none.

        So is a move of a log that had its name before: it may not have been looked at since.
        """
        move = self._moves.get((log.topic, log.partition))
        if move is not None and (move.target is not target or move.log is not log):
            self._give_up(move)
            move = None
        if move is None and self._manager.directory_of(log) is not target:
            move = self._moves[log.topic, log.partition] = Move(log, target)
            _logger.info("%s is being moved to %s.", log.directory, target.path)
            self._go_on()

    def tick(self) -> None:
        """A second has passed: as much may be copied as the setting allows in one."""
        for move in [each for each in self._moves.values() if not self._is_wanted(each)]:
            self._give_up(move)
        self._budget = min(self._budget, 0.0) + self._manager.settings.move_bytes_per_second
        self._go_on()

    def close(self) -> None:
        """Begin nothing more.  What is under way begins anew with the next start."""
        self._moves.clear()

    # Copying.

    def _go_on(self) -> None:
        """Do what can be done.  A loop, as there are workers that are done at once."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            while self._moves and not self._is_copying and self._look():
                pass
        finally:
            self._is_looking = False

    def _look(self) -> bool:
        """Do the next thing; False if it has to wait for the next tick."""
        move = next(iter(self._moves.values()))
        if not self._is_wanted(move):
            self._give_up(move)
            return True
        try:
            if not move.is_begun:
                self._manager.pool.make_directory(move.path)
                move.is_begun = True
            work = move.next_work()
            if work is None:
                self._finish(move)
                return True
        except _BetweenNames as failure:
            del self._moves[move.key]  # and nothing is removed: the next start needs both
            self._manager.fail_directory(self._manager.directory_of(move.log), failure)
            return True
        except StorageFailed as failure:
            self._failed(move, failure)
            return True
        if self._budget <= 0:
            return False
        self._is_copying = True
        run, done = work
        self._manager.workers.submit(run, _Done(self, move, done))
        return True

    def _is_wanted(self, move: Move) -> bool:
        return move.target.failure is None and self._manager.logs.get(move.key) is move.log

    def copied(self, move: Move, error: Exception | None, done: Callable[[], int]) -> None:
        """A worker has done its piece."""
        self._is_copying = False
        if self._moves.get(move.key) is not move:
            self._remove(move)  # given up meanwhile; the worker may have made a file since
        elif error is None:
            move.misses = 0
            self._budget -= done()
        elif isinstance(error.__cause__, FileNotFoundError) and move.misses < _MISSES_MAX:
            move.misses += 1  # a segment has left the log, and the next look finds another
        else:
            self._failed(move, error)
        self._go_on()

    def _failed(self, move: Move, error: Exception) -> None:
        _logger.error(
            "%s could not be moved to %s: %s", move.log.directory, move.target.path, error
        )
        self._give_up(move)

    def _give_up(self, move: Move) -> None:
        del self._moves[move.key]
        if move.target.failure is None:
            self._remove(move)

    def _remove(self, move: Move) -> None:
        self._manager.remove_later(move.path)

    # Taking the log's place.

    def _finish(self, move: Move) -> None:
        move.finish()
        manager, log, target = self._manager, move.log, move.target
        source = manager.directory_of(log)
        old, new = log.directory, target.partition_path(*move.key)
        left = f"{source.path}/{move.stem}{MOVED}"
        point, log.recovery_point = log.recovery_point, log.written_end_offset
        target.logs[move.key] = log
        try:
            manager.housekeeping.write_checkpoints(target)
            _swap(manager.pool, old, left, move.path, new)
        except StorageFailed:
            del target.logs[move.key]
            log.recovery_point = point
            raise
        del source.logs[move.key], self._moves[move.key]
        for segment in log.segments:
            segment.file.close()  # it opens again where it is now
        log.moved_to(new)
        left, may_go = _let_go(manager.pool, left)
        for segment in log.deleted:
            segment.moved_to(left)
        if may_go:
            manager.remove_later(left)
        manager.on_log_moved(log, source)
        _logger.info("%s was moved to %s.", old, new)


@dataclass(frozen=True, slots=True)
class _Done:
    """Tells what became of a piece."""

    moves: Moves
    move: Move
    done: Callable[[], int]

    def __call__(self, error: Exception | None) -> None:
        self.moves.copied(self.move, error, self.done)


class _BetweenNames(StorageFailed):
    """The log has left its old place, is not known to be in its new one, and cannot be put back."""


def _swap(pool: FilePool, old: str, left: str, future: str, new: str) -> None:
    """`old` becomes `left` and `future` becomes `new`; or neither, if the disk refuses."""
    pool.rename(old, left)
    try:
        pool.sync_directory(_parent(left))
        pool.rename(future, new)
        pool.sync_directory(_parent(new))
    except StorageFailed as failure:
        _take_back(pool, new, future)
        try:
            pool.rename(left, old)
            pool.sync_directory(_parent(old))  # before what was copied goes
        except StorageFailed as another:
            raise _BetweenNames(f"{old} is neither there nor in {new}: {another}") from failure
        raise


def _take_back(pool: FilePool, new: str, future: str) -> None:
    """The disk that a log was to go to has refused: it has the log's name no more, if it had it.
    If it refuses this too, that must not keep the log from going on where it was."""
    try:
        if not pool.exists(future):
            pool.rename(new, future)
    except StorageFailed as failure:
        _logger.error("%s is out of date: remove it before the next start. %s", new, failure)  # noqa: TRY400


def _let_go(pool: FilePool, left: str) -> tuple[str, bool]:
    """Where what is left of a log is from now on, and whether it is to be removed.

    It gets the name that every broker knows how to remove; if recovery has set segments of the log
    aside, which are not copied, the name that none removes; or it keeps its own until the next
    start.
    """
    stem = left.removesuffix(MOVED)
    try:
        is_kept = any(name.endswith(STRAY) for name in pool.list_names(left))
        gone = stem + ("-stray" if is_kept else "-delete")
        pool.rename(left, gone)
    except StorageFailed as failure:
        _logger.warning("%s is left over for now: %s", left, failure)
        return left, False
    if is_kept:
        _logger.warning("%s has segments that were set aside, and stays.", gone)
    return gone, not is_kept


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def finish_moves(
    pool: FilePool, directories: Iterable[LogDirectory], *, is_whole: bool
) -> dict[Partition, LogDirectory]:
    """Finish the moves that a crash came between; where those go that had not got so far.

    What is left of either is removed; but not what a move left behind unless `is_whole`, which says
    that all directories are here: it may have been under way to one that is not.
    """
    futures: dict[str, tuple[LogDirectory, re.Match[str]]] = {}
    moved: dict[str, str] = {}
    for directory in directories:
        for name in pool.list_directories(directory.path):
            match = _NAME.fullmatch(name)
            if match is not None and name.endswith(FUTURE):
                futures[match["id"]] = directory, match
            elif match is not None:
                moved[match["id"]] = f"{directory.path}/{name}"
    unfinished: dict[Partition, LogDirectory] = {}
    for number, (directory, match) in futures.items():
        key = match["topic"], int(match["partition"])
        path = f"{directory.path}/{match[0]}"
        if number in moved:
            _logger.info("The move of %s-%d to %s is finished.", *key, directory.path)
            pool.rename(path, directory.partition_path(*key))
            pool.sync_directory(directory.path)
        else:
            unfinished[key] = directory
            pool.remove_tree(path)
    for path in moved.values() if is_whole else ():
        left, may_go = _let_go(pool, path)
        if may_go:
            pool.remove_tree(left)
    return unfinished
