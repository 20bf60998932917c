"""The records every client library sends and must get back byte for byte."""

from __future__ import annotations

import random
from typing import NamedTuple

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = [0, 1, "all"]


class Sent(NamedTuple):
    """One record as a client sees it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


def sample_records(seed: int = 5) -> list[Sent]:
    """Every shape that matters: null, empty, 1 byte to 900 KB, text and noise, headers."""
    rng = random.Random(seed)
    at = 1_700_000_000_000
    shapes: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (None, None, ()),
        (None, b"", ()),
        (b"", None, ()),
        (b"k", b"v", ()),
        (b"key", "snowman \N{SNOWMAN}".encode(), (("h", b"1"),)),
        (b"\x00\xff" * 40, bytes(range(256)), (("a", b""), ("a", None), ("b", b"\x00" * 300))),
        (b"one byte", b"x", ()),
    ]
    shapes += [(b"text", b"barnabas " * n, ()) for n in (10, 1_000, 10_000)]
    shapes += [(b"noise", rng.randbytes(n), (("n", str(n).encode()),)) for n in (17, 5_000, 60_000)]
    shapes.append((b"large", rng.randbytes(300_000) + bytes(600_000), ()))
    return [Sent(*shape, at + 1000 * n) for n, shape in enumerate(shapes)]
