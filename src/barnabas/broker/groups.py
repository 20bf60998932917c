"""The group coordinator of this broker: the runtime's shards, wired to logs and metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from barnabas.base.ids import random_id
from barnabas.base.settings import group_int
from barnabas.broker.coordination import Coordination, TopicSettings
from barnabas.broker.lingering import Lingering
from barnabas.controller.image_types import ResourceType
from barnabas.coordinator.group.topics import TopicInfo

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ClusterImage, ImageChanges, TopicImage
    from barnabas.coordinator.group.config import GroupSettings
    from barnabas.coordinator.group.events import Call, TopicsChanged
    from barnabas.coordinator.group.service import GroupCoordinator
    from barnabas.coordinator.runtime import Runtime
    from barnabas.coordinator.runtime_types import Joining, Producer

OFFSETS_TOPIC = "__consumer_offsets"


class ImageTopics:
    """The topics of the cluster's image, as groups look at them."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image

    @property
    def version(self) -> int:
        return self._image.applied_offset

    def get(self, name: str) -> TopicInfo | None:
        return _info(self._image.topics.get(name))

    def by_id(self, topic_id: bytes) -> TopicInfo | None:
        return _info(self._image.topics_by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        return self._image.topics


def _info(topic: TopicImage | None) -> TopicInfo | None:
    return None if topic is None else TopicInfo(topic.name, topic.id, len(topic.partitions))


def _group_settings(config: BrokerConfig, own: Mapping[str, str]) -> GroupSettings:
    from barnabas.coordinator.group.config import GroupSettings

    return GroupSettings(
        session_timeout_ms=group_int(config, own, "consumer.session.timeout.ms"),
        heartbeat_interval_ms=group_int(config, own, "consumer.heartbeat.interval.ms"),
        assignment_interval_ms=group_int(config, own, "consumer.assignment.interval.ms"),
    )


class Groups(Coordination):
    """`Coordination` of `__consumer_offsets`."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        super().__init__(
            broker,
            loop,
            topic=OFFSETS_TOPIC,
            topic_settings=TopicSettings(
                partitions="offsets.topic.num.partitions",
                replication_factor="offsets.topic.replication.factor",
                segment_bytes="offsets.topic.segment.bytes",
            ),
            schedule_turn=schedule_turn,
        )
        self._topics = ImageTopics(broker.image)
        self._own_settings: dict[str, GroupSettings] = {}
        """What groups with settings of their own go by, while `_config` is the broker's."""
        self._config: BrokerConfig | None = None
        self._default_settings: GroupSettings
        self._lingering = Lingering(
            broker.config.int("group.coordinator.append.linger.ms"),
            loop=loop,
            now=broker.clock.monotonic,
            at_turn_end=self.at_turn_end,
        )

    def make_runtime(self) -> Runtime:
        from barnabas.coordinator.group.config import GroupConfig
        from barnabas.coordinator.group.service import make_runtime
        from barnabas.records.compression import Codec

        config = self.broker.config
        return make_runtime(
            config=GroupConfig.from_settings(config),
            topics=self._topics,
            appender=self,
            reload=self.reload,
            at_turn_end=self._lingering.begin,
            new_id=lambda: str(UUID(bytes=random_id())),
            settings_of=self._settings_of,
            commit_timeout_ms=config.int("offsets.commit.timeout.ms"),
            codec=Codec(config.int("offsets.topic.compression.codec")),
        )

    @cached_property
    def _coordinator(self) -> GroupCoordinator:
        from barnabas.coordinator.group.config import GroupConfig
        from barnabas.coordinator.group.service import GroupCoordinator

        return GroupCoordinator(
            runtime=self.runtime,
            config=GroupConfig.from_settings(self.broker.config),
            partitions=self._partition_count,
        )

    def _settings_of(self, group_id: str) -> GroupSettings:
        """Asked for with every heartbeat, so worked out once for each change."""
        config = self.broker.config
        if self._config is not config:
            self._config = config
            self._default_settings = _group_settings(config, {})
            self._own_settings.clear()
        own = self.broker.image.configs.get((ResourceType.GROUP, group_id))
        if own is None:
            return self._default_settings
        if group_id not in self._own_settings:
            self._own_settings[group_id] = _group_settings(config, own)
        return self._own_settings[group_id]

    def _partition_count(self) -> int:
        """At least one: before the topic exists, its first partition has no coordinator."""
        topic = self.broker.image.topics.get(self.topic)
        return len(topic.partitions) if topic else 1

    def handle(self, call: Call, done: Callable[[Any], None]) -> None:
        """Carry out a request about groups; `done` gets its response."""
        self._lingering.requests += 1
        coordinator = self._coordinator
        coordinator.handle(call, done, now_ms=self.now_ms())
        if coordinator.runtime.due_ms < self._timer_at_ms:
            self._set_timer()

    @property
    def serves_consumer_protocol(self) -> bool:
        """Whether `group.coordinator.rebalance.protocols` has KIP-848's."""
        return self._coordinator.config.serves_consumer_protocol

    def again(self, index: int, event: Joining, done: Callable[[Any], None]) -> None:
        """Carry out a commit or heartbeat like one before, at the partition of its group; `done`
        gets its response.
        """
        self._lingering.requests += 1
        runtime = self._runtime or self.runtime
        runtime.join(index, event, done, now_ms=self.now_ms())
        if runtime.due_ms < self._timer_at_ms:
            self._set_timer()

    def end_transaction(
        self,
        index: int,
        producer: Producer,
        *,
        committed: bool,
        coordinator_epoch: int,
        done: Callable[[ApiError | None], None],
    ) -> None:
        """Write a marker: the offsets that the transaction committed here count, or are gone."""
        self.runtime.end_transaction(
            index,
            producer,
            committed=committed,
            coordinator_epoch=coordinator_epoch,
            now_ms=self.now_ms(),
            done=done,
        )
        self._set_timer()

    def apply(self, changes: ImageChanges) -> None:
        super().apply(changes)
        for kind, name in changes.configs:
            if kind == ResourceType.GROUP:
                self._own_settings.pop(name, None)
        event = None if self.is_asleep else self._topic_changes(changes)
        if event is not None:
            self.runtime.broadcast(event, now_ms=self.now_ms())
            self._set_timer()

    def _topic_changes(self, changes: ImageChanges) -> TopicsChanged | None:
        from barnabas.coordinator.group.events import TopicsChanged

        image = self.broker.image
        grown = {
            image.topics_by_id[topic_id].name
            for (topic_id, _), before in changes.partitions.items()
            if before is None and topic_id in image.topics_by_id
        }
        gone = {
            topic.name
            for topic in changes.topics_deleted.values()
            if topic.name not in image.topics
        }
        if not grown and not gone:
            return None
        return TopicsChanged(changed=frozenset(grown), deleted=frozenset(gone))
