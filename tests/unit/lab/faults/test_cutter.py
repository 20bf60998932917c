"""Frames are cut out of any stream; what nobody wants passes in pieces as it comes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.lab.faults.cutter import Cutter
from barnabas.protocol.errors import DecodeError


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


CONTENTS = st.lists(st.binary(max_size=40), max_size=8)


@given(contents=CONTENTS, cuts=st.lists(st.integers(1, 60)), data=st.data())
def test_nothing_is_lost_and_wanted_frames_come_whole(
    contents: list[bytes], cuts: list[int], data: st.DataObject
) -> None:
    frames = [framed(content) for content in contents]
    wanted = data.draw(st.lists(st.booleans(), min_size=len(frames), max_size=len(frames)))
    asked: list[bytes] = []

    def wants(head: bytes) -> bool:
        asked.append(head)
        return wanted[len(asked) - 1]

    cutter = Cutter(12, wants)
    stream, pieces = b"".join(frames), []
    for size in [*cuts, len(stream)]:
        pieces += list(cutter.feed(stream[:size]))
        stream = stream[size:]

    assert asked == [frame[:12] for frame in frames]
    assert b"".join(piece.data for piece in pieces) == b"".join(frames)
    assert [piece.data for piece in pieces if piece.is_whole] == [
        frame for frame, is_wanted in zip(frames, wanted, strict=True) if is_wanted
    ]


def test_an_unwanted_frame_is_not_kept_until_it_is_whole() -> None:
    cutter = Cutter(8, lambda head: False)

    assert [piece.data for piece in cutter.feed(framed(bytes(1000))[:500])] == [
        framed(bytes(1000))[:500]
    ]


def test_a_negative_length_is_no_frame() -> None:
    with pytest.raises(DecodeError):
        list(Cutter(8, lambda head: True).feed(b"\xff\xff\xff\xff"))
