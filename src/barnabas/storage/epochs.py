"""Which leader epoch began at which offset: `leader-epoch-checkpoint`.

The file is a checkpoint (see checkpoint.py) with a line `epoch start_offset` for each epoch that
appended something, oldest first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter

from barnabas.storage.checkpoint import decode_lines, encode_lines

NO_EPOCH = -1
NO_OFFSET = -1

_epoch = itemgetter(0)
_start = itemgetter(1)


class EpochCache:
    """Epochs of one log, growing in epoch and in start offset.  Pure; `dirty` says "save me"."""

    __slots__ = ("_entries", "dirty", "latest")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []
        self.latest = NO_EPOCH
        self.dirty = False

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` appends from `start_offset` on.  An epoch that began before changes nothing."""
        if epoch < 0 or (epoch <= self.latest and self._find(epoch) is not None):
            return
        while self._entries and (
            self._entries[-1][0] >= epoch or self._entries[-1][1] >= start_offset
        ):
            self._entries.pop()  # an epoch that appended nothing that is still there
        self._entries.append((epoch, start_offset))
        self._changed()

    def end_of(self, epoch: int, end_offset: int) -> tuple[int, int]:
        """(largest epoch not above `epoch` that we know, where it ended).

        For an epoch above all that we know, and for an unknown log, (-1, -1).
        """
        if epoch < 0 or epoch > self.latest:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, end_offset
        following = bisect_right(self._entries, epoch, key=_epoch)
        if following == 0:  # older than the oldest: it can have nothing at or after its start
            return epoch, self._entries[0][1]
        return self._entries[following - 1][0], self._entries[following][1]

    def epoch_at(self, offset: int) -> int:
        """The epoch that appended `offset`; -1 if that is not known."""
        at = bisect_right(self._entries, offset, key=_start)
        return self._entries[at - 1][0] if at else NO_EPOCH

    def cut_end(self, end_offset: int) -> None:
        """The log now ends at `end_offset`."""
        count = bisect_left(self._entries, end_offset, key=_start)
        if count < len(self._entries):
            del self._entries[count:]
            self._changed()

    def cut_start(self, start_offset: int) -> None:
        """The log now begins at `start_offset`."""
        below = bisect_right(self._entries, start_offset, key=_start)
        if below and (below > 1 or self._entries[0][1] < start_offset):
            self._entries[:below] = [(self._entries[below - 1][0], start_offset)]
            self._changed()

    def clear(self) -> None:
        if self._entries:
            self._entries.clear()
            self._changed()

    def restore(self, entries: list[tuple[int, int]]) -> None:
        """Go back to what `entries` said before an append that failed."""
        self._entries = list(entries)
        self._changed()

    def _find(self, epoch: int) -> int | None:
        at = bisect_left(self._entries, epoch, key=_epoch)
        found = at < len(self._entries) and self._entries[at][0] == epoch
        return self._entries[at][1] if found else None

    def _changed(self) -> None:
        self.latest = self._entries[-1][0] if self._entries else NO_EPOCH
        self.dirty = True

    def encode(self) -> bytes:
        return encode_lines([f"{epoch} {start}" for epoch, start in self._entries])

    @classmethod
    def decode(cls, data: bytes) -> EpochCache | None:
        """The cache from its file, or None if the file is damaged."""
        lines = decode_lines(data)
        if lines is None:
            return None
        cache = cls()
        for line in lines:
            fields = line.split()
            if len(fields) != 2 or not all(field.isdecimal() for field in fields):
                return None
            entry = int(fields[0]), int(fields[1])
            if cache._entries and (
                entry[0] <= cache._entries[-1][0] or entry[1] < cache._entries[-1][1]
            ):
                return None
            cache._entries.append(entry)
        cache.latest = cache._entries[-1][0] if cache._entries else NO_EPOCH
        return cache
