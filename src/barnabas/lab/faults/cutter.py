"""Cuts a stream of bytes into frames; of those that nobody looks into no byte is kept.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError

_LENGTH = Struct(">i")


class Piece(NamedTuple):
    data: bytes
    is_whole: bool
    """A frame from its length to its end that somebody wanted; else some bytes of one that nobody
    did."""


class Cutter:
    """Of one direction of one connection.

    `wanted` is asked once about each frame, with its first `head_bytes` bytes, the length included
    (fewer if the frame is shorter).  DecodeError when what comes cannot be a frame.
    """

    __slots__ = ("_head_bytes", "_pending", "_unwanted", "_wanted", "_whole")

    def __init__(self, head_bytes: int, wanted: Callable[[bytes], bool]) -> None:
        self._head_bytes = head_bytes
        self._wanted = wanted
        self._pending = bytearray()
        self._unwanted = 0
        """How many bytes of an unwanted frame are still to come."""
        self._whole = 0
        """The size of the wanted frame that `_pending` begins with; 0: nobody was asked yet."""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Take all pieces before feeding again."""
        pending = self._pending
        pending += data
        while pending:
            if self._unwanted:
                piece = bytes(pending[: self._unwanted])
                del pending[: len(piece)]
                self._unwanted -= len(piece)
                yield Piece(piece, False)
            elif self._whole:
                if len(pending) < self._whole:
                    return
                frame = bytes(pending[: self._whole])
                del pending[: self._whole]
                self._whole = 0
                yield Piece(frame, True)
            elif not self._begin():
                return

    def _begin(self) -> bool:
        """Ask about the next frame; False if too little of it is there."""
        pending = self._pending
        if len(pending) < _LENGTH.size:
            return False
        (length,) = _LENGTH.unpack_from(pending)
        if length < 0:
            raise DecodeError(f"a frame of {length} bytes")
        size = _LENGTH.size + length
        head = min(size, self._head_bytes)
        if len(pending) < head:
            return False
        if self._wanted(bytes(pending[:head])):
            self._whole = size
        else:
            self._unwanted = size
        return True
