"""Consumer groups of a cluster: look at them, move their offsets, delete them.

A thin layer over confluent-kafka's admin client that gives plain values and one-line errors.  What
librdkafka does not tell of a group is asked through `group_details.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.client.errors import ClientError, RefusedError, refused
from barnabas.client.partition_admin import (
    EARLIEST,
    LATEST,
    PartitionAdmin,
    Place,
    plain_refusal,
    tidied,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

UNKNOWN = "Unknown"
STATES = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": "Dead",
    "EMPTY": "Empty",
}
"""Kafka's words for the states that librdkafka knows; what it does not know is `UNKNOWN`."""
TYPES = {"CLASSIC": "Classic", "CONSUMER": "Consumer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    group_id: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    """Of a static member."""
    assignment: Sequence[Place] = ()
    target: Sequence[Place] = ()
    """What a member of the newer protocol is to have in the end."""
    epoch: int | None = None
    upgraded: bool | None = None
    """Whether it speaks the newer protocol; None if that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    group_id: str
    state: str
    type: str
    assignor: str
    coordinator: tuple[int, str, int]
    """Id, host and port of the broker."""
    members: Sequence[Member] = ()
    epoch: int | None = None
    target_epoch: int | None = None

    @property
    def exists(self) -> bool:
        return self.state != "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    offset: int
    leader_epoch: int | None = None


@dataclass(slots=True)
class GroupAdmin(PartitionAdmin):
    """Groups, and the partitions whose offsets they have."""

    def listings(self) -> list[GroupListing]:
        """All consumer groups, by name."""
        return self.patience.until_settled(self._listings)

    def _listings(self) -> list[GroupListing]:
        heard = self.heard
        found = self._result(self.admin.list_consumer_groups(**self._timeout()))
        for error in found.errors or ():
            self.heard = heard  # it was the library that answered, for brokers that did not
            raise self._failure(plain_refusal(error))
        return sorted(
            (
                GroupListing(
                    group_id=each.group_id,
                    state=STATES.get(each.state.name, UNKNOWN),
                    type=TYPES.get(each.type.name, UNKNOWN),
                )
                for each in found.valid
            ),
            key=lambda listing: listing.group_id,
        )

    def describe(self, group_ids: Iterable[str]) -> dict[str, Group | ClientError]:
        """One that does not exist is `Dead`."""
        described = self._each(
            sorted(set(group_ids)),
            lambda groups: self.admin.describe_consumer_groups(list(groups), **self._timeout()),
        )
        return {
            group_id: found if isinstance(found, ClientError) else _group(found)
            for group_id, found in described.items()
        }

    def committed(self, group_ids: Iterable[str]) -> dict[str, dict[Place, Committed]]:
        """The offsets that groups have committed."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        def ask(groups: Sequence[str]) -> dict[str, Future[Any]]:
            futures: dict[str, Future[Any]] = {}
            for group_id in groups:
                wanted = [ConsumerGroupTopicPartitions(group_id)]
                futures |= self.admin.list_consumer_group_offsets(wanted, **self._timeout())
            return futures

        committed = {}
        for group_id, found in self._each(sorted(set(group_ids)), ask).items():
            if isinstance(found, ClientError):
                raise found
            committed[group_id] = {
                (each.topic, each.partition): Committed(
                    offset=each.offset, leader_epoch=each.leader_epoch
                )
                for each in _without_errors(found.topic_partitions)
                if each.offset >= 0
            }
        return committed

    def start_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        return self._offsets(places, EARLIEST)

    def end_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        return self._offsets(places, LATEST)

    def offsets_at(self, places: Collection[Place], time_ms: int) -> dict[Place, int | None]:
        """Of the first record that is not older; None if there is none."""
        found = self._offsets(places, time_ms)
        return {place: offset if offset >= 0 else None for place, offset in found.items()}

    def _offsets(self, places: Collection[Place], when: int) -> dict[Place, int]:
        offsets = {}
        for place, found in self.offsets(places, when).items():
            if isinstance(found, ClientError):
                raise found
            offsets[place] = found
        return offsets

    def commit(self, group_id: str, offsets: Mapping[Place, int]) -> None:
        """Sets offsets of a group that has no members."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        if not offsets:
            return
        wanted = ConsumerGroupTopicPartitions(
            group_id,
            [TopicPartition(*place, offset) for place, offset in sorted(offsets.items())],
        )
        found = self._each(
            [group_id],
            lambda _: self.admin.alter_consumer_group_offsets([wanted], **self._timeout()),
        )[group_id]
        if isinstance(found, ClientError):
            raise found
        _without_errors(found.topic_partitions)

    def delete(self, group_ids: Iterable[str]) -> dict[str, ClientError | None]:
        """Deletes groups; for each, what was in the way."""
        deleted = self._each(
            sorted(set(group_ids)),
            lambda groups: self.admin.delete_consumer_groups(list(groups), **self._timeout()),
        )
        return {
            group_id: found if isinstance(found, ClientError) else None
            for group_id, found in deleted.items()
        }


def _without_errors(partitions: Iterable[Any]) -> list[Any]:
    listed = list(partitions)
    for each in listed:
        if each.error is not None:
            error = tidied(refused(each.error))
            raise RefusedError(error.name, f"{error} ({each.topic}-{each.partition})")
    return listed


def _group(described: Any) -> Group:
    node = described.coordinator
    return Group(
        group_id=described.group_id,
        state=STATES.get(described.state.name, UNKNOWN),
        type=TYPES.get(described.type.name, UNKNOWN),
        assignor=described.partition_assignor,
        coordinator=(node.id, node.host, node.port),
        members=[_member(each) for each in described.members],
    )


def _member(described: Any) -> Member:
    return Member(
        member_id=described.member_id,
        client_id=described.client_id,
        host=described.host,
        instance_id=described.group_instance_id,
        assignment=_places(described.assignment),
        target=_places(described.target_assignment),
    )


def _places(assignment: Any) -> list[Place]:
    if assignment is None:
        return []
    return sorted((each.topic, each.partition) for each in assignment.topic_partitions)
