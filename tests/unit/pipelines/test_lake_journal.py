"""Whatever moment a process dies at, a batch is in the lake once."""

from __future__ import annotations

from pathlib import Path

import pytest
from folder_files import CrashError, FolderFiles

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake_journal import (
    STEPS,
    Description,
    Journal,
    Step,
    describe,
    last_step,
    settled_files,
)

QUERY = "a-query"
BATCHES = 4
"""Batches that a small archive takes in; the small files of all are merged after the third."""
LAKE = Description(format="parquet", values="bytes", partition_by=("topic", "date"))


def archive(root: Path, crash_at: int | None) -> bool:
    """One life of a process that takes in batches, each a file with its number; did it live?"""
    files = FolderFiles(root, crash_at)
    try:
        journal = Journal(files)
        for batch in range(BATCHES):
            if not journal.has_batch(QUERY, batch):
                take_in(journal, root, batch, f"{batch}\n")
            if batch == 2:
                merge(journal, root, files)
    except CrashError:
        return False
    return True


def take_in(journal: Journal, root: Path, batch: int, text: str) -> None:
    staging = journal.staging()
    source = f"{staging}/topic=t/part.txt"
    (root / source).parent.mkdir(parents=True)
    (root / source).write_text(text)
    number = journal.next_number
    journal.commit(
        Step(number=number, query=QUERY, batch=batch, moves=((source, f"topic=t/{number}.txt"),))
    )


def merge(journal: Journal, root: Path, files: FolderFiles) -> None:
    small = [each.path for each in files.walk("")]
    assert journal.last is not None
    if len(small) < 2:
        return
    staging = journal.staging()
    source = f"{staging}/topic=t/part.txt"
    (root / source).parent.mkdir(parents=True)
    (root / source).write_text("".join((root / path).read_text() for path in sorted(small)))
    number = journal.next_number
    journal.commit(
        Step(
            number=number,
            query=QUERY,
            batch=journal.last.batch,
            moves=((source, f"topic=t/{number}.txt"),),
            removals=tuple(small),
        )
    )


def contents(root: Path) -> list[str]:
    files = settled_files(FolderFiles(root))
    return sorted("".join((root / each.path).read_text() for each in files).split())


def test_every_batch_is_there_once_wherever_the_process_died(tmp_path: Path) -> None:
    expected = [str(batch) for batch in range(BATCHES)]
    crash_at = 0
    while not archive(tmp_path / str(crash_at), crash_at):
        root = tmp_path / str(crash_at)
        assert archive(root, None)
        assert contents(root) == expected, crash_at
        crash_at += 1
    assert crash_at > 15


def test_every_batch_is_there_once_after_two_deaths(tmp_path: Path) -> None:
    expected = [str(batch) for batch in range(BATCHES)]
    for first in range(0, 20, 3):
        for second in range(0, 12, 2):
            root = tmp_path / f"{first}-{second}"
            archive(root, first)
            archive(root, second)
            assert archive(root, None)
            assert contents(root) == expected, (first, second)


def test_only_the_last_step_is_kept(tmp_path: Path) -> None:
    archive(tmp_path, None)

    assert len(FolderFiles(tmp_path).walk(STEPS)) == 1


def test_batches_of_another_checkpoint_are_not_taken_for_those_that_are_there(
    tmp_path: Path,
) -> None:
    archive(tmp_path, None)

    with pytest.raises(PipelineError, match="another checkpoint"):
        Journal(FolderFiles(tmp_path)).has_batch("another", 0)


def test_a_step_survives_its_file() -> None:
    step = Step(number=3, query=QUERY, batch=2, moves=(("a", "b"),), removals=("c", "d"))

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
    take_in(journal, tmp_path, 0, "0\n")
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
    take_in(journal, tmp_path, 0, "0\n")
    step = last_step(files)
    assert step is not None
    (tmp_path / step.moves[0][1]).unlink()
    moments = iter((0.0, 1.0, 100.0))

    with pytest.raises(PipelineError, match="start the archive again"):
        settled_files(files, monotonic=lambda: next(moments), pause=lambda _: None)
