"""The segments of a log, in order; the last one is active."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.storage.segment import Segment


class Segments:
    """Never empty once a log is open."""

    __slots__ = ("_bases", "_segments", "active")

    active: Segment

    def __init__(self, segments: list[Segment]) -> None:
        assert segments, "a log has at least one segment"
        self._segments = segments
        self._refresh()

    def _refresh(self) -> None:
        self._bases = [segment.base_offset for segment in self._segments]
        self.active = self._segments[-1]
        for segment in self._segments[:-1]:
            segment.is_closed = True
        if self.active.is_closed:
            self.active.reopen()

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, number: int) -> Segment:
        return self._segments[number]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def number_at(self, offset: int) -> int:
        """Which segment holds `offset`; -1 if all begin after it."""
        return bisect_right(self._bases, offset) - 1

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset`, or would, and all after it."""
        return self._segments[max(0, self.number_at(offset)) :]

    def next_base(self, segment: Segment, end_offset: int) -> int:
        """Where the next segment begins; the end of the log for the last."""
        following = bisect_right(self._bases, segment.base_offset)
        return self._bases[following] if following < len(self._bases) else end_offset

    def append(self, segment: Segment) -> None:
        """`segment` becomes the active one."""
        assert segment.base_offset > self.active.base_offset, "segments must not overlap"
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active.is_closed = True
        self.active = segment

    def remove(self, doomed: list[Segment]) -> None:
        gone = {id(segment) for segment in doomed}
        self._segments = [segment for segment in self._segments if id(segment) not in gone]
        assert self._segments, "a log has at least one segment"
        self._refresh()

    def replace(self, old: list[Segment], new: list[Segment]) -> None:
        """Put `new` where `old`, a run of segments, was."""
        at = bisect_left(self._bases, old[0].base_offset)
        assert self._segments[at : at + len(old)] == old, "not a run of this log's segments"
        self._segments[at : at + len(old)] = new
        assert self._segments, "a log has at least one segment"
        self._refresh()
