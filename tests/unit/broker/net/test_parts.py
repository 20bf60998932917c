"""What is sent with one call: answers that are there, and short slices of files among them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.dispatch import Later
from barnabas.broker.net.parts import (
    COPIED_BYTES_MAX,
    GATHERED_BYTES_MAX,
    Slot,
    encoded_bytes,
    gather,
)
from barnabas.storage.fs import File, FilePool, FileSlice


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    (tmp_path / "log").write_bytes(bytes(range(256)) * 1024)
    pool = FilePool()
    yield File(pool, str(tmp_path / "log"), size=256 * 1024)
    pool.close()


def slot(*parts: Any) -> Slot:
    made = Slot(Later())
    made.parts = list(parts)
    return made


def test_answers_and_short_slices_go_together(file: File) -> None:
    out: list[Any] = [b"head", FileSlice(file, 10, 4), b"tail", slot(b"one", b"two"), b"end"]

    stop = gather(out, 0)

    assert b"".join(out[:stop]) == b"head" + bytes(range(10, 14)) + b"tailonetwoend"
    assert stop == len(out) == 6


def test_what_is_not_known_yet_and_long_slices_end_it(file: File) -> None:
    unknown = Slot(Later())
    long = FileSlice(file, 0, COPIED_BYTES_MAX + 1)

    assert gather([b"a", unknown, b"b"], 0) == 1
    assert gather([b"a", long, b"b"], 0) == 1
    assert gather([b"a", b"b", slot(long)], 1) == 2


def test_no_more_is_gathered_than_fits(file: File) -> None:
    whole = FileSlice(file, 0, COPIED_BYTES_MAX)

    assert gather([whole] * 20, 0) == GATHERED_BYTES_MAX // COPIED_BYTES_MAX


def test_a_slice_that_its_file_does_not_have_any_more_is_not_sent_in_part(file: File) -> None:
    with pytest.raises(OSError, match="8 bytes of a log"):
        gather([b"head", FileSlice(file, 256 * 1024 - 5, 8)], 0)


def test_only_encoded_answers_take_memory(file: File) -> None:
    out = [b"abc", FileSlice(file, 0, 100), slot(b"de", FileSlice(file, 0, 9)), Slot(Later())]

    assert [encoded_bytes(part) for part in out] == [3, 0, 2, 0]
