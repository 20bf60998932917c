"""What is compacted next, how much of it and in which pieces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.storage.cleaner_select import Assessment, assess, group_segments, largest_group_bytes
from barnabas.storage.config import LogConfig
from barnabas.storage.log_trim import SegmentView

NOW = 1_000_000
CONFIG = LogConfig(cleanup_policy=("compact",))


def views(*sizes: int, offsets_each: int = 10, timestamp: int = NOW) -> list[SegmentView]:
    return [
        SegmentView(
            base_offset=i * offsets_each,
            next_base_offset=(i + 1) * offsets_each,
            directory="/logs/t-0",
            path=f"/logs/t-0/{i}.log",
            size_bytes=size,
            largest_timestamp=timestamp,
            modified_ms=timestamp,
        )
        for i, size in enumerate(sizes)
    ]


def judged(
    segments: list[SegmentView], config: LogConfig = CONFIG, *, dirty_from: int = 0
) -> Assessment | None:
    return assess(
        segments,
        first_dirty_offset=dirty_from,
        first_timestamp=lambda view: view.largest_timestamp,
        config=config,
        now_ms=NOW,
    )


@pytest.mark.parametrize(
    ("dirty_from", "clean", "dirty"), [(0, 0, 600), (10, 100, 500), (15, 100, 500), (20, 300, 300)]
)
def test_bytes_count_as_clean_below_the_checkpoint(dirty_from: int, clean: int, dirty: int) -> None:
    found = judged(views(100, 200, 300), dirty_from=dirty_from)

    assert found is not None
    assert (found.clean_bytes, found.dirty_bytes) == (clean, dirty)
    assert found.dirty_ratio == dirty / 600
    assert found.upper_bound == 30
    assert found.is_due(found.dirty_ratio - 0.01)
    assert not found.is_due(found.dirty_ratio)


def test_nothing_dirty_is_nothing_to_do() -> None:
    assert judged([]) is None
    assert judged(views(100, 100), dirty_from=20) is None


def test_an_empty_log_is_never_due() -> None:
    found = judged(views(0, 0))

    assert found is not None
    assert found.dirty_ratio == 0
    assert not found.is_due(0.0)


def test_a_segment_younger_than_the_least_lag_ends_the_part_to_compact() -> None:
    old, young, older = views(100, 100, 100)
    segments = [
        replace(old, largest_timestamp=NOW - 500),
        replace(young, largest_timestamp=NOW - 499),
        replace(older, largest_timestamp=NOW - 900),
    ]

    found = judged(segments, replace(CONFIG, min_compaction_lag_ms=500))

    assert found is not None
    assert found.segments == (segments[0],)
    assert found.upper_bound == 10
    assert judged(segments, replace(CONFIG, min_compaction_lag_ms=501)) is None
    clean = judged(segments, replace(CONFIG, min_compaction_lag_ms=500), dirty_from=20)
    assert clean is not None, "clean segments may be as young as they like"
    assert clean.segments == tuple(segments)


def test_a_record_older_than_the_greatest_lag_makes_the_log_due_at_once() -> None:
    segments = views(1000, 10, timestamp=NOW - 501)
    lag = replace(CONFIG, max_compaction_lag_ms=500)

    overdue = judged(segments, lag, dirty_from=10)
    assert overdue is not None
    assert overdue.is_due(0.9)
    in_time = judged(segments, replace(CONFIG, max_compaction_lag_ms=501), dirty_from=10)
    assert in_time is not None
    assert not in_time.is_due(0.9)
    without_time = judged(views(10, timestamp=-1), lag)
    assert without_time is not None
    assert not without_time.is_overdue


def sizes(groups: list[tuple[SegmentView, ...]]) -> list[list[int]]:
    return [[view.size_bytes for view in group] for group in groups]


def test_neighbours_are_grouped_up_to_the_limit() -> None:
    groups = group_segments(views(40, 30, 30, 1, 100, 0, 150, 0, 20), max_bytes=100)

    assert sizes(groups) == [[40, 30, 30], [1], [100, 0], [150], [0, 20]]
    assert group_segments([], max_bytes=100) == []


def test_a_group_never_spans_more_offsets_than_an_index_can_say() -> None:
    segments = views(1, 1, 1, offsets_each=1 << 30)

    assert sizes(group_segments(segments, max_bytes=100)) == [[1, 1], [1]]


def test_a_group_is_not_larger_than_a_segment_or_its_index() -> None:
    assert largest_group_bytes(replace(CONFIG, segment_bytes=5000)) == 5000
    small_index = replace(CONFIG, segment_index_bytes=800, index_interval_bytes=10)
    assert largest_group_bytes(small_index) == small_index.max_index_entries * 10
    assert largest_group_bytes(replace(CONFIG, segment_bytes=1 << 33)) <= 0x7FFF_FFFF
