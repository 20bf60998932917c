"""Compaction of random logs: exactly the last value of each key, where it was."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import StorageFailed
from barnabas.records.batch import Record, decode_records, encode_batch, iter_headers
from barnabas.records.compression import Codec
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.index import IndexCache
from barnabas.storage.log import Log
from barnabas.storage.recovery import open_log
from barnabas.storage.workers import InlineWorkers

NOW = 1_700_000_000_000
KEYS = [b"a", b"b", b"c", b"d" * 40, b"filler"]
RETENTION = 50


@dataclass
class Write:
    """A batch: by nobody, by an idempotent producer, or in a transaction that stays open."""

    pairs: list[tuple[int, bytes | None]]
    codec: Codec
    producer: int


@dataclass
class End:
    producer: int
    commit: bool


@dataclass
class Compact:
    later_ms: int
    map_bytes: int


@dataclass
class Restart:
    clean: bool


pairs = st.lists(
    st.tuples(st.integers(0, 3), st.none() | st.binary(max_size=8)), min_size=1, max_size=4
)
writes = st.builds(Write, pairs, st.sampled_from(Codec), st.sampled_from([-1, 1, 2, 3]))
ends = st.builds(End, st.sampled_from([2, 3]), st.booleans())
compactions = st.builds(
    Compact, st.sampled_from([0, 10, RETENTION, 200]), st.sampled_from([1, 300, 1 << 20])
)
restarts = st.builds(Restart, st.booleans())
steps = st.lists(writes | writes | writes | ends | compactions | restarts, max_size=25)


@dataclass
class World:
    """A log, and what a simple model says about it."""

    root: Path
    now: int = NOW
    pool: FilePool = field(default_factory=lambda: FilePool(20))
    written: dict[int, tuple[bytes, bytes | None]] = field(default_factory=dict)
    undecided: dict[int, list[int]] = field(default_factory=dict)
    committed: list[int] = field(default_factory=list)
    bounds: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    compacted_at: dict[int, int] = field(default_factory=dict)
    log: Log = field(init=False)
    cleaner: Cleaner = field(init=False)

    def __post_init__(self) -> None:
        (self.root / "t-0").mkdir()
        self.open(clean=True)

    def open(self, *, clean: bool) -> None:
        config = LogConfig(
            cleanup_policy=("compact",),
            segment_bytes=350,
            index_interval_bytes=100,
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=RETENTION,
        )
        self.log = open_log(
            pool=self.pool,
            cache=IndexCache(),
            topic="t",
            partition=0,
            topic_id=bytes(16),
            directory=str(self.root / "t-0"),
            config=config,
            now_ms=self.now,
            is_clean=clean,
        )
        self.log.advance_high_watermark(self.log.end_offset)
        self.cleaner = Cleaner(
            self.pool,
            InlineWorkers(),
            settings=CleanerSettings(backoff_ms=0, load_factor=1.0),
            clock=self,
            on_failure=self.failed,
        )

    def failed(self, log: Log, failure: StorageFailed) -> None:
        raise failure

    def now_ms(self) -> int:
        return self.now

    def monotonic(self) -> float:
        return 0.0

    # Steps.

    def write(self, step: Write) -> None:
        producer = step.producer
        transactional = producer in {2, 3}
        batch = encode_batch(
            [Record(timestamp=self.now, key=KEYS[k], value=value) for k, value in step.pairs],
            codec=step.codec,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=self.sequences.get(producer, 0) if producer >= 0 else -1,
            transactional=transactional,
        )
        done = self.log.append_as_leader(memoryview(batch), leader_epoch=0, now_ms=self.now)
        self.sequences[producer] = self.sequences.get(producer, 0) + len(step.pairs)
        offsets = list(range(done.base_offset, done.last_offset + 1))
        self.bounds[done.base_offset] = done.last_offset
        self.written.update(
            zip(offsets, ((KEYS[k], value) for k, value in step.pairs), strict=True)
        )
        if transactional:
            self.undecided.setdefault(producer, []).extend(offsets)
        else:
            self.committed += offsets
        self.settle()

    def end(self, step: End) -> None:
        if step.producer not in self.undecided:
            return
        offsets = self.undecided.pop(step.producer)
        if step.commit:
            self.committed += offsets
        done = self.log.append_control(
            producer_id=step.producer,
            producer_epoch=0,
            is_commit=step.commit,
            coordinator_epoch=0,
            leader_epoch=0,
            now_ms=self.now,
        )
        self.bounds[done.base_offset] = done.last_offset
        self.settle()

    def settle(self) -> None:
        self.log.write_pending()
        self.log.advance_high_watermark(self.log.end_offset)

    def compact(self, step: Compact) -> None:
        self.now += step.later_ms
        self.cleaner.settings = CleanerSettings(
            backoff_ms=0, load_factor=1.0, dedupe_buffer_bytes=step.map_bytes
        )
        before = self.cleaner.clean_offset(self.log)
        self.cleaner.tick([self.log], self.now)
        assert not self.cleaner.is_uncleanable(self.log)
        clean = self.cleaner.clean_offset(self.log)
        assert clean >= before
        for offset in self.written:
            if offset < clean:
                self.compacted_at.setdefault(offset, self.now)

    def compact_all(self) -> None:
        """Fill the active segment, so that all before it can be compacted."""
        for i in range(5):
            self.write(Write([(4, b"filler %d" % i)], Codec.NONE, -1))
        self.compact(Compact(0, 1 << 20))
        self.check()

    def restart(self, step: Restart) -> None:
        end = self.log.end_offset
        self.log.close()
        self.open(clean=step.clean)
        assert self.log.end_offset == end

    # Promises.

    def read(self) -> tuple[list[Record], list[tuple[int, int]]]:
        """Committed records, as a reader sees them, and the bounds of all batches."""
        log = self.log
        aborted = log.aborted_transactions(log.start_offset, log.end_offset)
        records: list[Record] = []
        bounds: list[tuple[int, int]] = []
        offset = log.start_offset
        while offset < log.last_stable_offset:
            data = log.read(
                offset, max_bytes=400, end_offset=log.last_stable_offset, at_least_one=True
            ).read()
            if not data:
                break
            for position, header in iter_headers(data):
                offset = header.next_offset
                bounds.append((header.base_offset, header.last_offset))
                skipped = header.is_control or any(
                    each.producer_id == header.producer_id
                    and each.first_offset <= header.base_offset <= each.last_offset
                    for each in aborted
                )
                batch = data[position : position + header.size_bytes]
                records += [] if skipped else decode_records(batch, header)
        return records, bounds

    def check(self) -> None:
        records, bounds = self.read()
        stable = self.log.last_stable_offset
        committed = sorted(offset for offset in self.committed if offset < stable)
        offsets = [r.offset for r in records]

        assert offsets == sorted(set(offsets)), "order is kept"
        assert set(offsets) <= set(committed), "nothing comes back, nothing is made up"
        assert all((r.key, r.value) == self.written[r.offset] for r in records)
        assert all(self.bounds[first] == last for first, last in bounds), "batches keep their place"
        expected = {self.written[offset][0]: offset for offset in committed}
        seen = {r.key: r.offset for r in records}
        for key, offset in expected.items():
            if self.written[offset][1] is not None:
                assert seen[key] == offset, "the last value of a key stays"
            else:
                assert seen.get(key, offset) == offset, "a deleted key does not come back"
                until = self.compacted_at.get(offset, self.now) + RETENTION
                assert key in seen or self.now >= until, "readers have time to see a deletion"

    def check_producers(self) -> None:
        """The log alone tells the last sequence number of each producer."""
        before = self.producers()
        self.log.close()
        for snapshot in (self.root / "t-0").glob("*.snapshot"):
            snapshot.unlink()
        self.open(clean=False)
        assert self.producers() == before

    def producers(self) -> dict[int, tuple[int, int, int]]:
        return {
            entry.producer_id: (entry.producer_epoch, entry.last_sequence, entry.transaction_start)
            for entry in self.log.active_producers()
        }


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_compaction_keeps_the_last_value_of_each_key_and_nothing_else_changes(
    steps: list[Write | End | Compact | Restart],
) -> None:
    root = Path(tempfile.mkdtemp(prefix="compaction"))
    world = World(root)
    try:
        for step in steps:
            match step:
                case Write():
                    world.write(step)
                case End():
                    world.end(step)
                case Compact():
                    world.compact(step)
                    world.check()
                case Restart():
                    world.restart(step)
                    world.check()
        world.compact_all()
        world.now += RETENTION
        world.compact_all()
        world.check_producers()
        world.check()
    finally:
        world.pool.close()
        shutil.rmtree(root)
