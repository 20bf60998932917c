"""Memory that sockets receive into.

All connections share one large buffer: bytes are parsed where they arrived, and record batches are
written to disk from there without a copy.  Only an incomplete frame moves to a buffer of its own.
Loop thread only.
"""

from __future__ import annotations

KIB = 1024

RECEIVE_BYTES = 256 * KIB
"""What one read may bring; fewer, larger reads are cheaper."""
REGIONS = 4
FRAME_START_BYTES = 64 * KIB
"""An incomplete frame gets this much at first and doubles as its bytes really arrive: a length
prefix alone, however large, costs a client's victim nothing."""
POOLED_BUFFERS = 4
POOLED_BYTES_MAX = 4 * 1024 * KIB


class ReceiveBuffer:
    """The shared buffer.  Bytes before `offset` are those that queued batches refer to, until
    `release`.
    """

    __slots__ = ("data", "first", "offset", "view")

    def __init__(self) -> None:
        self.data = bytearray(RECEIVE_BYTES * REGIONS)
        self.view = memoryview(self.data)
        self.offset = 0
        self.first = self.view[:RECEIVE_BYTES]
        """The usual target: where nothing is held."""

    def target(self) -> memoryview | None:
        """Where the next read goes; None when everything is held and logs must be written first."""
        offset = self.offset
        if offset == 0:
            return self.first
        if offset > RECEIVE_BYTES * (REGIONS - 1):
            return None
        return self.view[offset : offset + RECEIVE_BYTES]

    def release(self) -> None:
        self.offset = 0


class FrameBuffer:
    """One incomplete frame of one connection, length prefix included.

    `need` is 4 until the prefix is complete, then the size of the whole frame.
    """

    __slots__ = ("data", "filled", "need")

    def __init__(self, data: bytearray, start: memoryview, need: int) -> None:
        self.data = data
        self.need = need
        self.filled = len(start)
        data[: self.filled] = start

    def target(self) -> memoryview:
        """Where the rest of the frame goes: never beyond it, the next frame is parsed in place."""
        if self.filled == len(self.data):
            grown = bytearray(min(2 * self.filled, max(self.need, FRAME_START_BYTES)))
            grown[: self.filled] = self.data
            self.data = grown
        return memoryview(self.data)[self.filled : self.need]


class FramePool:
    """Keeps a few frame buffers for reuse: fresh pages cost more than copying into warm ones.

    A frame whose batches wait to be written is `retired`, and reusable only after `release`.
    """

    __slots__ = ("_free", "_retired")

    def __init__(self) -> None:
        self._free: list[bytearray] = []
        self._retired: list[bytearray] = []

    def take(self, start: memoryview, need: int) -> FrameBuffer:
        if need > FRAME_START_BYTES:
            largest = max(self._free, key=len, default=b"")
            if isinstance(largest, bytearray) and len(largest) >= len(start):
                self._free.remove(largest)
                return FrameBuffer(largest, start, need)
        return FrameBuffer(bytearray(max(min(need, FRAME_START_BYTES), len(start))), start, need)

    def retire(self, frame: FrameBuffer) -> None:
        if FRAME_START_BYTES < len(frame.data) <= POOLED_BYTES_MAX:
            self._retired.append(frame.data)

    def release(self) -> None:
        if self._retired:
            room = POOLED_BUFFERS - len(self._free)
            self._free.extend(self._retired[:room])
            self._retired.clear()
