"""Which partitions a message names, whatever its API.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.protocol.message import Struct

if TYPE_CHECKING:
    from barnabas.lab.faults.traffic import Place

ANY = -1
"""In place of a partition: the topic is named, and none of its partitions."""

NUMBER_FIELDS = ("partition", "partition_index", "index")
NUMBERS_FIELDS = ("partitions", "partition_indexes")


def places_in(message: Struct, names: Mapping[bytes, str]) -> frozenset[Place]:
    """Every topic with each partition of it that stands in the message.

    `names`: of topics by their id.  A topic of an id that is not known is left out.
    """
    return frozenset(_walk(message, None, names))


def _walk(struct: Struct, topic: str | None, names: Mapping[bytes, str]) -> Iterator[Place]:
    own = _topic_of(struct, names)
    if own is not None:
        topic = own
        yield topic, ANY
    fields = type(struct).field_defaults
    if topic is not None:
        for name in NUMBER_FIELDS:
            if name in fields:
                yield topic, getattr(struct, name)
    for name in fields:
        value = getattr(struct, name)
        if isinstance(value, Struct):
            yield from _walk(value, topic, names)
        elif isinstance(value, list) and value:
            if isinstance(value[0], Struct):
                for each in value:
                    yield from _walk(each, topic, names)
            elif topic is not None and name in NUMBERS_FIELDS:
                yield from ((topic, number) for number in value)


def _topic_of(struct: Struct, names: Mapping[bytes, str]) -> str | None:
    """Many structures have a name; that of a topic says so in the name of its class."""
    fields = type(struct).field_defaults
    for name in ("topic", "topic_name", "name"):
        if name in fields and (name != "name" or "Topic" in type(struct).__name__):
            found = getattr(struct, name)
            if isinstance(found, str) and found:
                return found
    return names.get(struct.topic_id) if "topic_id" in fields else None  # type: ignore[attr-defined]
