"""A log against a model that is a plain list: any mix of appends, rolls, trims and restarts."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from storage_logs import NOW, FlakyDisk, Place, batch, records_of, write

from barnabas.base.errors import StorageFailed
from barnabas.storage.config import LogConfig
from barnabas.storage.index import OffsetIndex, TimeIndex


class LogAgainstList(RuleBasedStateMachine):
    """The model: batches as (base offset, values, timestamp), and where the log starts."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="model"))

    @initialize(
        segment_bytes=st.sampled_from([300, 700, 1 << 20]),
        interval=st.sampled_from([0, 100, 4096]),
        limit=st.sampled_from([1, 3, 64]),
    )
    def begin(self, segment_bytes: int, interval: int, limit: int) -> None:
        self.disk = FlakyDisk()
        config = LogConfig(
            segment_bytes=segment_bytes, index_interval_bytes=interval, retention_ms=-1
        )
        self.place = Place(self.root / "t-0", config, self.disk, limit)
        self.log = self.place.open()
        self.batches: list[tuple[int, list[bytes], int]] = []
        self.start = self.end = 0

    def teardown(self) -> None:
        self.place.pool.close()
        shutil.rmtree(self.root)

    def add(self, values: list[bytes], timestamp: int) -> None:
        self.batches.append((self.end, values, timestamp))
        self.end += len(values)

    payload = st.lists(st.binary(max_size=60), min_size=1, max_size=3)
    timestamps = st.integers(NOW - 1000, NOW + 1000)

    @rule(several=st.lists(st.tuples(payload, timestamps), min_size=1, max_size=4))
    def append(self, several: list[tuple[list[bytes], int]]) -> None:
        for values, timestamp in several:
            appended = self.log.append_as_leader(
                batch(*values, timestamp=timestamp), leader_epoch=3, now_ms=NOW
            )
            assert appended.base_offset == self.end
            self.add(values, timestamp)
        write(self.log)

    @rule(several=st.lists(payload, min_size=1, max_size=3), room=st.integers(0, 80))
    def fail_to_append(self, several: list[list[bytes]], room: int) -> None:
        self.disk.room = room
        kept = 0
        try:
            for values in several:
                self.log.append_as_leader(batch(*values), leader_epoch=3, now_ms=NOW)
                kept += 1
        except StorageFailed:
            pass
        try:
            self.log.write_pending()
            written = True
        except StorageFailed:
            written = False
        self.disk.room = None
        if written:  # everything that was queued fitted
            for values in several[:kept]:
                self.add(values, NOW)
            self.log.advance_high_watermark(self.log.end_offset)
        elif self.log.end_offset != self.end:  # a roll in between wrote what came before it
            for values in several:
                if self.end < self.log.end_offset:
                    self.add(values, NOW)
            self.log.advance_high_watermark(self.log.end_offset)

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, self.end), label="offset")
        self.start = max(self.start, offset)
        assert self.log.delete_records_before(offset) == self.start

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, self.end), label="offset")
        self.log.truncate_to(offset)
        offset = max(offset, self.start)
        if offset < self.end:
            self.batches = [each for each in self.batches if each[0] + len(each[1]) <= offset]
            last = self.batches[-1] if self.batches else None
            self.end = max(last[0] + len(last[1]) if last else 0, self.start)

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        if clean:
            self.log.close()
        else:
            self.place.pool.close()
        self.log = self.place.open(
            clean=clean, start_offset=self.start, high_watermark=self.log.high_watermark
        )

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data(), max_bytes=st.integers(0, 400), one=st.booleans())
    def read(self, data: st.DataObject, max_bytes: int, one: bool) -> None:
        offset = data.draw(st.integers(self.start, self.end), label="offset")
        bound = data.draw(st.integers(0, self.end + 1) | st.just(self.end), label="bound")
        found = self.log.read(offset, max_bytes=max_bytes, end_offset=bound, at_least_one=one)
        readable = [
            (base, len(batch(*values)))
            for base, values, _ in self.batches
            if offset < base + len(values) <= bound
        ]
        if not readable:
            assert len(found) == 0
            return
        assert len(found) <= sum(size for _, size in readable)
        base, size = readable[0]
        if size > max_bytes:
            assert len(found) == (size if one else 0)
        else:
            assert size <= len(found) <= max_bytes
        if len(found):
            assert int.from_bytes(found.read()[:8], "big") == base

    @rule(timestamp=timestamps)
    def find(self, timestamp: int) -> None:
        expected = next(
            (
                (base + number, stamp)
                for base, values, stamp in self.batches
                for number in range(len(values))
                if stamp >= timestamp and base + number >= self.start
            ),
            None,
        )
        found = self.log.find_by_time(timestamp)
        assert (found and found[:2]) == expected

    @invariant()
    def the_log_is_the_list(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.start_offset == self.start
        assert self.log.end_offset == self.log.high_watermark == self.end
        expected = [
            (base + number, value)
            for base, values, _ in self.batches
            for number, value in enumerate(values)
            if base + number >= self.start
        ]
        assert [(record.offset, record.value) for record in records_of(self.log)] == expected
        assert self.log.size_bytes == sum(
            path.stat().st_size for path in self.place.directory.glob("*.log")
        )


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


entries = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=60)


@settings(deadline=None)
@given(deltas=entries, wanted=st.integers(0, 4000))
def test_the_floor_of_an_index_is_what_a_linear_search_finds(
    deltas: list[tuple[int, int]], wanted: int
) -> None:
    index = OffsetIndex()
    offset = position = 0
    plain: list[tuple[int, int]] = []
    for more, further in deltas:
        offset, position = offset + more, position + further
        index.add(offset, position)
        plain.append((offset, position))
    expected = max((at for entry, at in plain if entry <= wanted), default=0)
    assert index.floor(wanted) == expected
    again = OffsetIndex.decode(index.encode(), position + 1)
    assert again is not None
    assert again.floor(wanted) == expected


@settings(deadline=None)
@given(stamps=st.lists(st.integers(0, 100), max_size=60), wanted=st.integers(0, 110))
def test_the_floor_of_a_time_index_is_what_a_linear_search_finds(
    stamps: list[int], wanted: int
) -> None:
    index = TimeIndex()
    plain: list[tuple[int, int]] = []
    for offset, stamp in enumerate(stamps):
        index.add(stamp, offset)
        if not plain or stamp > plain[-1][0]:
            plain.append((stamp, offset))
    assert list(index) == plain
    expected = max((offset for stamp, offset in plain if stamp <= wanted), default=0)
    assert index.floor(wanted) == expected


@settings(deadline=None)
@given(data=st.binary(max_size=200), size=st.integers(0, 2**31 - 1))
def test_any_bytes_can_be_read_as_an_index(data: bytes, size: int) -> None:
    index = OffsetIndex.decode(data, size)
    if index is not None:
        plain = list(index)
        assert plain == sorted(set(plain))
        assert all(position < size for _, position in plain)
    times = list(TimeIndex.decode(data))
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(times))
