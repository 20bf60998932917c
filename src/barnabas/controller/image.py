"""The cluster as its metadata journal tells it: brokers, topics, settings, features.

An image changes in one way only, by replaying records in journal order, so two nodes that have
replayed the same records have equal images.  It is owned by one thread (the broker's loop) and
reads no clock and no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.controller import image_dump, image_replay
from barnabas.controller.image_types import (
    BrokerImage,
    Endpoint,
    ImageChanges,
    PartitionImage,
    QuotaEntity,
    ResourceType,
    TopicImage,
    VersionRange,
)

if TYPE_CHECKING:
    from barnabas.controller.journal import Journal
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.metadata_records import UserScramCredentialRecord

__all__ = [
    "BrokerImage",
    "ClusterImage",
    "Endpoint",
    "ImageChanges",
    "PartitionImage",
    "QuotaEntity",
    "ResourceType",
    "TopicImage",
    "VersionRange",
]

T = TypeVar("T")
_NO_CONFIG: dict[str, str] = {}


class ClusterImage:
    """What is known of the cluster after the last replayed record.

    Everything below is for reading; `replay` and `replay_run` are the only ways to change it.
    """

    __slots__ = (
        "_folded",
        "_owned",
        "_shared",
        "applied_epoch",
        "applied_offset",
        "brokers",
        "cluster_id",
        "configs",
        "features",
        "kept",
        "next_producer_id",
        "quotas",
        "scram",
        "topics",
        "topics_by_id",
    )

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.brokers: dict[int, BrokerImage] = {}
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """By resource type and name; replaced, never changed.  A broker's name is its id, or
        empty for all brokers."""
        self.features: dict[str, int] = {}
        """Finalized level of each feature that is on (level above 0)."""
        self.next_producer_id = 0
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        """What clients may use; the values are replaced, never changed."""
        self.scram: dict[tuple[str, int], UserScramCredentialRecord] = {}
        """By user and mechanism.  Secret, but for the iterations."""
        self.kept: dict[tuple[object, ...], Message] = {}
        """Records of kinds that are stored, and survive in snapshots, but are not read here."""
        self.applied_offset = -1
        self.applied_epoch = -1
        self._owned: set[bytes] | None = None  # None: all topics are this image's own
        self._folded: dict[str, tuple[str, ...]] = {}
        self._shared: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    # Look-ups

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        """The settings that are set on that resource itself; empty if none.  Not to be changed."""
        return self.configs.get((resource_type, name), _NO_CONFIG)

    def topic_config(self, name: str) -> dict[str, str]:
        """The settings of that topic that override the brokers' defaults."""
        return self.configs.get((ResourceType.TOPIC, name), _NO_CONFIG)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """That partition, or None if the topic or the partition does not exist."""
        found = self.topics.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            return None
        return found.partitions[index]

    def similar_names(self, topic: str) -> tuple[str, ...]:
        """Topics whose names differ from this one at most in dots and underscores."""
        return self._folded.get(topic.replace(".", "_"), ())

    def active_brokers(self) -> list[BrokerImage]:
        """Brokers that may be given work, by id."""
        return [self.brokers[i] for i in sorted(self.brokers) if self.brokers[i].is_active]

    @property
    def partition_count(self) -> int:
        return sum(len(topic.partitions) for topic in self.topics.values())

    # Changes

    def replay(self, record: Message) -> None:
        """Apply one record.  AssertionError if it cannot follow what was replayed before."""
        image_replay.replay(self, record, ImageChanges())

    def replay_run(self, records: Iterable[Message], *, offset: int, epoch: int) -> ImageChanges:
        """Apply a run that is committed as a whole; `offset` is that of its last record."""
        assert offset > self.applied_offset, f"offset {offset} after {self.applied_offset}"
        assert epoch >= self.applied_epoch, f"epoch {epoch} after {self.applied_epoch}"
        changes = ImageChanges()
        for record in records:
            image_replay.replay(self, record, changes)
        self.applied_offset = offset
        self.applied_epoch = epoch
        return changes

    def load_snapshot(self, records: Iterable[Message], *, end_offset: int, epoch: int) -> None:
        """Make an image that has replayed nothing yet the one that was dumped."""
        assert self.applied_offset < 0, "only a new image starts from a snapshot"
        for record in records:
            self.replay(record)
        self.applied_offset = end_offset - 1
        self.applied_epoch = epoch

    def load_journal(self, journal: Journal) -> None:
        """Replay everything there is: the newest snapshot, and what follows."""
        snapshot = journal.snapshot()
        offset = 0
        if snapshot is not None:
            offset = snapshot.end_offset
            self.load_snapshot(snapshot.records, end_offset=offset, epoch=snapshot.epoch)
        for run in journal.read(offset):
            self.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)

    def as_changes(self) -> ImageChanges:
        """Everything, as if it had all come in one run: for who starts to follow now."""
        return ImageChanges(
            topics_created=dict(self.topics_by_id),
            partitions={
                (topic.id, index): None
                for topic in self.topics.values()
                for index in range(len(topic.partitions))
            },
            configs=set(self.configs),
            brokers=dict.fromkeys(self.brokers),
            features=dict.fromkeys(self.features, 0),
            producer_ids=self.next_producer_id > 0,
            quotas=bool(self.quotas),
        )

    def fork(self) -> ClusterImage:
        """An image that starts equal and changes on its own: for deciding before a commit.

        Costs a copy of the look-up tables; topics are copied when the fork changes them.
        This image must not change while the fork is in use.
        """
        fork = ClusterImage(self.cluster_id)
        fork.brokers = self.brokers.copy()
        fork.topics = self.topics.copy()
        fork.topics_by_id = self.topics_by_id.copy()
        fork.configs = self.configs.copy()
        fork.features = self.features.copy()
        fork.next_producer_id = self.next_producer_id
        fork.quotas = self.quotas.copy()
        fork.scram = self.scram.copy()
        fork.kept = self.kept.copy()
        fork.applied_offset = self.applied_offset
        fork.applied_epoch = self.applied_epoch
        fork._owned = set()
        fork._folded = self._folded.copy()
        fork._shared = self._shared
        return fork

    def frozen(self) -> ClusterImage:
        """A copy that stays as it is while this image goes on: for another thread to read."""
        copy = self.fork()
        for topic in self.topics.values():
            own = TopicImage(name=topic.name, id=topic.id, partitions=topic.partitions.copy())
            copy.topics[topic.name] = copy.topics_by_id[topic.id] = own
        return copy

    def own(self, topic_id: bytes) -> TopicImage:
        """For replay: the topic, copied first if it is still shared with the image forked from."""
        topic = self.topics_by_id.get(topic_id)
        assert topic is not None, f"no topic with id {topic_id.hex()}"
        if self._owned is not None and topic_id not in self._owned:
            topic = replace(topic, partitions=topic.partitions.copy())
            self.topics[topic.name] = self.topics_by_id[topic_id] = topic
            self._owned.add(topic_id)
        return topic

    def adopt(self, topic_id: bytes) -> None:
        """For replay: a topic that this image itself has just made is its own."""
        if self._owned is not None:
            self._owned.add(topic_id)

    def index_name(self, topic: str, *, present: bool) -> None:
        """For replay: keep `similar_names` right when a topic comes or goes."""
        folded = topic.replace(".", "_")
        names = tuple(name for name in self._folded.get(folded, ()) if name != topic)
        if present:
            names += (topic,)
        if names:
            self._folded[folded] = names
        else:
            self._folded.pop(folded, None)

    def share(self, values: Iterable[T] | None) -> tuple[T, ...]:
        """For replay: one object for equal tuples; the same replica lists come again and again."""
        key = tuple(values or ())
        shared: tuple[T, ...] = self._shared.setdefault(key, key)
        return shared

    def dump(self) -> list[Message]:
        """Records that make an empty image equal to this one: what a snapshot holds."""
        return image_dump.dump(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClusterImage):
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name in self.__slots__
            if not name.startswith("_")
        )

    __hash__ = None  # type: ignore[assignment]
