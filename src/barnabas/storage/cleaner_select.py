"""Which log is to be compacted next, how much of it, and in which pieces.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.storage.index import MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log_trim import SegmentView

LARGEST_SEGMENT = 0x7FFF_FFFF
"""Positions in the offset index have 31 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What compaction would have to do in one log."""

    segments: tuple[SegmentView, ...]
    """All that may be compacted, clean ones first."""
    first_dirty_offset: int
    upper_bound: int
    """The offset where the part that may be compacted ends."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """A dirty record is older than `max.compaction.lag.ms`."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, min_ratio: float) -> bool:
        return self.dirty_bytes > 0 and (self.is_overdue or self.dirty_ratio > min_ratio)


def assess(
    views: Sequence[SegmentView],
    *,
    first_dirty_offset: int,
    first_timestamp: Callable[[SegmentView], int],
    config: LogConfig,
    now_ms: int,
) -> Assessment | None:
    """Look at the closed segments of a log; None if there is nothing to compact.

    `views` are those whose records are all replicated and decided.  `first_timestamp`: of the first
    batch in a segment, not positive if it has none.
    """
    is_dirty = [view.next_base_offset > first_dirty_offset for view in views]
    youngest_ms = now_ms - max(config.min_compaction_lag_ms, 0)
    count = len(views)
    if config.min_compaction_lag_ms > 0:
        for number, view in enumerate(views):
            if is_dirty[number] and view.largest_timestamp > youngest_ms:
                count = number
                break
    if count == 0 or not is_dirty[count - 1]:
        return None
    return Assessment(
        segments=tuple(views[:count]),
        first_dirty_offset=first_dirty_offset,
        upper_bound=views[count - 1].next_base_offset,
        clean_bytes=sum(
            v.size_bytes for v, d in zip(views[:count], is_dirty, strict=False) if not d
        ),
        dirty_bytes=sum(v.size_bytes for v, d in zip(views[:count], is_dirty, strict=False) if d),
        is_overdue=_is_overdue(
            [view for view, dirty in zip(views, is_dirty, strict=True) if dirty],
            first_timestamp,
            now_ms - config.max_compaction_lag_ms,
        ),
    )


def _is_overdue(
    dirty: Iterable[SegmentView], first_timestamp: Callable[[SegmentView], int], oldest_ms: int
) -> bool:
    return oldest_ms > 0 and any(0 < first_timestamp(view) < oldest_ms for view in dirty)


def group_segments(
    segments: Iterable[SegmentView], *, max_bytes: int
) -> list[tuple[SegmentView, ...]]:
    """Runs of neighbours that are compacted into one segment each, however little is left of them.

    Together they are not larger than `max_bytes`, and no offset is further from the first than an
    index can say.
    """
    groups: list[tuple[SegmentView, ...]] = []
    group: list[SegmentView] = []
    size = 0
    for view in segments:
        fits = (
            size + view.size_bytes <= max_bytes
            and bool(group)
            and view.next_base_offset - 1 - group[0].base_offset <= MAX_RELATIVE_OFFSET
        )
        if group and not fits:
            groups.append(tuple(group))
            group, size = [], 0
        group.append(view)
        size += view.size_bytes
    if group:
        groups.append(tuple(group))
    return groups


def largest_group_bytes(config: LogConfig) -> int:
    """What a segment may hold by its own size and by the size of its indexes."""
    return min(
        config.segment_bytes,
        config.max_index_entries * config.index_interval_bytes,
        LARGEST_SEGMENT,
    )
