"""Checkpoint files: text, a version line, a count line, then as many lines as it says.

A log directory has four, each with a line `topic partition offset` for every partition:
`recovery-point-offset-checkpoint` (all below is on the disk), `replication-offset-checkpoint`
(high watermark), `log-start-offset-checkpoint` (where DeleteRecords moved the start to) and
`cleaner-offset-checkpoint` (all below is compacted).  A file that is missing or damaged reads as
empty: each has a safe default.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from barnabas.storage.fs import FilePool

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"

Partition = tuple[str, int]
"""Topic name and partition number."""

_VERSION = "0"
_logger = logging.getLogger(__name__)


def encode_lines(lines: Sequence[str]) -> bytes:
    return "\n".join((_VERSION, str(len(lines)), *lines, "")).encode()


def decode_lines(data: bytes) -> list[str] | None:
    """The lines after version and count, or None if the file is not whole."""
    try:
        version, count, *lines = data.decode().splitlines()
    except ValueError:  # too few lines, or not text
        return None
    if version.strip() != _VERSION or not count.strip().isdecimal():
        return None
    lines = [line for line in lines if line.strip()]
    return lines if len(lines) == int(count) else None


def encode_offsets(offsets: Mapping[Partition, int]) -> bytes:
    return encode_lines(
        [f"{topic} {number} {offset}" for (topic, number), offset in offsets.items()]
    )


def decode_offsets(data: bytes) -> dict[Partition, int] | None:
    lines = decode_lines(data)
    if lines is None:
        return None
    offsets: dict[Partition, int] = {}
    for line in lines:
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdecimal() or not fields[2].isdecimal():
            return None
        offsets[fields[0], int(fields[1])] = int(fields[2])
    return offsets


def read_offsets(pool: FilePool, path: str) -> dict[Partition, int]:
    """The offsets of a checkpoint; empty if there is none or it is damaged."""
    data = pool.read_bytes(path)
    if data is None:
        return {}
    offsets = decode_offsets(data)
    if offsets is None:
        _logger.warning("Checkpoint %s is damaged: starting without it.", path)
        return {}
    return offsets


def write_offsets(
    pool: FilePool, path: str, offsets: Mapping[Partition, int], *, sync: bool = True
) -> None:
    pool.write_atomically(path, encode_offsets(offsets), sync=sync)
