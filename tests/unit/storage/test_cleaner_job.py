"""One compaction on its worker: pace, reading, writing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import Record, encode_batch, iter_headers, read_header
from barnabas.storage import cleaner_job, txn_index
from barnabas.storage.cleaner_job import CleaningJob, CleaningPlan, CleaningStopped, Pace
from barnabas.storage.cleaner_writer import CleanedWriter
from barnabas.storage.fs import FilePool
from barnabas.storage.index import OffsetIndex, TimeIndex
from barnabas.storage.log_trim import SegmentView
from barnabas.storage.txn_index import AbortedTransaction


class Time:
    """A clock and an event whose `wait` only moves the clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.stopped = False
        self.breaths = 0

    def monotonic(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return self.stopped

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.stopped

    def breathe(self, seconds: float) -> None:
        self.breaths += 1


def pace_of(time: Time, rate: float = float("inf")) -> Pace:
    return Pace(rate, monotonic=time.monotonic, stop=time, sleep=time.breathe)  # type: ignore[arg-type]


@pytest.fixture
def pool() -> Iterator[FilePool]:
    pool = FilePool(10)
    yield pool
    pool.close()


def test_bytes_take_as_long_as_the_rate_says() -> None:
    time = Time()
    pace = pace_of(time, rate=1000)

    for _ in range(10):
        pace.spend(500, 1)

    assert time.now == pytest.approx(105)
    time.now += 60
    pace.spend(1000, 1)
    assert time.now == pytest.approx(166), "time not used is not saved up"


def test_without_a_limit_nothing_waits() -> None:
    time = Time()
    pace_of(time).spend(1 << 40, 1)

    assert time.now == 100.0


def test_the_interpreter_is_let_go_of_again_and_again() -> None:
    time = Time()
    pace = pace_of(time)
    for _ in range(1000):
        pace.spend(10, 10)

    assert 20 <= time.breaths <= 100


@pytest.mark.parametrize("rate", [1.0, float("inf")])
def test_a_job_ends_when_told_to_stop(rate: float) -> None:
    time = Time()
    time.stopped = True

    with pytest.raises(CleaningStopped):
        pace_of(time, rate).spend(100, 1)


def plan_for(path: Path, *, size: int, offsets: int) -> CleaningPlan:
    view = SegmentView(
        base_offset=0,
        next_base_offset=offsets,
        directory=str(path.parent),
        path=str(path),
        size_bytes=size,
        largest_timestamp=0,
        modified_ms=0,
    )
    return CleaningPlan(
        name="t-0",
        directory=str(path.parent),
        segments=(view,),
        first_dirty_offset=0,
        upper_bound=offsets,
        aborted=(),
        last_records={},
        map_bytes=1 << 20,
        group_bytes=1 << 30,
        index_interval_bytes=100,
        delete_retention_ms=1000,
        now_ms=0,
    )


def new_job(pool: FilePool, plan: CleaningPlan) -> CleaningJob:
    never = threading.Event()
    pace = Pace(float("inf"), monotonic=lambda: 0.0, stop=never, sleep=lambda seconds: None)
    return CleaningJob(plan, pool, pace)


def segment_of(path: Path, values: list[bytes]) -> Path:
    path.write_bytes(
        b"".join(
            encode_batch([Record(timestamp=i, key=b"%d" % i, value=value)], base_offset=i)
            for i, value in enumerate(values)
        )
    )
    return path


@pytest.mark.parametrize("window", [61, 100, 1000, 1 << 20])
def test_batches_are_read_whatever_the_size_of_the_window(
    pool: FilePool, tmp_path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner_job, "_READ_BYTES", window)
    path = segment_of(tmp_path / "0.log", [b"x" * (i * 37 % 500) for i in range(50)])
    job = new_job(pool, plan_for(path, size=path.stat().st_size, offsets=50))

    while not job.is_done:
        job.step()

    (cleaned,) = job.cleaned
    written = (tmp_path / f"{0:020d}.log.cleaned").read_bytes()
    assert written == path.read_bytes()
    assert cleaned.size_bytes == len(written) == job.bytes_written
    assert job.bytes_read == 2 * len(written), "once for the keys, once for the records"
    assert job.end_offset == 50


@pytest.mark.parametrize("damage", ["short", "torn", "flipped", "nonsense"])
def test_damage_is_noticed_and_nothing_is_left_behind(
    pool: FilePool, tmp_path: Path, damage: str
) -> None:
    path = segment_of(tmp_path / "0.log", [b"v"] * 10)
    content = bytearray(path.read_bytes())
    size = len(content)
    match damage:
        case "short":
            content = content[:-100]
        case "torn":
            size -= 5
        case "flipped":
            content[-1] ^= 1
        case "nonsense":
            content[200:] = bytes(len(content) - 200)
    path.write_bytes(content)
    job = new_job(pool, plan_for(path, size=size, offsets=10))

    with pytest.raises(CorruptMessage):
        job.step()
    job._groups = [job.plan.segments]  # as if the first pass had not looked
    with pytest.raises(CorruptMessage):
        job.step()
    assert [p.name for p in tmp_path.iterdir()] == ["0.log"]


def test_what_outgrows_a_segment_goes_on_in_another(
    pool: FilePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner_job, "LARGEST_SEGMENT", 1000)
    path = segment_of(tmp_path / "0.log", [b"v" * 50] * 30)
    job = new_job(pool, plan_for(path, size=path.stat().st_size, offsets=30))

    while not job.is_done:
        job.step()

    assert len(job.cleaned) > 2
    assert all(each.size_bytes <= 1000 for each in job.cleaned)
    files = [
        (tmp_path / f"{each.base_offset:020d}.log.cleaned").read_bytes() for each in job.cleaned
    ]
    assert b"".join(files) == path.read_bytes()
    firsts = [read_header(content).base_offset for content in files]
    assert firsts == [each.base_offset for each in job.cleaned]


def test_a_writer_makes_indexes_that_find_every_batch(pool: FilePool, tmp_path: Path) -> None:
    writer = CleanedWriter(pool, str(tmp_path), 1000, index_interval_bytes=200)
    timestamps = [5, 3, 9, 9, 2, 30, 1, 40, 41, 7]
    for i, timestamp in enumerate(timestamps):
        batch = encode_batch(
            [Record(timestamp=timestamp, key=b"k", value=b"v" * 50)], base_offset=1000 + 10 * i
        )
        writer.add(read_header(batch), batch)
    aborted = [AbortedTransaction(7, 1000, 1010, 1011)]
    cleaned = writer.finish(aborted, modified_ms=77)

    assert (cleaned.base_offset, cleaned.modified_ms) == (1000, 77)
    stem = tmp_path / f"{1000:020d}"
    log = stem.with_suffix(".log.cleaned").read_bytes()
    positions = dict(iter_headers(log))
    assert len(log) == cleaned.size_bytes
    index = OffsetIndex.decode(stem.with_suffix(".index.cleaned").read_bytes(), len(log))
    assert index is not None
    assert len(index) > 2
    assert all(positions[at].last_offset == 1000 + offset for offset, at in index)
    times = TimeIndex.decode(stem.with_suffix(".timeindex.cleaned").read_bytes())
    assert times.last() == (41, 80), "the last entry has the greatest timestamp of all"
    data = stem.with_suffix(".txnindex.cleaned").read_bytes()
    assert txn_index.decode(data, 1000) == aborted
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".cleaned"] * 4
