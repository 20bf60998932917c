"""Partitions and brokers as command lines and lines name them.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

from barnabas.cli.options import INT_MAX, UsageError

if TYPE_CHECKING:
    from barnabas.client.partition_admin import Place

Key = TypeVar("Key", bound=Hashable)


def partition_name(place: Place) -> str:
    topic, number = place
    return f"{topic}-{number}"


def broker_ids(text: str) -> list[int]:
    """Of a `--broker-list` that has ids, not addresses; as typed, be they there twice or not."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) <= INT_MAX for part in parts):
        raise UsageError(f'--broker-list: "{text}" is not a list of broker ids like 1,2,3')
    return [int(part) for part in parts]


def duplicates(keys: Iterable[Key]) -> list[Key]:
    """What is there more than once, in the order of its first time."""
    return [key for key, count in Counter(keys).items() if count > 1]
