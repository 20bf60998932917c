"""Partitions of a cluster: their leaders, their offsets, and the records at their beginning.

A thin layer over confluent-kafka's admin client that gives plain values and one-line errors.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.base.error_codes import ErrorCode
from barnabas.client.connect import (
    UNANSWERED,
    Troubles,
    Warn,
    fetch_metadata,
    open_admin,
    result_of,
)
from barnabas.client.errors import ClientError, RefusedError, SilentBrokerError, refused
from barnabas.client.patience import Patience, passes

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

Place = tuple[str, int]
"""A topic and the number of a partition."""
Key = TypeVar("Key")
Ask = Callable[[Sequence[Key]], "Mapping[Key, Future[Any]]"]

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""What is asked for in place of a time: both ends, and the record with the latest timestamp."""
NOT_NEEDED = "ELECTION_NOT_NEEDED"
"""Name of the error of a partition that has the leader it should have."""


@dataclass(slots=True)
class PartitionAdmin:
    """One thread; every call blocks until the brokers have answered, or raises `ClientError`.

    What is refused for a passing reason, such as a coordinator that is still loading, is tried
    again until the timeout.
    """

    admin: AdminClient
    troubles: Troubles
    patience: Patience
    properties: Mapping[str, str] = field(default_factory=dict)
    heard: bool = False
    """Whether any broker has answered yet."""

    @classmethod
    def connect(cls, properties: Mapping[str, str], warn: Warn, *, timeout_s: float) -> Self:
        admin, troubles = open_admin(properties, warn)
        return cls(admin, troubles, Patience(seconds=timeout_s), properties)

    def leaders(self) -> dict[Place, int | None]:
        """Every partition of the cluster, and its leader if it has one."""
        metadata = fetch_metadata(self.admin, self.troubles)
        self.heard = True
        return {
            (name, number): partition.leader if partition.leader >= 0 else None
            for name, topic in metadata.topics.items()
            for number, partition in topic.partitions.items()
        }

    def offsets(self, places: Collection[Place], when: int) -> dict[Place, int | ClientError]:
        """Of the first record that is not older than a time in ms, -1 if there is none; or what
        one of the special times asks for.  What was in the way, where no offset was told.
        """
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it has no __all__
            OffsetSpec,
        )

        known: dict[int, Any] = {
            LATEST: OffsetSpec.latest,
            EARLIEST: OffsetSpec.earliest,
            MAX_TIMESTAMP: OffsetSpec.max_timestamp,
        }
        which = known[when]() if when in known else OffsetSpec.for_timestamp(when)

        def ask(wanted: Sequence[Place]) -> dict[Place, Future[Any]]:
            specs = {TopicPartition(*place): which for place in wanted}
            futures = self.admin.list_offsets(specs, **self._timeout())
            return {(key.topic, key.partition): future for key, future in futures.items()}

        return {
            place: found if isinstance(found, ClientError) else found.offset
            for place, found in self._each(sorted(set(places)), ask).items()
        }

    def delete_records(self, before: Mapping[Place, int]) -> dict[Place, int | ClientError]:
        """Deletes what is before an offset, -1 being the end; where each partition begins now.

        Only of partitions that have a leader: for others librdkafka would wait in vain.
        """
        from confluent_kafka import TopicPartition

        def ask(wanted: Sequence[Place]) -> dict[Place, Future[Any]]:
            offsets = [TopicPartition(*place, before[place]) for place in wanted]
            futures = self.admin.delete_records(offsets, **self._timeout())
            return {(key.topic, key.partition): future for key, future in futures.items()}

        return {
            place: found if isinstance(found, ClientError) else found.low_watermark
            for place, found in self._each(sorted(before), ask).items()
        }

    def elect(
        self, places: Collection[Place] | None, *, unclean: bool
    ) -> dict[Place, RefusedError | None]:
        """Has leaders elected, of some partitions or of all that need it; what was in the way."""
        from confluent_kafka import ElectionType, TopicPartition

        if not self.heard:
            self.leaders()  # finds out sooner than the election would that nobody answers
        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        wanted = None if places is None else [TopicPartition(*place) for place in sorted(places)]
        # confluent-kafka 2.16 fails if it is given a timeout by name, and without one it waits for
        # a whole minute: that nobody answers at all is found out before.
        fetch_metadata(self.admin, self.troubles)
        self.heard = True
        future = self.admin.elect_leaders(kind, wanted)
        return {
            (key.topic, key.partition): None if error is None else told(error)
            for key, error in self._result(future).items()
        }

    def _timeout(self) -> dict[str, float]:
        return {"request_timeout": self.patience.seconds}

    def _each(self, keys: Sequence[Key], ask: Ask[Key]) -> dict[Key, Any]:
        """The answer for each key, which may be a `ClientError`."""
        found: dict[Key, Any] = {}
        deadline = self.patience.deadline()
        pending = list(keys)
        for tried in itertools.count():
            if not pending:
                break
            for key, future in ask(pending).items():
                try:
                    found[key] = self._result(future)
                except RefusedError as error:
                    found[key] = error
            pending = [key for key in pending if passes(found[key])]
            if pending and not self.patience.wait(tried, deadline):
                break
        return found

    def _result(self, future: Future[Any]) -> Any:
        try:
            result = result_of(future, self.admin, self.troubles)
        except RefusedError as error:
            raise self._failure(error) from None
        self.heard = True
        return result

    def _failure(self, error: RefusedError) -> ClientError:
        """What the library's error means, given whether anybody has answered before."""
        if error.name not in UNANSWERED:
            self.heard = True
        elif not self.heard:
            return SilentBrokerError(self.troubles.servers)
        return tidied(error)


def without_leader() -> RefusedError:
    """What stands in the way of a partition that nobody leads."""
    code = ErrorCode.LEADER_NOT_AVAILABLE
    return RefusedError(code.name, code.text)


def not_there() -> RefusedError:
    """What stands in the way of a partition that does not exist."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return RefusedError(code.name, code.text)


def tidied(error: RefusedError) -> RefusedError:
    """librdkafka's text as a sentence: without who said it, or which request it was about."""
    text = re.sub(r"^(\w+: )?(Broker|Local): ", "", str(error)).strip()
    if text.endswith(":") or not text:  # the name of the request and nothing else
        text = error.name
    return RefusedError(error.name, text if text.endswith(".") else f"{text}.")


def plain_refusal(error: Any) -> RefusedError:
    """The library gives an exception for one of several things that failed, or just its error."""
    return refused(getattr(error, "args", (error,))[0])


def told(error: Any) -> RefusedError:
    """The broker's own words as they are."""
    found = plain_refusal(error)
    return tidied(found) if str(found).startswith(("Broker: ", "Local: ")) else found
