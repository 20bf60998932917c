"""What waits in a connection's out list: bytes, slices of files, and places for later answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.dispatch import Later

COPIED_BYTES_MAX = 32 * 1024
"""A slice of a file that is so short is read and sent with what is around it: the calls that
sendfile needs cost more than the copy."""
GATHERED_BYTES_MAX = 256 * 1024


class Slot:
    """The place of an answer in the out list."""

    __slots__ = ("later", "parts")

    def __init__(self, later: Later) -> None:
        self.later = later
        self.parts: list[Any] | None = None


def gather(out: list[Any], start: int) -> int:
    """Where the parts end that are sent with one call; small slices among them are read.

    OSError if a slice is longer than what is left of its file.
    """
    stop, size = start, 0
    while stop < len(out) and size < GATHERED_BYTES_MAX:
        part = out[stop]
        if type(part) is Slot:
            if part.parts is None:
                break
            out[stop : stop + 1] = part.parts
            continue
        if type(part) is not bytes:
            length = len(part)
            if length > COPIED_BYTES_MAX:
                break
            part = out[stop] = part.read()
            if len(part) < length:
                raise OSError(f"{length} bytes of a log were to be sent, it has {len(part)}")
        size += len(part)
        stop += 1
    return stop


def encoded_bytes(part: Any) -> int:
    """How much of the memory for answers it takes; slices of files take none."""
    if type(part) is Slot:
        return sum(map(encoded_bytes, part.parts or ()))
    return len(part) if type(part) is bytes else 0
