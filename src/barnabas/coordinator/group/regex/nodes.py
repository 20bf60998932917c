"""The parts of a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
"""All that a topic's name can consist of: no other character needs to be told from another."""
ALL = frozenset(ALPHABET)
LETTERS = frozenset(c for c in ALPHABET if c.isalpha())
DIGITS = frozenset("0123456789")
WORD = frozenset(LETTERS | DIGITS | {"_"})


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing at all, which always matches."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The beginning of the name."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of the name."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place between a character of a word and one that is not, or its opposite."""

    negated: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`item` at least `least` and at most `most` times; None: any number."""

    item: Node
    least: int
    most: int | None


Node: TypeAlias = Chars | Empty | Begin | End | Boundary | Sequence | Either | Repeat
