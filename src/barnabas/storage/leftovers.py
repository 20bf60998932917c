"""What a crash may leave in a partition directory, and how it is cleared up when the log opens.

Compaction replaces segments in three steps: `.cleaned` files are written and made durable, renamed
to `.swap`, and, when the segments they replace are out of the way, renamed to their final names.
A `.cleaned` file counts for nothing; with all `.swap` files there the replacement is finished.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.storage.segment_files import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_SUFFIXES,
    SWAP,
    parse_offset,
    scan_headers,
)

if TYPE_CHECKING:
    from barnabas.storage.fs import FilePool

TEMPORARY = ".tmp"
_logger = logging.getLogger(__name__)


def finish_swaps(pool: FilePool, directory: str, names: list[str]) -> set[str]:
    """Remove temporary files, finish or undo replacements; the names that are there then."""
    present = set(names)

    def remove(name: str) -> None:
        pool.remove(f"{directory}/{name}")
        present.discard(name)

    leftovers = [name for name in names if name.endswith((DELETED, CLEANED, SWAP, TEMPORARY))]
    if not leftovers:
        return present
    cleaned_bases = [base for name in leftovers if (base := _base_of(name, CLEANED)) is not None]
    oldest_cleaned = min(cleaned_bases, default=None)
    swaps: list[str] = []
    for name in leftovers:
        base = _base_of(name, SWAP)
        if base is not None and (oldest_cleaned is None or base < oldest_cleaned):
            swaps.append(name)
        else:
            remove(name)
    replaced: list[tuple[int, int]] = []
    for name in swaps:
        base = parse_offset(name, LOG + SWAP)
        if base is not None:
            replaced.append((base, _end_of(pool, f"{directory}/{name}", base)))
    low = min((start for start, _ in replaced), default=0)
    high = max((end for _, end in replaced), default=0)
    for name in sorted(present):
        for kind in SEGMENT_SUFFIXES:
            base = parse_offset(name, kind)
            if base is not None and low <= base < high:
                _logger.info("%s/%s was compacted: removed.", directory, name)
                remove(name)
    for name in swaps:
        final = name[: -len(SWAP)]
        pool.rename(f"{directory}/{name}", f"{directory}/{final}")
        present.discard(name)
        present.add(final)
    return present


def _base_of(name: str, last_suffix: str) -> int | None:
    """The base offset of a segment's file that has one more suffix."""
    for kind in SEGMENT_SUFFIXES:
        base = parse_offset(name, kind + last_suffix)
        if base is not None:
            return base
    return None


def _end_of(pool: FilePool, path: str, base_offset: int) -> int:
    """The offset after the last batch of a segment that compaction wrote."""
    end = base_offset
    with pool.open_private(path) as file:
        for _, header in scan_headers(file, 0, file.size):
            end = header.next_offset
    return end
