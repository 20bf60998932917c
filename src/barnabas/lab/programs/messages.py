"""Records as plain values: what the library hands out may lack everything, say its types."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from confluent_kafka import Message


class Taken(NamedTuple):
    """One record that a consumer was given."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def taken(message: Message) -> Taken:
    """Of a message that is no error: such a one came from somewhere."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Taken(topic, partition, offset, _bytes(message.key()), _bytes(message.value()))


def _bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
