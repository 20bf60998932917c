"""Whatever moment a process dies or stands still at, a batch is in the lake once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

import pytest
from folder_files import CrashError, FolderFiles, ObjectFiles
from turns import take_turns

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake_journal import (
    OWNERS,
    STEPS,
    Description,
    Journal,
    Owner,
    Step,
    describe,
    last_step,
    settled_files,
)

T = TypeVar("T")

QUERY = "a-query"
BATCHES = 4
"""Batches that a small archive takes in; the small files of all are merged after the third."""
EXPECTED = [str(batch) for batch in range(BATCHES)]
LAKE = Description(format="parquet", values="bytes", partition_by=("topic", "date"))


def outcome(life: Callable[[], object]) -> str:
    """How it ended."""
    try:
        life()
    except CrashError:
        return "died"
    except PipelineError as error:
        if "took over this lake" not in str(error):
            raise
        return "overtaken"
    return "done"


def archive(files: FolderFiles) -> str:
    """One life of a process that takes in batches, each a file with its number."""

    def life() -> None:
        journal = Journal(files)
        for batch in range(BATCHES):
            if not journal.has_batch(QUERY, batch):
                take_in(journal, files, batch)
            if batch == 2:
                merge(journal, files)

    return outcome(life)


class Pause(Generic[T]):
    """What happens while a process stands still before one of its operations."""

    def __init__(self, operation: int, meanwhile: Callable[[], T]) -> None:
        self._operation = operation
        self._meanwhile = meanwhile
        self.results: list[T] = []
        """One, or none if the process has no operation of that number."""

    def __call__(self, number: int) -> None:
        if number == self._operation:
            self.results.append(self._meanwhile())


class Staged:
    """An archive that has taken over the lake, and staged its first batch."""

    def __init__(self, files: FolderFiles) -> None:
        self._journal = Journal(files)
        self._moves = stage(self._journal, files, "0\n")
        self._files = files

    def commit(self, crash_after: int | None = None) -> None:
        """It may die after so many changes."""
        if crash_after is not None:
            self._files.crash_at = self._files.changes + crash_after
        self._journal.commit(query=QUERY, batch=0, moves=self._moves)


def stage(journal: Journal, files: FolderFiles, text: str) -> tuple[tuple[str, str], ...]:
    source = f"{journal.staging()}/topic=t/part.txt"
    (files.root / source).parent.mkdir(parents=True)
    (files.root / source).write_text(text)
    return ((source, f"topic=t/{journal.next_number}.txt"),)


def take_in(journal: Journal, files: FolderFiles, batch: int) -> None:
    moves = stage(journal, files, f"{batch}\n")
    journal.commit(query=QUERY, batch=batch, moves=moves)


def merge(journal: Journal, files: FolderFiles) -> None:
    small = [each.path for each in files.walk("")]
    if len(small) < 2:
        return
    try:
        text = "".join((files.root / path).read_text() for path in sorted(small))
    except FileNotFoundError:
        journal.check()
        raise
    moves = stage(journal, files, text)
    journal.commit(query=QUERY, batch=journal.last.batch, moves=moves, removals=tuple(small))


def contents(root: Path) -> list[str]:
    files = settled_files(FolderFiles(root))
    return sorted("".join((root / each.path).read_text() for each in files).split())


@pytest.mark.parametrize("kind", [FolderFiles, ObjectFiles])
def test_every_batch_is_there_once_wherever_the_process_died(
    tmp_path: Path, kind: type[FolderFiles]
) -> None:
    crash_at = 0
    while archive(kind(tmp_path / str(crash_at), crash_at)) == "died":
        root = tmp_path / str(crash_at)
        assert archive(kind(root)) == "done"
        assert contents(root) == EXPECTED, crash_at
        crash_at += 1
    assert crash_at > 30


@pytest.mark.parametrize("kind", [FolderFiles, ObjectFiles])
def test_every_batch_is_there_once_after_two_deaths(
    tmp_path: Path, kind: type[FolderFiles]
) -> None:
    for first in range(0, 40, 3):
        for second in range(0, 24, 2):
            root = tmp_path / f"{first}-{second}"
            archive(kind(root, first))
            archive(kind(root, second))
            assert archive(kind(root)) == "done"
            assert contents(root) == EXPECTED, (first, second)


def test_whoever_stands_still_while_another_takes_over_adds_nothing(tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    for stop_at in count():
        root = tmp_path / str(stop_at)
        pause = Pause(stop_at, partial(archive, FolderFiles(root)))
        ends[archive(FolderFiles(root, before=pause))] += 1
        if not pause.results:
            break
        assert pause.results == ["done"]
        assert contents(root) == EXPECTED, stop_at
    assert set(ends) == {"done", "overtaken"}
    assert ends["overtaken"] > 30


def test_whoever_opens_a_lake_leaves_later_owners_alone(tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    for stop_at in count():
        files = FolderFiles(tmp_path / str(stop_at))
        pause = Pause(stop_at, partial(Staged, files))
        outcome(partial(Journal, FolderFiles(files.root, before=pause)))
        if not pause.results:
            break
        end = outcome(pause.results[0].commit)
        assert contents(files.root) == (["0"] if end == "done" else []), stop_at
        ends[end] += 1
    assert set(ends) == {"done", "overtaken"}


def test_a_number_is_not_free_because_its_step_was_forgotten(tmp_path: Path) -> None:
    for stop_at in count():
        files = FolderFiles(tmp_path / str(stop_at))
        pause = Pause(stop_at, partial(outcome, Staged(files).commit))
        assert archive(FolderFiles(files.root, crash_at=1)) == "died", "its claim is there"
        assert archive(FolderFiles(files.root, before=pause)) == "done"
        assert contents(files.root) == EXPECTED, stop_at
        if not pause.results:
            break
        assert pause.results == ["overtaken"], stop_at


@pytest.mark.parametrize("operation", range(16))
def test_a_step_of_one_that_was_fenced_and_died_is_nobodys(tmp_path: Path, operation: int) -> None:
    """A third archive stands still while a second takes over from the first, which then dies in the
    midst of its commit: the file that it may leave is not the third one's, whatever its number.
    """
    for crash_after in range(12):
        root = tmp_path / str(crash_after)
        first = Staged(FolderFiles(root))

        def meanwhile(
            root: Path = root, first: Staged = first, crash_after: int = crash_after
        ) -> None:
            files = FolderFiles(root)
            take_in(Journal(files), files, 0)
            assert outcome(lambda: first.commit(crash_after)) != "done"

        files = FolderFiles(root, before=Pause(operation, meanwhile))

        def third(files: FolderFiles = files) -> None:
            journal = Journal(files)
            if not journal.has_batch(QUERY, 0):
                take_in(journal, files, 0)

        outcome(third)
        assert contents(root) == ["0"]


@pytest.mark.parametrize("seed", range(60))
def test_every_batch_is_there_once_however_archives_get_in_each_others_way(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    crashes = [chance.choice((None, None, chance.randrange(50))) for _ in range(3)]
    ends: list[str] = []

    def life(crash_at: int | None, pause: Callable[[int], object]) -> None:
        ends.append(archive(FolderFiles(tmp_path, crash_at, pause)))

    take_turns([partial(life, crash_at) for crash_at in crashes], chance)

    assert "done" in ends or "died" in ends
    assert archive(FolderFiles(tmp_path)) == "done"
    assert contents(tmp_path) == EXPECTED


def test_the_former_owner_is_told_who_took_over(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    first = Journal(files)
    take_in(first, files, 0)
    first.check()
    second = Journal(files, Owner(name="second", host="there", pid=7))

    said = "another archive, process 7 on there, took over this lake: only one may write to it"
    with pytest.raises(PipelineError, match=said):
        take_in(first, files, 1)
    with pytest.raises(PipelineError, match=said):
        first.check()
    take_in(second, files, 1)
    assert contents(tmp_path) == ["0", "1"]


def test_a_staged_file_that_is_gone_is_an_error_and_no_loss_in_silence(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    journal = Journal(files)

    with pytest.raises(PipelineError, match=r"staged is gone, and was to become topic=t/5\.txt"):
        journal.commit(query=QUERY, batch=0, moves=(("staged", "topic=t/5.txt"),))


def test_each_owner_goes_on_from_a_copy_of_the_last_ones_progress(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    journals = []
    for number in range(3):
        journals.append(Journal(files, Owner(name=f"owner-{number}", host="here", pid=number)))
        progress = tmp_path / journals[-1].checkpoint / "offsets"
        assert sorted(path.name for path in progress.glob("*")) == list("012"[:number])
        progress.mkdir(parents=True, exist_ok=True)
        (progress / str(number)).touch()
        journals[-1].staging()

    assert files.names(OWNERS) == ["owner-1", "owner-2"], "who was last may still run"
    assert not (tmp_path / journals[1].checkpoint / "offsets" / "2").exists()


def test_a_checkpoint_that_changes_while_it_is_copied_is_copied_again(tmp_path: Path) -> None:
    class Changing(FolderFiles):
        copies = 0

        def copy(self, source: str, target: str) -> None:
            super().copy(source, target)
            self.copies += 1
            if self.copies < 3:
                (self.root / target / "1").unlink()
                raise FileNotFoundError(source)

    progress = tmp_path / Journal(FolderFiles(tmp_path)).checkpoint
    progress.mkdir(parents=True)
    (progress / "1").touch()

    journal = Journal(Changing(tmp_path))

    assert (tmp_path / journal.checkpoint / "1").exists()


def test_a_lake_of_the_time_before_owners_goes_on(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    moves = [["_archive/staging/0000000004/part.txt", "topic=t/4.txt"]]
    step = {"number": 4, "query": QUERY, "batch": 3, "moves": moves, "removals": ["topic=t/3.txt"]}
    files.write(f"{STEPS}/0000000004.json", json.dumps(step))
    files.write(moves[0][0], "3\n")
    files.write("topic=t/3.txt", "3\n")
    files.write("_archive/checkpoint/metadata", "an id")

    journal = Journal(files)

    assert journal.has_batch(QUERY, 3)
    assert not journal.has_batch(QUERY, 4)
    assert contents(tmp_path) == ["3"]
    assert files.read(f"{journal.checkpoint}/metadata") == "an id"
    assert not files.exists("_archive/staging")
    Journal(files)
    assert not files.exists("_archive/checkpoint")


def test_a_lake_that_has_no_batch_yet_takes_any_query(tmp_path: Path) -> None:
    assert not Journal(FolderFiles(tmp_path)).has_batch("one", 0)
    assert not Journal(FolderFiles(tmp_path)).has_batch("another", 0)


def test_only_the_last_step_is_kept(tmp_path: Path) -> None:
    archive(FolderFiles(tmp_path))

    assert len(FolderFiles(tmp_path).walk(STEPS)) == 1


def test_batches_of_another_checkpoint_are_not_taken_for_those_that_are_there(
    tmp_path: Path,
) -> None:
    archive(FolderFiles(tmp_path))

    with pytest.raises(PipelineError, match="another checkpoint"):
        Journal(FolderFiles(tmp_path)).has_batch("another", 0)


def test_a_step_survives_its_file() -> None:
    step = Step(
        number=3,
        query=QUERY,
        batch=2,
        moves=(("a", "b"),),
        removals=("c", "d"),
        owner=Owner.here(),
        checkpoint="e",
    )

    assert Step.from_json(step.to_json()) == step


def test_a_lake_stays_of_the_kind_that_it_was_made(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    describe(files, LAKE)
    describe(files, LAKE)

    with pytest.raises(
        PipelineError, match="one of parquet files with bytes values by topic, date"
    ):
        describe(files, Description(format="json", values="bytes", partition_by=("topic",)))


def test_a_reader_waits_for_a_step_to_be_done(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    journal = Journal(files)
    take_in(journal, files, 0)
    step = last_step(files)
    assert step is not None
    ((_, target),) = step.moves
    (tmp_path / target).rename(tmp_path / "elsewhere.txt")
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        (tmp_path / "elsewhere.txt").rename(tmp_path / target)

    assert [each.path for each in settled_files(files, pause=pause)] == [target]
    assert len(pauses) == 1


def test_a_reader_does_not_wait_for_ever(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    journal = Journal(files)
    take_in(journal, files, 0)
    step = last_step(files)
    assert step is not None
    (tmp_path / step.moves[0][1]).unlink()
    moments = iter((0.0, 1.0, 100.0))

    with pytest.raises(PipelineError, match="start the archive again"):
        settled_files(files, monotonic=lambda: next(moments), pause=lambda _: None)
