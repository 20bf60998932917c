"""Which messages a rule strikes, and what becomes of them.  Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.protocol.apis import APIS, ApiKey

if TYPE_CHECKING:
    from barnabas.lab.faults.conditions import Condition
    from barnabas.lab.faults.passing import Direction, Passing
    from barnabas.lab.faults.traffic import Traffic

_KEYS = {api.name.lower(): api.key for api in APIS.values()}


def api_key(name: str) -> ApiKey:
    """The API of a name as the protocol spells it, in upper or lower case: `Produce`."""
    try:
        return _KEYS[name.lower()]
    except KeyError:
        raise ValueError(f"there is no API called {name}; Produce, Fetch, ... are") from None


class Action(enum.Enum):
    """What becomes of a message."""

    DROP = "drop"
    """Lost, and its connection with it."""
    SWALLOW = "swallow"
    """Lost, and its connection goes on."""
    DELAY = "delay"
    DUPLICATE = "duplicate"
    REORDER = "reorder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Which messages; what is None does not matter."""

    direction: Direction = "request"
    api: ApiKey | None = None
    topic: str | None = None
    partition: int | None = None
    client: str | None = None
    broker: int | None = None
    acknowledges: bool = False
    """Only answers to Produce that acknowledge the partition, or one of the topic's."""

    def may_match(self, direction: Direction, key: int, broker: int) -> bool:
        """Whether it is worth to look into a message of which no more is known."""
        return (
            direction == self.direction
            and self.api in (None, key)
            and self.broker in (None, broker)
        )

    def matches(self, passing: Passing) -> bool:
        """DecodeError if the message must be looked into and makes no sense."""
        if not self.may_match(passing.direction, passing.api.key, passing.broker):
            return False
        if self.client not in (None, passing.client):
            return False
        if self.topic is not None and not self._names_partition(passing):
            return False
        return not self.acknowledges or self._is_acknowledged(passing)

    def _names_partition(self, passing: Passing) -> bool:
        return any(
            topic == self.topic and self.partition in (None, partition)
            for topic, partition in passing.places
        )

    def _is_acknowledged(self, passing: Passing) -> bool:
        return any(
            topic.name == self.topic
            and self.partition in (None, partition.index)
            and not partition.error_code
            for topic in passing.message.responses
            for partition in topic.partition_responses
        )

    def __str__(self) -> str:
        what = "messages" if self.api is None else APIS[self.api].name
        words = [f"{what} {self.direction}s" if self.direction == "response" else what]
        if self.topic is not None:
            number = "" if self.partition is None else f"-{self.partition}"
            words.append(f"of {self.topic}{number}")
        if self.client is not None:
            words.append(f"of client {self.client}")
        if self.broker is not None:
            words.append(f"at broker {self.broker}")
        return " ".join(words)


@dataclass(slots=True, kw_only=True)
class Rule:
    """A match, what to do, and how often.  Of the relays' thread."""

    match: Match
    action: Action
    seconds: float = 0.0
    when: Condition | None = None
    left: int | None = None
    """How often it may still strike; None: always."""
    struck: int = field(default=0, init=False)

    def strikes(self, passing: Passing, traffic: Traffic) -> bool:
        """Whether it strikes this message; if it does, it has."""
        if self.left == 0 or not self.match.matches(passing):
            return False
        if self.when is not None and not self.when.holds(traffic):
            return False
        self.struck += 1
        if self.left is not None:
            self.left -= 1
        return True
