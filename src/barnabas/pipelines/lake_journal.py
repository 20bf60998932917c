"""The journal of a lake: files come into it, and small ones become large ones, exactly once.

A lake is a directory that anything can read: what lies in it is all of it, with no list of valid
files beside it.  So a file may appear only when its batch is decided, and must not appear twice:

1. Spark writes a batch into a directory of the archive's own, where no reader looks.
2. A **step** is written to `_archive/steps/<step>.json`: which staged files become which files of
   the lake, and which files go.  The moment it is there, the step is decided.
3. The moves and removals are done.  Each can be done again without harm: names are of one step.

A crash before 2 leaves nothing but staged files, which are deleted.  A crash after 2 is made good
when the lake is opened: its last step is done again.  A step also says which batch of which query
is in the lake, so that a batch that Spark repeats after a crash is known and left out.  Compacting
a directory is such a step, too, with as many removals as small files: it comes between two batches,
and can never make a batch look undone.

**One archive writes to a lake, the last that was started.**  Whoever opens a lake takes it over,
as a producer does with a transactional id: it *claims* the next step, in which it says once more
what the last one said, now as its owner.  The file of a step can be created once, so that the
former owner, who may be alive, or stand still and go on much later, cannot decide anything from
then on: the number that it has in mind is taken.  A number could be free again because it was taken
and its step has been forgotten since.  So steps are forgotten from the oldest on: as long as the
one before is still there, itself and not another of its number, nobody has gone further.

Whatever else an archive writes is below `_archive/owners/<its name>`, where nobody else writes:
staged files, and the checkpoint of its query.  Two queries that share a checkpoint would stop each
other.  An owner begins with a copy of the one that the last step names, and names its own in the
next step, before it takes in anything.

All this rests on a file that only one can create and a move that is one act: local disks and HDFS
have both.  Object stores copy and delete: there a crash in between is made good, but two archives
that are started within the same moment are not told apart, nor is one fenced that stands still in
the midst of a copy until its file is merged into another.

Readers use `settled_files`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from uuid import uuid4

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import FileInfo, Files

HOME = "_archive"
STEPS = f"{HOME}/steps"
OWNERS = f"{HOME}/owners"
DESCRIPTION = f"{HOME}/lake.json"
OLD_STAGING = f"{HOME}/staging"
OLD_CHECKPOINT = f"{HOME}/checkpoint"
"""Where these were before archives had names."""
SETTLED_WITHIN_S = 30.0
LOOK_AGAIN_S = 0.2
COPIES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """An archive that writes to the lake, or did."""

    name: str
    """No other has it, on whatever machine."""
    host: str
    pid: int

    @staticmethod
    def here() -> Owner:
        return Owner(name=uuid4().hex, host=socket.gethostname(), pid=os.getpid())

    @property
    def home(self) -> str:
        return f"{OWNERS}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    number: int
    query: str = ""
    """Id of the streaming query: a new checkpoint counts its batches from 0 again.  Empty as long
    as the lake has no batch."""
    batch: int = -1
    """The last batch that is in the lake when this step is done; -1 if none is."""
    moves: tuple[tuple[str, str], ...] = ()
    removals: tuple[str, ...] = ()
    owner: Owner | None = None
    """Who decided it; steps of older lakes do not say."""
    checkpoint: str = OLD_CHECKPOINT
    """The progress of the query that goes with it."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Step:
        fields = json.loads(text)
        fields["moves"] = tuple((source, target) for source, target in fields["moves"])
        fields["removals"] = tuple(fields["removals"])
        if fields.get("owner") is not None:
            fields["owner"] = Owner(**fields["owner"])
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
    """The writer's side.  Opening it takes the lake over, and makes good what a crash left."""

    def __init__(self, files: Files, owner: Owner | None = None) -> None:
        self._files = files
        self._owner = owner or Owner.here()
        self.checkpoint = f"{self._owner.home}/checkpoint"
        """Where the query keeps its progress."""
        former = files.names(OWNERS)  # before the claim: who comes after it is none of them
        self.last = claim = self._claim()
        self._do(claim, is_again=True)
        self._copy_checkpoint(claim.checkpoint)
        self.commit(query=claim.query, batch=claim.batch)
        self._clear(former, claim.checkpoint)

    @property
    def next_number(self) -> int:
        return self.last.number + 1

    def staging(self) -> str:
        """An empty place for what the next step moves into the lake."""
        path = f"{self._owner.home}/staging/{self.next_number:010d}"
        self._files.delete(path)
        return path

    def has_batch(self, query: str, batch: int) -> bool:
        """Whether a batch is in the lake already."""
        if self.last.query not in ("", query):
            raise PipelineError(
                f"the lake was made with another checkpoint: that in {HOME} was lost or replaced, "
                "and what is in the lake already cannot be told from what is not"
            )
        return batch <= self.last.batch

    def commit(
        self,
        *,
        query: str,
        batch: int,
        moves: tuple[tuple[str, str], ...] = (),
        removals: tuple[str, ...] = (),
    ) -> None:
        """Decides a step, does it, and forgets those before."""
        step = Step(
            number=self.next_number,
            query=query,
            batch=batch,
            moves=moves,
            removals=removals,
            owner=self._owner,
            checkpoint=self.checkpoint,
        )
        if not self._decide(step, self.last):
            raise self._overtaken()
        self.last = step
        self._do(step, is_again=False)
        self._forget_before(step.number)
        self._files.delete(f"{self._owner.home}/staging/{step.number:010d}")

    def check(self) -> None:
        """`PipelineError` if another archive has taken over: then that is what went wrong."""
        last = last_step(self._files)
        if last is None or last.owner != self._owner:
            raise self._overtaken()

    def _overtaken(self) -> PipelineError:
        last = last_step(self._files)
        owner = None if last is None else last.owner
        who = "" if owner is None else f", process {owner.pid} on {owner.host},"
        return PipelineError(f"another archive{who} took over this lake: only one may write to it")

    def _claim(self) -> Step:
        """Until nobody has decided anything between the look at the last step and the claim."""
        while True:
            last = last_step(self._files)
            claim = (
                Step(number=0, owner=self._owner)
                if last is None
                else replace(last, number=last.number + 1, owner=self._owner)
            )
            if self._decide(claim, last):
                self._forget_before(claim.number)
                return claim

    def _decide(self, step: Step, before: Step | None) -> bool:
        """False if the number is somebody else's, or was: then the step before is forgotten."""
        try:
            self._files.create(_step_path(step.number), step.to_json())
        except FileExistsError:
            return False
        is_next = (
            _numbers(self._files)[-1:] == [step.number]
            if before is None
            else self._is_there(before)
        )
        if not is_next:
            self._files.delete(_step_path(step.number))
        return is_next

    def _is_there(self, step: Step) -> bool:
        """Itself, not another of its number: who was fenced may have made that one, and died."""
        try:
            return Step.from_json(self._files.read(_step_path(step.number))) == step
        except FileNotFoundError:
            return False

    def _do(self, step: Step, *, is_again: bool) -> None:
        for source, target in step.moves:
            try:
                if self._files.exists(target):
                    self._files.delete(source)  # all that was left of a move by copy and delete
                else:
                    self._files.move(source, target)
            except FileNotFoundError:  # whoever takes over does it, too
                if not is_again and not self._files.exists(target):
                    self.check()
                    raise PipelineError(f"{source} is gone, and was to become {target}") from None
        for path in step.removals:
            self._files.delete(path)

    def _copy_checkpoint(self, source: str) -> None:
        """The former owner may be at work: its query goes on until its next step is refused."""
        for _ in range(COPIES_MAX):
            try:
                self._files.copy(source, self.checkpoint)
            except FileNotFoundError:
                self._files.delete(self.checkpoint)
            else:
                return
        raise PipelineError(f"{source} changes all the time: stop the other archive")

    def _forget_before(self, number: int) -> None:
        for each in _numbers(self._files):
            if each < number:
                self._files.delete(_step_path(each))

    def _clear(self, former: Iterable[str], checkpoint: str) -> None:
        """Deletes what those left who had the lake before.

        The last one's checkpoint stays until the next time.  If that archive still runs, it shall
        end because its step is refused, which tells people why, not because a file is missing.
        """
        for name in former:
            home = f"{OWNERS}/{name}"
            is_last = checkpoint.startswith(f"{home}/")
            self._files.delete(f"{home}/staging" if is_last else home)
        self._files.delete(OLD_STAGING)
        if checkpoint != OLD_CHECKPOINT:
            self._files.delete(OLD_CHECKPOINT)


def _step_path(number: int) -> str:
    return f"{STEPS}/{number:010d}.json"


def _numbers(files: Files) -> list[int]:
    """Of the steps that are not forgotten."""
    names = files.names(STEPS)
    return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]


def last_step(files: Files) -> Step | None:
    """`FileNotFoundError` if it is not there although it is listed."""
    missing = -1
    while numbers := _numbers(files):
        try:
            return Step.from_json(files.read(_step_path(numbers[-1])))
        except FileNotFoundError:
            if numbers[-1] <= missing:
                raise
            missing = numbers[-1]  # forgotten meanwhile: then there is a later one
    return None


def describe(files: Files, wanted: Description) -> None:
    """Makes the lake, or checks that it is one of this kind."""
    if not files.exists(DESCRIPTION):
        try:
            files.create(DESCRIPTION, wanted.to_json())
        except FileExistsError:
            pass  # made by another one this moment, and looked at like any
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
