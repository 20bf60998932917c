from __future__ import annotations

from barnabas.broker.net.buffers import (
    FRAME_START_BYTES,
    POOLED_BUFFERS,
    RECEIVE_BYTES,
    REGIONS,
    FramePool,
    ReceiveBuffer,
)


def test_held_bytes_are_not_offered_again_until_released() -> None:
    buffer = ReceiveBuffer()
    first = buffer.target()
    assert first is not None
    first[:4] = b"held"
    buffer.offset = 4

    second = buffer.target()
    assert second is not None
    second[:4] = b"next"
    assert bytes(buffer.data[:8]) == b"heldnext"

    buffer.release()
    again = buffer.target()
    assert again is not None
    again[:4] = b"over"
    assert bytes(buffer.data[:4]) == b"over"


def test_a_full_buffer_offers_nothing() -> None:
    buffer = ReceiveBuffer()
    buffer.offset = RECEIVE_BYTES * (REGIONS - 1) + 1
    assert buffer.target() is None


def test_a_frame_grows_with_its_bytes_not_with_its_announced_length() -> None:
    announced = 100 * 1024 * 1024
    frame = FramePool().take(memoryview(b"\x06\x40\x00\x00abc"), announced)
    assert len(frame.data) == FRAME_START_BYTES

    while frame.filled < 300_000:
        frame.filled += len(frame.target())
    assert len(frame.data) < 2 * 300_000


def test_a_growing_frame_keeps_what_it_has() -> None:
    frame = FramePool().take(memoryview(b"0123"), 4 * FRAME_START_BYTES)
    written = b"0123"
    while frame.filled < frame.need:
        target = frame.target()
        chunk = bytes([len(written) % 251]) * min(1000, len(target))
        target[: len(chunk)] = chunk
        frame.filled += len(chunk)
        written += chunk
    assert bytes(frame.data[: frame.need]) == written


def test_a_retired_buffer_is_reused_only_after_release() -> None:
    pool = FramePool()
    frame = pool.take(memoryview(b"x" * (FRAME_START_BYTES + 1)), FRAME_START_BYTES * 2)
    pool.retire(frame)

    assert pool.take(memoryview(b"y"), FRAME_START_BYTES * 2).data is not frame.data
    pool.release()
    assert pool.take(memoryview(b"y"), FRAME_START_BYTES * 2).data is frame.data


def test_the_pool_is_bounded() -> None:
    pool = FramePool()
    for _ in range(POOLED_BUFFERS * 3):
        pool.retire(pool.take(memoryview(bytes(FRAME_START_BYTES + 1)), FRAME_START_BYTES + 1))
    pool.release()
    assert len(pool._free) == POOLED_BUFFERS
