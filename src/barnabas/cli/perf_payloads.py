"""Values for the load tools to send.  Pure; chance is an argument."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count, cycle

ROOM_BYTES = 8 << 20
"""How much is drawn beforehand: more than any batch holds, so that none repeats itself, and no
codec finds more to compress than there is."""
_LETTERS = bytes(65 + number % 26 for number in range(256))


def random_letters(chance: random.Random, size: int) -> bytes:
    return chance.randbytes(size).translate(_LETTERS)


def letter_values(size: int, chance: random.Random) -> Iterator[bytes]:
    """Values of random letters, without end.  Drawing each by itself would be the bottleneck."""
    number = max(1, ROOM_BYTES // size)
    room = random_letters(chance, number * size)
    return cycle([room[at : at + size] for at in range(0, len(room), size)])


def chosen_values(values: Sequence[bytes], chance: random.Random) -> Iterator[bytes]:
    """Any of the given values, each time."""
    while True:
        yield from chance.choices(values, k=1000)


def numbers() -> Iterator[bytes]:
    """0, 1, 2, ... as text."""
    return (b"%d" % number for number in count())


def split_values(data: bytes, delimiter: bytes) -> list[bytes]:
    """The values of a file; what follows the last delimiter counts only if there is something."""
    values = data.split(delimiter) if delimiter else [data]
    if values and not values[-1]:
        values.pop()
    return values
