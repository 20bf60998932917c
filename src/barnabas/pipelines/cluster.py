"""A cluster whose brokers come and go: questions are put again until somebody answers them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from barnabas.client.brokers import REQUEST_TIMEOUT_S, Brokers, PartitionPlace, Place
from barnabas.client.errors import ClientError, LoginError, PropertyError, RefusedError
from barnabas.client.offset_details import leader_offsets
from barnabas.client.patience import FIRST_PAUSE_S, LONGEST_PAUSE_S
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.options import Choice

PASSING = frozenset(
    """
    BROKER_NOT_AVAILABLE FENCED_LEADER_EPOCH KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE
    NETWORK_EXCEPTION NOT_LEADER_OR_FOLLOWER OFFSET_NOT_AVAILABLE REPLICA_NOT_AVAILABLE
    REQUEST_TIMED_OUT UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_ID UNSTABLE_OFFSET_COMMIT
    """.split()  # noqa: SIM905 (read as text, a name a word)
)
"""Refusals that another look at the cluster, a moment later, may turn into answers."""
MISSING = "UNKNOWN_TOPIC_OR_PARTITION"

Result = TypeVar("Result")


def passes(error: ClientError) -> bool:
    """Whether the same question may be answered in a moment, by the same broker or by another."""
    if isinstance(error, RefusedError):
        return error.name in PASSING
    return not isinstance(error, LoginError | PropertyError)


class Pauses:
    """Ever longer ones between attempts, up to a deadline."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._next = FIRST_PAUSE_S

    def take(self) -> bool:
        """False, at once, if the deadline would pass."""
        pause = self._next
        if time.monotonic() + pause > self._deadline:
            return False
        time.sleep(pause)
        self._next = min(2 * pause, LONGEST_PAUSE_S)
        return True


class Cluster:
    """The brokers of a cluster.  One thread; close it in the end.

    The first connection of all must succeed at once, unless `is_patient`: that nobody is there is
    then more likely a slip than a restart.
    """

    def __init__(
        self, properties: Mapping[str, str], *, timeout_s: float, is_patient: bool = False
    ) -> None:
        self._properties = dict(properties)
        self._timeout_s = timeout_s
        self._was_reached = is_patient
        self._brokers: Brokers | None = None

    def close(self) -> None:
        if self._brokers is not None:
            self._brokers.close()
            self._brokers = None

    def brokers(self) -> Brokers:
        """Those that were asked last, or new connections; all that is known of old ones helps."""
        if self._brokers is None:
            timeout_s = min(self._timeout_s, REQUEST_TIMEOUT_S)
            self._brokers = Brokers.connect(self._properties, timeout_s=timeout_s)
            self._was_reached = True
        return self._brokers

    def drop(self) -> None:
        """Gives up all connections.  The brokers that were known can be asked where the others are,
        also when none of those that the properties name is there any more.
        """
        if self._brokers is not None:
            known = [f"{host}:{port}" for host, port in self._brokers.addresses.values()]
            servers = self._properties["bootstrap.servers"].split(",")
            self._properties["bootstrap.servers"] = ",".join(dict.fromkeys([*servers, *known]))
        self.close()

    def ask(self, question: Callable[[Brokers], Result]) -> Result:
        """The answer, as soon as there is one; `ClientError` if there will be none."""
        pauses = Pauses(self._timeout_s)
        while True:
            try:
                return question(self.brokers())
            except ClientError as error:
                self.drop()
                if not (self._was_reached and passes(error) and pauses.take()):
                    raise

    # Questions.

    def chosen(self, choice: Choice) -> dict[Place, PartitionPlace]:
        """The partitions that an option of the source means now; `PipelineError` names what is not
        there.
        """
        if choice.pattern is not None:
            matches = re.compile(choice.pattern).fullmatch
            everything = self.ask(lambda brokers: brokers.places(None))
            return {
                place: found
                for place, found in everything.items()
                if matches(place[0]) and not found.is_internal
            }
        if choice.places is None:
            return self.places(choice.topics or ())
        there = self.places({topic for topic, _ in choice.places})
        for topic, number in choice.places:
            if (topic, number) not in there:
                raise PipelineError(f"assign: there is no partition {topic}-{number}")
        return {place: there[place] for place in choice.places}

    def places(self, topics: set[str] | tuple[str, ...]) -> dict[Place, PartitionPlace]:
        """All partitions of these topics."""
        found: dict[Place, PartitionPlace] = {}
        for topic in sorted(topics):
            try:
                found |= self.ask(_places_of(topic))
            except RefusedError as error:
                if error.name != MISSING:
                    raise
                raise PipelineError(f"topic {topic} does not exist") from None
        return found

    def there(self, places: Collection[Place]) -> set[Place]:
        """Those of some partitions that exist."""
        found: set[Place] = set()
        for topic in sorted({topic for topic, _ in places}):
            try:
                found |= self.ask(_places_of(topic)).keys() & set(places)
            except RefusedError as error:
                if error.name != MISSING:
                    raise
        return found

    def offsets(
        self, asked: Mapping[Place, int], *, is_committed_only: bool = False
    ) -> dict[Place, int]:
        """Of edges (-2, -1) or times of partitions; -1 where a time has no record.

        What readers of committed records may see ends before the first open transaction.
        """
        topics = {topic for topic, _ in asked}

        def question(brokers: Brokers) -> dict[Place, int]:
            places = brokers.places(topics)
            for topic, number in asked:
                if (topic, number) not in places:
                    raise PipelineError(f"there is no partition {topic}-{number} any more")
            return leader_offsets(brokers, places, asked, is_committed_only=is_committed_only)

        return self.ask(question) if asked else {}


def _places_of(topic: str) -> Callable[[Brokers], dict[Place, PartitionPlace]]:
    return lambda brokers: brokers.places([topic])
