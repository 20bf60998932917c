"""The journal of a lake: files come into it, and small ones become large ones, exactly once.

A lake is a directory that anything can read: what lies in it is all of it, with no list of valid
files beside it.  So a file may appear only when its batch is decided, and must not appear twice:

1. Spark writes a batch into `_archive/staging/<step>`, where no reader looks.
2. A **step** is written to `_archive/steps/<step>.json`: which staged files become which files of
   the lake, and which files go.  The moment it is there, the step is decided.
3. The moves and removals are done.  Each can be done again without harm.

A crash before 2 leaves nothing but staged files, which are deleted.  A crash after 2 is made good
when the lake is opened: its last step is done again.  A step also says which batch of which query
is in the lake, so that a batch that Spark repeats after a crash is known and left out.  Compacting
a directory is such a step, too, with as many removals as small files: it comes between two batches,
and can never make a batch look undone.

One process writes to a lake at a time.  Readers beside it use `settled_files`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import FileInfo, Files

HOME = "_archive"
STEPS = f"{HOME}/steps"
STAGING = f"{HOME}/staging"
CHECKPOINT = f"{HOME}/checkpoint"
DESCRIPTION = f"{HOME}/lake.json"
SETTLED_WITHIN_S = 30.0
LOOK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    number: int
    query: str
    """Id of the streaming query: a new checkpoint counts its batches from 0 again."""
    batch: int
    """The last batch that is in the lake when this step is done; -1 if none is."""
    moves: tuple[tuple[str, str], ...] = ()
    removals: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Step:
        fields = json.loads(text)
        fields["moves"] = tuple((source, target) for source, target in fields["moves"])
        fields["removals"] = tuple(fields["removals"])
        return Step(**fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the files of a lake are; written once, when it is made."""

    format: str
    values: str
    partition_by: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Description:
        fields = json.loads(text)
        fields["partition_by"] = tuple(fields["partition_by"])
        return Description(**fields)


class Journal:
    """The writer's side.  Open it before anything is written: what a crash left is made good."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.last = last_step(files)
        if self.last is not None:
            self._do(self.last)
        files.delete(STAGING)

    @property
    def next_number(self) -> int:
        return 0 if self.last is None else self.last.number + 1

    def staging(self) -> str:
        """An empty place for what the next step moves into the lake."""
        path = f"{STAGING}/{self.next_number:010d}"
        self._files.delete(path)
        return path

    def has_batch(self, query: str, batch: int) -> bool:
        """Whether a batch is in the lake already."""
        if self.last is None:
            return False
        if self.last.query != query:
            raise PipelineError(
                f"the lake was made with another checkpoint: {CHECKPOINT} in it was lost or "
                "replaced, and what is in it already cannot be told from what is not"
            )
        return batch <= self.last.batch

    def commit(self, step: Step) -> None:
        """Decides a step, does it, and forgets the one before."""
        assert step.number == self.next_number, step
        self._files.write(_step_path(step.number), step.to_json())
        self._do(step)
        self._files.delete(f"{STAGING}/{step.number:010d}")
        if self.last is not None:
            self._files.delete(_step_path(self.last.number))
        self.last = step

    def _do(self, step: Step) -> None:
        for source, target in step.moves:
            if self._files.exists(source):
                self._files.move(source, target)
        for path in step.removals:
            self._files.delete(path)


def _step_path(number: int) -> str:
    return f"{STEPS}/{number:010d}.json"


def last_step(files: Files) -> Step | None:
    found = [each.path for each in files.walk(STEPS) if each.path.endswith(".json")]
    return Step.from_json(files.read(f"{STEPS}/{found[-1]}")) if found else None


def describe(files: Files, wanted: Description) -> None:
    """Makes the lake, or checks that it is one of this kind."""
    if not files.exists(DESCRIPTION):
        files.write(DESCRIPTION, wanted.to_json())
        return
    found = Description.from_json(files.read(DESCRIPTION))
    if found != wanted:
        listed = ", ".join(found.partition_by)
        raise PipelineError(
            f"the lake is one of {found.format} files with {found.values} values by {listed}: "
            "go on with that, or begin another one"
        )


def description_of(files: Files, root: str) -> Description:
    if not files.exists(DESCRIPTION):
        raise PipelineError(f"{root} is no lake: barnabas pipeline archive makes one")
    return Description.from_json(files.read(DESCRIPTION))


def settled_files(
    files: Files,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> list[FileInfo]:
    """The files of a lake as they are between two steps, while it is being written to."""
    begun = monotonic()
    while True:
        try:
            before = last_step(files)
            found = files.walk("")
            if last_step(files) == before and _is_done(before, (each.path for each in found)):
                return found
        except FileNotFoundError:
            pass  # another step has come meanwhile: look again
        if monotonic() - begun > SETTLED_WITHIN_S:
            raise PipelineError("a step of the archive was not finished: start the archive again")
        pause(LOOK_AGAIN_S)


def _is_done(step: Step | None, paths: Iterable[str]) -> bool:
    if step is None:
        return True
    there = set(paths)
    return all(target in there for _, target in step.moves) and there.isdisjoint(step.removals)
