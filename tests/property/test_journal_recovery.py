"""What a journal promises about crashes, tried at every point where one can happen."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller import journal_format as fmt
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage
from barnabas.protocol.message import Message
from barnabas.protocol.messages.metadata_records import FeatureLevelRecord

FIRST_LOG = fmt.segment_name(0)


class Crash(BaseException):
    """The machine stops."""


class MemoryFiles:
    """A disk that stops working at its `crash_at`th change.

    The change that is under way is done in part (an append), or wholly or not at all (all others,
    which are one step in a file system).
    """

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = dict(files or {})
        self.changes = 0
        self.crash_at = -1
        self.part = 0.0

    def _crashes(self) -> bool:
        self.changes += 1
        return self.changes == self.crash_at

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes:
        return self.files[name]

    def append(self, name: str, data: bytes, *, position: int) -> None:
        crashes = self._crashes()
        if crashes:
            data = data[: round(len(data) * self.part)]
        old = self.files.get(name, b"")
        assert position == len(old), "an append at another place than the end"
        self.files[name] = old + data
        if crashes:
            raise Crash

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        crashes = self._crashes()
        if not crashes or self.part > 0.5:
            self.files[name] = data
        if crashes:
            raise Crash

    def truncate(self, name: str, size: int) -> None:
        crashes = self._crashes()
        if name in self.files and (not crashes or self.part > 0.5):
            self.files[name] = self.files[name][:size]
        if crashes:
            raise Crash

    def remove(self, name: str) -> None:
        crashes = self._crashes()
        if not crashes or self.part > 0.5:
            self.files.pop(name, None)
        if crashes:
            raise Crash


def run_of(number: int) -> list[Message]:
    """Two records that belong together."""
    return [
        FeatureLevelRecord(name=f"{side}{number}", feature_level=1) for side in ("left", "right")
    ]


def load(journal: EmbeddedJournal) -> ClusterImage:
    image = ClusterImage("c")
    kept = journal.snapshot()
    if kept is not None:
        image.load_snapshot(kept.records, end_offset=kept.end_offset, epoch=kept.epoch)
    for run in journal.read(kept.end_offset if kept else 0):
        image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)
    return image


def numbers_in(image: ClusterImage) -> list[int]:
    """The runs that the image has seen; both records of each, or none."""
    lefts = sorted(int(name[4:]) for name in image.features if name.startswith("left"))
    rights = sorted(int(name[5:]) for name in image.features if name.startswith("right"))
    assert lefts == rights, "half a run"
    return lefts


@given(groups=st.lists(st.integers(1, 4), min_size=1, max_size=6), data=st.data())
def test_recovery_keeps_exactly_the_runs_before_a_tear(
    groups: list[int], data: st.DataObject
) -> None:
    files = MemoryFiles()
    journal = EmbeddedJournal(files, node_id=1)
    number = 0
    for size in groups:
        for _ in range(size):
            journal.append(run_of(number), now_ms=1)
            number += 1
        journal.commit(lambda error: None)
    whole = files.files[FIRST_LOG]
    batches = fmt.scan(whole).batches
    ends = [position for position, _ in batches[1:]] + [len(whole)]
    tear = data.draw(st.integers(0, len(whole)), label="tear")
    junk = data.draw(st.binary(max_size=80), label="junk")

    files.files[FIRST_LOG] = whole[:tear] + junk
    survivors = numbers_in(load(EmbeddedJournal(files, node_id=1)))

    # The first batch is the writer's mark; the others are one run each.
    intact = bisect_right(ends, tear)
    at_least = list(range(max(0, intact - 1)))
    if junk.startswith(whole[tear : tear + 1]) and junk:
        assert survivors[: len(at_least)] == at_least  # junk may happen to complete a batch
    else:
        assert survivors == at_least


@given(
    flips=st.integers(1, 20),
    position=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
)
def test_a_flipped_bit_is_never_read_as_metadata(flips: int, position: float, bit: int) -> None:
    files = MemoryFiles()
    journal = EmbeddedJournal(files, node_id=1)
    for number in range(flips):
        journal.append(run_of(number), now_ms=1)
    journal.commit(lambda error: None)
    damaged = bytearray(files.files[FIRST_LOG])
    at = int(position * len(damaged))
    damaged[at] ^= 1 << bit
    files.files[FIRST_LOG] = bytes(damaged)
    batches = fmt.scan(bytes(damaged)).batches

    survivors = numbers_in(load(EmbeddedJournal(files, node_id=1)))

    assert survivors == list(range(len(survivors)))
    # The leader epoch is not under the checksum, but it may not go down and decides nothing.
    assert all(a.leader_epoch <= b.leader_epoch for (_, a), (_, b) in pairwise(batches))


class Step(NamedTuple):
    commit: int
    """Runs to commit together; 0: write a snapshot instead."""
    reopen: bool


steps = st.lists(st.builds(Step, st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


class History:
    """Drives a journal and knows what was promised."""

    def __init__(self, files: MemoryFiles) -> None:
        self.files = files
        self.acknowledged: list[int] = []
        self.under_way: list[int] = []
        self.number = 0
        self.open()

    def open(self) -> None:
        self.journal = EmbeddedJournal(self.files, node_id=1)
        self.image = load(self.journal)

    def play(self, step: Step) -> None:
        if step.reopen:
            self.open()
        if step.commit == 0:
            self.journal.write_snapshot(self.image.dump(), now_ms=1, done=lambda error: None)
            return
        group = range(self.number, self.number + step.commit)
        self.number += step.commit
        self.under_way = list(group)
        offsets = [self.journal.append(run_of(number), now_ms=1) for number in group]
        errors: list[BaseException | None] = []
        self.journal.commit(errors.append)
        assert errors == [None]
        for number, offset in zip(group, offsets, strict=True):
            self.image.replay_run(run_of(number), offset=offset, epoch=self.journal.epoch)
        self.acknowledged += group
        self.under_way = []


@given(plan=steps, data=st.data())
def test_a_crash_at_any_moment_loses_nothing_that_was_acknowledged(
    plan: list[Step], data: st.DataObject
) -> None:
    rehearsal = MemoryFiles()
    history = History(rehearsal)
    for step in plan:
        history.play(step)
    disk = MemoryFiles()
    disk.crash_at = data.draw(st.integers(1, max(1, rehearsal.changes)), label="crash at")
    disk.part = data.draw(st.floats(0, 1), label="part")

    history = History(disk)
    try:
        for step in plan:
            history.play(step)
    except Crash:
        pass

    after = History(MemoryFiles(disk.files))
    survivors = numbers_in(after.image)
    promised = len(history.acknowledged)
    assert survivors[:promised] == history.acknowledged
    assert survivors[promised:] == history.under_way[: len(survivors) - promised]

    # And life goes on: a new writer, a snapshot, another start.
    after.number = 1_000
    for step in (Step(2, reopen=False), Step(0, reopen=False), Step(1, reopen=True)):
        after.play(step)
    assert numbers_in(load(EmbeddedJournal(after.files, node_id=1))) == [
        *survivors,
        1_000,
        1_001,
        1_002,
    ]


@given(plan=steps)
def test_reading_again_gives_the_same_image_however_it_was_written(plan: list[Step]) -> None:
    history = History(MemoryFiles())
    for step in plan:
        history.play(step)

    again = load(EmbeddedJournal(history.files, node_id=1))

    assert again.dump() == history.image.dump()
    assert numbers_in(again) == history.acknowledged


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    tear=st.floats(0, 1),
    limit=st.integers(20, 200),
)
def test_a_run_in_many_batches_survives_whole_or_not_at_all(
    sizes: list[int], tear: float, limit: int
) -> None:
    normal = fmt.BATCH_BYTES_MAX
    fmt.BATCH_BYTES_MAX = limit
    try:
        files = MemoryFiles()
        journal = EmbeddedJournal(files, node_id=1)
        runs = [
            [FeatureLevelRecord(name=f"{n}-{i}", feature_level=1) for i in range(size)]
            for n, size in enumerate(sizes)
        ]
        for records in runs:
            journal.append(records, now_ms=1)
        journal.commit(lambda error: None)
        whole = files.files[FIRST_LOG]
        files.files[FIRST_LOG] = whole[: round(len(whole) * tear)]

        journal = EmbeddedJournal(files, node_id=1)
        survivors = [list(run.records) for run in journal.read(0) if run.records]
        assert survivors == runs[: len(survivors)]
        assert len(survivors) == len(runs) or tear < 1
        journal.append(run_of(0), now_ms=1)
        journal.commit(lambda error: None)
        found = EmbeddedJournal(files, node_id=1).read(0)
        assert [list(run.records) for run in found if run.records] == [*survivors, run_of(0)]
    finally:
        fmt.BATCH_BYTES_MAX = normal
