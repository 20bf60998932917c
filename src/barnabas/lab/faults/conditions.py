"""Moments, told by what has passed through the relays.  Pure.

    (acked("orders", 2) >= 1000) & (replicated("orders", 2, follower=3) < 900)

The relay asks a condition about every frame that changes a number, before it hands that frame on:
a moment is exact, and the same in every run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.faults.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds or not.  Put together with `&`, `|` and `~`, each side in parentheses."""

    text: str
    holds: Callable[[Traffic], bool]
    topics: frozenset[str] = frozenset()
    """Those that it is about."""

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.text} and {other.text})",
            lambda traffic: self.holds(traffic) and other.holds(traffic),
            self.topics | other.topics,
        )

    def __or__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.text} or {other.text})",
            lambda traffic: self.holds(traffic) or other.holds(traffic),
            self.topics | other.topics,
        )

    def __invert__(self) -> Condition:
        return Condition(f"not {self.text}", lambda traffic: not self.holds(traffic), self.topics)

    def __bool__(self) -> bool:
        raise TypeError("a condition is asked by the relays: use & and |, not `and` and `or`")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that grows; compared with another it is a `Condition`."""

    text: str
    value: Callable[[Traffic], int]
    topics: frozenset[str] = frozenset()

    def __ge__(self, number: int) -> Condition:
        return self._compared(">=", number, operator.ge)

    def __gt__(self, number: int) -> Condition:
        return self._compared(">", number, operator.gt)

    def __le__(self, number: int) -> Condition:
        return self._compared("<=", number, operator.le)

    def __lt__(self, number: int) -> Condition:
        return self._compared("<", number, operator.lt)

    def _compared(self, sign: str, number: int, compare: Callable[[int, int], bool]) -> Condition:
        return Condition(
            f"{self.text} {sign} {number}",
            lambda traffic: compare(self.value(traffic), number),
            self.topics,
        )


def sent(topic: str, partition: int | None = None) -> Amount:
    """Records that producers have sent to a partition, or to all of a topic, repeats included."""
    return Amount(
        _named("sent", topic, partition),
        lambda traffic: traffic.total(traffic.sent, topic, partition),
        frozenset((topic,)),
    )


def acked(topic: str, partition: int | None = None) -> Amount:
    """Records that leaders have acknowledged; with acks=0 nobody ever does."""
    return Amount(
        _named("acked", topic, partition),
        lambda traffic: traffic.total(traffic.acked, topic, partition),
        frozenset((topic,)),
    )


def refused(topic: str, partition: int | None = None) -> Amount:
    """Records that leaders have answered with an error."""
    return Amount(
        _named("refused", topic, partition),
        lambda traffic: traffic.total(traffic.refused, topic, partition),
        frozenset((topic,)),
    )


def replicated(topic: str, partition: int, follower: int | None = None) -> Amount:
    """The end of a follower's log as its leader knows it; without `follower`, of the last one.

    Nobody who never fetched counts; while nobody has, it is 0.
    """

    def value(traffic: Traffic) -> int:
        if follower is not None:
            return traffic.positions.get((topic, partition, follower), 0)
        known = [
            offset
            for (name, number, _), offset in traffic.positions.items()
            if (name, number) == (topic, partition)
        ]
        return min(known, default=0)

    who = "" if follower is None else f" at {follower}"
    return Amount(_named("replicated", topic, partition) + who, value, frozenset((topic,)))


def committed(group: str, topic: str, partition: int) -> Amount:
    """The offset that a group has committed last; 0 before the first commit."""
    return Amount(
        _named(f"committed by {group}", topic, partition),
        lambda traffic: traffic.committed.get((group, topic, partition), 0),
        frozenset((topic,)),
    )


def requests(api: str, broker: int | None = None) -> Amount:
    """Requests of an API, by its name in the protocol (`Produce`), to a broker or to all."""

    def value(traffic: Traffic) -> int:
        if broker is not None:
            return traffic.requests[api, broker]
        return sum(count for (name, _), count in traffic.requests.items() if name == api)

    return Amount(f"{api} requests" + ("" if broker is None else f" to {broker}"), value)


def _named(what: str, topic: str, partition: int | None) -> str:
    return f"{what} {topic}" if partition is None else f"{what} {topic}-{partition}"
