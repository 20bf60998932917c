"""Which partitions are meant by `--topic`, `--partitions` and `--topic-partitions`.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.options import INT_MAX, UsageError
from barnabas.cli.places import partition_name
from barnabas.cli.topic_rows import topic_regex

if TYPE_CHECKING:
    from barnabas.client.partition_admin import Place

RULE = re.compile(r"(?P<topic>[^:,]*)(?::(?:(?P<one>\d*)|(?P<low>\d*)-(?P<high>\d*)))?")
EVERY_TOPIC = ".*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Partitions of the topics that an expression matches as a whole."""

    topic: re.Pattern[str]
    numbers: Sequence[range] = (range(INT_MAX),)

    def allows(self, place: Place) -> bool:
        topic, number = place
        return self.topic.fullmatch(topic) is not None and any(
            number in each for each in self.numbers
        )


def rules(*, topic: str | None, partitions: str | None, topic_partitions: str | None) -> list[Rule]:
    """A partition is meant if any of the rules allows it."""
    if topic_partitions is not None:
        return [_parse(text) for text in topic_partitions.split(",")]
    pattern = topic_regex("topic", EVERY_TOPIC if topic is None else topic)
    if not partitions:
        return [Rule(topic=pattern)]
    return [Rule(topic=pattern, numbers=_numbers(partitions))]


def chosen(places: Iterable[Place], allowed: Sequence[Rule]) -> list[Place]:
    """Those that are meant, in the order in which Apache Kafka's tool lists them: by name."""
    meant = [place for place in places if any(rule.allows(place) for rule in allowed)]
    return sorted(meant, key=partition_name)


def _parse(text: str) -> Rule:
    found = RULE.fullmatch(text)
    if found is None:
        raise UsageError(
            f'--topic-partitions: "{text}" is not of the form topic:2, topic:0-3, topic:5-, '
            "topic:-3 or topic"
        )
    topic = topic_regex("topic-partitions", found["topic"] or EVERY_TOPIC)
    if found["one"]:
        number = int(found["one"])
        return Rule(topic=topic, numbers=(range(number, number + 1),))
    low, high = found["low"] or "0", found["high"] or str(INT_MAX)
    return Rule(topic=topic, numbers=(range(int(low), int(high)),))


def _numbers(text: str) -> tuple[range, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f'--partitions: "{text}" is not a list of partition numbers like 0,1,2')
    return tuple(range(int(part), int(part) + 1) for part in parts)
