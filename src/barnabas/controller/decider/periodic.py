"""What the controller does by itself from time to time.

Nobody asks for it, so nobody gets an answer; the records count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import Ballot, Elections, Wish, reconsider
from barnabas.protocol.messages.elect_leaders import ElectLeadersResponse

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

ELECTIONS_MAX = 1000
"""In one decision: more would keep everybody else waiting.  The rest follows on the next tick."""


def decide_preferred(image: ClusterImage, env: Environment) -> Decision:
    """Partitions go back to their first replica, where that is in sync again.

    Partitions on the move are left alone: their end decides who leads.
    """
    return _decision(_preferred(image, env))


def decide_unclean(image: ClusterImage, env: Environment) -> Decision:
    """Partitions that nobody leads get any leader, where their topic allows it."""
    return _decision(reconsider(image, env))


def _preferred(image: ClusterImage, env: Environment) -> Iterator[Message]:
    elections = Elections(image, env)
    wish = Wish(ballot=Ballot.PREFERRED)
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.leader == partition.replicas[0] or partition.adding or partition.removing:
                continue
            record = elections.plan(topic, index, wish)
            if record is not None:
                yield record


def _decision(records: Iterator[Message]) -> Decision:
    return Decision(records=tuple(islice(records, ELECTIONS_MAX)), response=ElectLeadersResponse())


class Task(NamedTuple):
    """Something to decide on now."""

    name: str
    decide: Callable[[ClusterImage, Environment], Decision]


_PREFERRED = Task("preferred", decide_preferred)
_UNCLEAN = Task("unclean", decide_unclean)


class PeriodicWork:
    """Says when which of these is due.  Time is an argument; owned by the controller's thread."""

    __slots__ = ("_next_ms",)

    def __init__(self) -> None:
        self._next_ms: dict[Task, int] = {}

    def due(self, image: ClusterImage, env: Environment, now_ms: int) -> list[Task]:
        """What is to be decided now, by the settings of this moment.

        The first time of each is one interval after the first call.
        """
        config = env.effective_config(image)
        found = []
        rebalance_ms = 1000 * config.int("leader.imbalance.check.interval.seconds")
        if self._is_due(_PREFERRED, rebalance_ms, now_ms) and config.bool(
            "auto.leader.rebalance.enable"
        ):
            found.append(_PREFERRED)
        if self._is_due(_UNCLEAN, config.int("unclean.leader.election.interval.ms"), now_ms):
            found.append(_UNCLEAN)
        return found

    def decided(self, task: Task, decision: Decision, now_ms: int) -> None:
        """A task that has done as much as it may at once goes on with the next call of `due`."""
        if len(decision.records) >= ELECTIONS_MAX:
            self._next_ms[task] = now_ms

    def _is_due(self, task: Task, interval_ms: int, now_ms: int) -> bool:
        if now_ms < self._next_ms.setdefault(task, now_ms + interval_ms):
            return False
        self._next_ms[task] = now_ms + interval_ms
        return True
