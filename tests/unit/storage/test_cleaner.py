"""The cleaner at work on real logs in a temporary directory."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
from held_workers import HeldWorkers

from barnabas.base.errors import StorageFailed
from barnabas.records.batch import Record, decode_records, encode_batch, iter_headers
from barnabas.storage.checkpoint import CLEANER_OFFSETS, read_offsets, write_offsets
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.index import IndexCache
from barnabas.storage.log import Log
from barnabas.storage.recovery import open_log
from barnabas.storage.workers import InlineWorkers, ThreadWorkers, Workers

NOW = 1_700_000_000_000
CONFIG = LogConfig(cleanup_policy=("compact",), segment_bytes=400, min_cleanable_dirty_ratio=0.0)
Triple = tuple[int, bytes | None, bytes | None]


class HandClock:
    """Time that tests set."""

    def now_ms(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def pool() -> Iterator[FilePool]:
    pool = FilePool(50)
    yield pool
    pool.close()


def new_log(
    pool: FilePool,
    path: Path,
    config: LogConfig = CONFIG,
    *,
    clean: bool = True,
    topic: str = "t",
    topic_id: bytes = bytes(16),
) -> Log:
    directory = path / f"{topic}-0"
    directory.mkdir(exist_ok=True)
    return open_log(
        pool=pool,
        cache=IndexCache(),
        topic=topic,
        partition=0,
        topic_id=topic_id,
        directory=str(directory),
        config=config,
        now_ms=NOW,
        is_clean=clean,
    )


def fail_the_test(log: Log, failure: StorageFailed) -> None:
    raise AssertionError(f"{log} failed: {failure}")


def new_cleaner(
    pool: FilePool,
    workers: Workers | None = None,
    *,
    on_failure: Callable[[Log, StorageFailed], None] = fail_the_test,
    **settings: float,
) -> Cleaner:
    return Cleaner(
        pool,
        workers or InlineWorkers(),
        settings=replace(CleanerSettings(backoff_ms=0), **settings),
        clock=HandClock(),
        on_failure=on_failure,
    )


def append(log: Log, pairs: Iterable[tuple[bytes, bytes | None]], timestamp: int = NOW) -> None:
    """A batch for each pair; everything is written and replicated."""
    for key, value in pairs:
        batch = encode_batch([Record(timestamp=timestamp, key=key, value=value)])
        log.append_as_leader(memoryview(batch), leader_epoch=0, now_ms=NOW)
    log.write_pending()
    log.advance_high_watermark(log.end_offset)


def whole(log: Log) -> list[Triple]:
    """Every record, read as a client would."""
    found: list[Triple] = []
    offset = log.start_offset
    while offset < log.end_offset:
        data = log.read(offset, max_bytes=300, end_offset=log.end_offset, at_least_one=True).read()
        read = [
            (header, data[position : position + header.size_bytes])
            for position, header in iter_headers(data)
        ]
        if not read:
            break
        for header, batch in read:
            found += [(r.offset, r.key, r.value) for r in decode_records(batch, header)]
            offset = header.next_offset
    return found


def pairs(count: int, keys: int = 5) -> list[tuple[bytes, bytes | None]]:
    return [(b"k%d" % (i % keys), b"%d" % i) for i in range(count)]


def latest(records: list[Triple]) -> dict[bytes | None, bytes | None]:
    return {key: value for _, key, value in records}


def names(log: Log) -> list[str]:
    return sorted(p.name for p in Path(log.directory).iterdir() if ".deleted" not in p.name)


def test_old_values_go_and_readers_still_build_the_same_map(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100))
    before = whole(log)

    new_cleaner(pool).tick([log], NOW)

    after = whole(log)
    assert latest(after) == latest(before)
    assert set(after) < set(before)
    active = log.segments.active.base_offset
    closed = [offset for offset, _, _ in after if offset < active]
    assert len(closed) == 5, "one record of each key"
    assert log.end_offset == 100
    assert not [name for name in names(log) if name.endswith((".cleaned", ".swap"))]


def test_small_neighbours_are_joined_the_next_time(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100))
    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)
    assert len(log.segments) == 20

    append(log, pairs(10))
    cleaner.tick([log], NOW)

    assert len(log.segments) < 6
    assert len(whole(log)) < 15


def test_a_compacted_log_opens_again_with_and_without_its_indexes(
    pool: FilePool, tmp_path: Path
) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100, keys=60))
    new_cleaner(pool).tick([log], NOW)
    expected = whole(log)
    log.close()

    again = new_log(pool, tmp_path)
    assert whole(again) == expected
    again.close()
    for index in Path(log.directory).glob("*index"):
        index.unlink()
    recovered = new_log(pool, tmp_path, clean=False)
    assert whole(recovered) == expected
    assert recovered.end_offset == 100


def test_every_offset_and_time_can_be_looked_up_after_compaction(
    pool: FilePool, tmp_path: Path
) -> None:
    config = replace(CONFIG, segment_bytes=2000, index_interval_bytes=100)
    log = new_log(pool, tmp_path, config)
    for i in range(200):
        append(log, [(b"k%d" % (i % 70), b"%d" % i)], timestamp=NOW + i)
    new_cleaner(pool).tick([log], NOW)
    left = whole(log)

    for offset in range(200):
        data = log.read(offset, max_bytes=1, end_offset=200, at_least_one=True).read()
        ((_, header),) = iter_headers(data)
        assert header.last_offset == min(o for o, _, _ in left if o >= offset)
        found = log.find_by_time(NOW + offset)
        assert found is not None
        assert found.offset == header.base_offset


def test_the_checkpoint_says_where_to_go_on(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)

    clean = log.segments.active.base_offset
    path = str(tmp_path / CLEANER_OFFSETS)
    assert read_offsets(pool, path) == {("t", 0): clean}
    assert cleaner.clean_offset(log) == clean
    assert new_cleaner(pool).clean_offset(log) == clean, "a new start reads it"
    before = names(log)
    cleaner.tick([log], NOW)
    assert names(log) == before, "nothing is dirty"


@pytest.mark.parametrize("checkpointed", [7, 1_000_000])
def test_a_checkpoint_outside_of_the_log_is_ignored(
    pool: FilePool, tmp_path: Path, checkpointed: int
) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    log.delete_records_before(10)
    write_offsets(pool, str(tmp_path / CLEANER_OFFSETS), {("t", 0): checkpointed})

    assert new_cleaner(pool).clean_offset(log) == 10


def test_after_a_truncation_everything_counts_as_dirty(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)
    assert cleaner.clean_offset(log) > 20

    log.high_watermark = 20
    log.truncate_to(20)
    append(log, pairs(60))

    assert cleaner.clean_offset(log) == 0
    cleaner.tick([log], NOW)
    assert cleaner.clean_offset(log) > 20


def test_a_topic_made_anew_does_not_inherit_the_checkpoint(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)
    log.close()
    shutil.rmtree(log.directory)

    anew = new_log(pool, tmp_path, topic_id=bytes([1] * 16))
    append(anew, pairs(90))
    assert cleaner.clean_offset(anew) == 0
    cleaner.forget(log)
    assert read_offsets(pool, str(tmp_path / CLEANER_OFFSETS)) == {}
    cleaner.tick([anew], NOW)
    assert cleaner.clean_offset(anew) > 60


def test_a_small_map_compacts_a_log_in_several_rounds(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(300, keys=100))
    before = whole(log)
    cleaner = new_cleaner(pool, dedupe_buffer_bytes=4000, load_factor=1.0)

    offsets = []
    while cleaner.clean_offset(log) < log.segments.active.base_offset:
        cleaner.tick([log], NOW)
        offsets.append(cleaner.clean_offset(log))

    assert len(offsets) > 3
    assert offsets == sorted(set(offsets)), "each round makes progress"
    assert latest(whole(log)) == latest(before)
    assert len(whole(log)) < 120


def test_a_log_below_the_dirty_ratio_waits(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100, keys=100))
    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)
    clean = cleaner.clean_offset(log)
    append(log, pairs(20))

    log.reconfigure(replace(CONFIG, min_cleanable_dirty_ratio=0.5))
    cleaner.tick([log], NOW)
    assert cleaner.clean_offset(log) == clean
    log.reconfigure(CONFIG)
    cleaner.tick([log], NOW)
    assert cleaner.clean_offset(log) > clean


def test_the_dirtiest_log_comes_first(pool: FilePool, tmp_path: Path) -> None:
    logs = []
    for topic, dirty in (("a", 30), ("b", 90)):
        log = new_log(pool, tmp_path, topic=topic)
        append(log, pairs(50, keys=50))
        logs.append(log)
        new_cleaner(pool).tick([log], NOW)
        append(log, pairs(dirty))
    workers = HeldWorkers()
    cleaner = new_cleaner(pool, workers)

    cleaner.tick(logs, NOW)
    while cleaner.is_running:
        workers.run_one()

    assert cleaner.clean_offset(logs[1]) > 100
    assert cleaner.clean_offset(logs[0]) < 60


def test_logs_that_are_not_to_be_compacted_are_left_alone(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path, replace(CONFIG, cleanup_policy=("delete",)))
    append(log, pairs(60))
    new_cleaner(pool).tick([log], NOW)
    assert len(whole(log)) == 60
    log.reconfigure(CONFIG)
    new_cleaner(pool, enabled=False).tick([log], NOW)
    assert len(whole(log)) == 60


def test_what_is_not_replicated_is_not_compacted(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    for key, value in pairs(60):
        batch = encode_batch([Record(timestamp=NOW, key=key, value=value)])
        log.append_as_leader(memoryview(batch), leader_epoch=0, now_ms=NOW)
    log.write_pending()
    log.advance_high_watermark(30)

    cleaner = new_cleaner(pool)
    cleaner.tick([log], NOW)

    assert cleaner.clean_offset(log) <= 30
    assert [o for o, _, _ in whole(log) if o >= 30] == list(range(30, 60))
    assert len(whole(log)) < 60


def test_reads_and_writes_go_on_while_a_log_is_compacted(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    workers = HeldWorkers()
    cleaner = new_cleaner(pool, workers)
    cleaner.tick([log], NOW)

    steps = 0
    written = 60
    while cleaner.is_running:
        workers.run_one()
        steps += 1
        append(log, [(b"new", b"%d" % steps)])
        written += 1
        assert latest(whole(log)).items() >= {b"new": b"%d" % steps, b"k4": b"59"}.items()
    assert steps > 1
    assert log.end_offset == written


def test_a_slice_that_is_on_its_way_keeps_its_bytes(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    under_way = log.read(0, max_bytes=350, end_offset=60, at_least_one=True)
    before = under_way.read()

    new_cleaner(pool).tick([log], NOW)

    assert under_way.read() == before


def drop_old_segments(log: Log) -> None:
    log.delete_records_before(20)


def truncate(log: Log) -> None:
    log.high_watermark = 30
    log.truncate_to(30)


@pytest.mark.parametrize("change", [drop_old_segments, truncate])
@pytest.mark.parametrize("steps_before", [0, 1])
def test_a_log_that_changed_meanwhile_is_left_as_it_is(
    pool: FilePool, tmp_path: Path, change: Callable[[Log], None], steps_before: int
) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    workers = HeldWorkers()
    cleaner = new_cleaner(pool, workers)
    cleaner.tick([log], NOW)
    for _ in range(steps_before):
        workers.run_one()
    work, done = workers.held.pop(0)
    InlineWorkers().submit(work, lambda error: None)  # a worker did it ...

    change(log)
    expected = whole(log)
    done(None)  # ... and the loop learns of it only now
    while workers.held:
        workers.run_one()

    assert whole(log) == expected
    assert not cleaner.is_running
    assert not cleaner.is_uncleanable(log)
    assert not [name for name in names(log) if name.endswith((".cleaned", ".swap"))]


def test_a_log_that_was_deleted_meanwhile_is_given_up(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(60))
    workers = HeldWorkers()
    cleaner = new_cleaner(pool, workers)
    cleaner.tick([log], NOW)

    moved = str(tmp_path / "t-0.gone-delete")
    pool.rename(log.directory, moved)
    log.moved_to(moved)
    cleaner.forget(log)
    while workers.held:
        workers.run_one()

    assert not cleaner.is_running
    assert not cleaner.is_uncleanable(log)
    assert len(whole(log)) == 60


def test_a_damaged_log_is_left_alone_and_the_others_go_on(pool: FilePool, tmp_path: Path) -> None:
    logs = []
    for topic in ("bad", "good"):
        log = new_log(pool, tmp_path, topic=topic)
        append(log, pairs(60))
        logs.append(log)
    bad, good = logs
    path = Path(bad.segments.first.file.path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    cleaner = new_cleaner(pool)

    cleaner.tick([bad], NOW)
    cleaner.tick(logs, NOW)

    assert cleaner.is_uncleanable(bad)
    assert len(bad.segments) > 5
    assert not [name for name in names(bad) if name.endswith(".cleaned")]
    assert len(whole(good)) < 20
    assert not cleaner.is_uncleanable(good)


def test_tombstones_go_when_their_time_has_come(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path, replace(CONFIG, delete_retention_ms=1000))
    append(log, pairs(10))
    append(log, [(b"k%d" % i, None) for i in range(5)])
    append(log, pairs(20, keys=1))
    cleaner = new_cleaner(pool)

    cleaner.tick([log], NOW)
    assert latest(whole(log))[b"k3"] is None
    append(log, pairs(20, keys=1))
    cleaner.tick([log], NOW + 999)
    assert latest(whole(log))[b"k3"] is None
    append(log, pairs(20, keys=1))
    cleaner.tick([log], NOW + 1000)
    assert list(latest(whole(log))) == [b"k0"]


def test_compact_and_delete_together(pool: FilePool, tmp_path: Path) -> None:
    config = replace(CONFIG, cleanup_policy=("compact", "delete"), retention_ms=10_000)
    log = new_log(pool, tmp_path, config)
    append(log, pairs(60), timestamp=NOW)
    append(log, [(b"young%d" % i, b"1") for i in range(20)], timestamp=NOW + 9_000)
    new_cleaner(pool).tick([log], NOW + 9_000)
    assert latest(whole(log)).keys() > {b"k0", b"young0"}

    log.enforce_retention(NOW + 10_001)

    left = latest(whole(log))
    assert b"young0" in left or b"young19" in left


def test_the_thread_hands_its_work_back_to_the_loop(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100))
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    cleaner = new_cleaner(pool, ThreadWorkers(calls.put, threads=1))

    cleaner.tick([log], NOW)
    while cleaner.is_running:
        assert len(whole(log)) >= 5
        calls.get(timeout=30)()
    cleaner.close()

    assert len([o for o, _, _ in whole(log) if o < log.segments.active.base_offset]) == 5
    assert read_offsets(pool, str(tmp_path / CLEANER_OFFSETS))


def test_closing_stops_a_job_that_is_throttled(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100))
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    threads = threading.active_count()
    cleaner = new_cleaner(pool, ThreadWorkers(calls.put, threads=1), max_bytes_per_second=0.001)

    cleaner.tick([log], NOW)
    cleaner.close()

    assert threading.active_count() == threads
    calls.get(timeout=30)()
    assert not cleaner.is_running
    assert len(whole(log)) == 100
    assert not [name for name in names(log) if name.endswith(".cleaned")]


def test_a_step_that_ends_after_the_stop_leaves_the_log_and_no_files(
    pool: FilePool, tmp_path: Path
) -> None:
    log = new_log(pool, tmp_path)
    append(log, [(b"k", b"x" * 100)] * 8)
    workers = HeldWorkers()
    cleaner = new_cleaner(pool, workers)
    cleaner.tick([log], NOW)
    workers.run_one()  # the keys
    work, done = workers.held.pop()
    work()
    cleaner.close()
    log.close()
    names = sorted(path.name for path in (tmp_path / "t-0").iterdir())
    assert not any(name.endswith(".cleaned") for name in names)

    done(None)  # the loop has a last turn when everything is closed

    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == names
    assert not workers.held


def test_a_slice_keeps_its_bytes_when_its_segment_is_compacted_twice(
    pool: FilePool, tmp_path: Path
) -> None:
    log = new_log(pool, tmp_path)
    cleaner = new_cleaner(pool)
    slices = []
    for value in (b"x" * 60, b"y" * 60, b"z" * 60):
        append(log, [(b"%d" % (n % 4), value) for n in range(12)])
        found = log.read(0, max_bytes=400, end_offset=log.high_watermark, at_least_one=True)
        slices.append((found, found.read()))
        cleaner.tick([log], NOW)
    assert len({found.file for found, _ in slices}) == 3

    for found, content in slices:
        found.file.close()  # the pool needed the descriptor for another
        assert found.read() == content
    log.close()
    new_log(pool, tmp_path, clean=False)
    assert not list((tmp_path / "t-0").glob("*.deleted"))


def test_a_log_that_cannot_be_looked_at_does_not_keep_others_from_being_compacted(
    pool: FilePool, tmp_path: Path
) -> None:
    bad, good = (new_log(pool, tmp_path, topic=topic) for topic in ("bad", "good"))
    for log in (bad, good):
        append(log, pairs(100))
    bad.close()
    bad = new_log(pool, tmp_path, topic="bad")
    bad.advance_high_watermark(bad.end_offset)
    with open(bad.segments.first.file.path, "r+") as file:
        file.truncate(10)
    cleaner = new_cleaner(pool)
    before = len(whole(good))

    cleaner.tick([bad, good], NOW)

    assert cleaner.is_uncleanable(bad)
    assert len(whole(good)) < before


def test_a_disk_that_refuses_a_look_is_reported(pool: FilePool, tmp_path: Path) -> None:
    log = new_log(pool, tmp_path)
    append(log, pairs(100))
    failures: list[StorageFailed] = []
    cleaner = new_cleaner(pool, on_failure=lambda log, failure: failures.append(failure))
    Path(log.segments.first.file.path).unlink()

    cleaner.tick([log], NOW)

    assert len(failures) == 1
    assert not cleaner.is_running
