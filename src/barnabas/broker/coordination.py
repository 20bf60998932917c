"""The shell around a coordinator: its internal topic, the logs behind it, and its timer.

`coordinator/runtime.py` decides; here is what it needs of a broker.  When this broker becomes the
leader of a partition of the internal topic, the log is read, a slice a loop turn, and fed
to the runtime; when it ceases to be, the runtime forgets the shard.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.base.errors import (
    ApiError,
    CoordinatorNotAvailable,
    ErrorCode,
    NotCoordinator,
)
from barnabas.controller.image_types import NO_LEADER
from barnabas.coordinator.runtime_routing import partition_for
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.records.batch import iter_headers
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ImageChanges
    from barnabas.coordinator.runtime import Runtime
    from barnabas.coordinator.runtime_types import Committed
    from barnabas.protocol.message import Message
    from barnabas.replication.partition import Partition
    from barnabas.replication.replicas import ReplicaManager

logger = logging.getLogger("barnabas.coordination")

LOAD_BYTES = 1024 * 1024
"""What is read of a log in one loop turn."""
RELOAD_S = 0.5
"""After an append that failed, before the shard is loaded again."""
NEVER = float("inf")


class TopicSettings(NamedTuple):
    """The names of the settings that an internal topic is made by."""

    partitions: str
    replication_factor: str
    segment_bytes: str


class Coordination:
    """One coordinator of this broker.

    Its runtime, and with it the whole coordinator room, is made when it is first needed: a broker
    that has no groups starts without it.
    """

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        topic: str,
        topic_settings: TopicSettings,
        schedule_turn: Callable[[], None],
    ) -> None:
        self.broker = broker
        self.topic = topic
        self._runtime: Runtime | None = None
        self._loop = loop
        self._topic_settings = topic_settings
        self._schedule_turn = schedule_turn
        self._start_ms = broker.clock.now_ms() - broker.clock.monotonic() * 1000
        self._led: dict[int, int] = {}
        """Leader epoch of each partition that this broker leads and the runtime knows of."""
        self._creating: list[Callable[[ApiError | None], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = NEVER

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            self._runtime = self.make_runtime()
        return self._runtime

    def make_runtime(self) -> Runtime:
        """For subclasses: the runtime of their shards."""
        raise AssertionError("a coordination has shards")

    @property
    def is_asleep(self) -> bool:
        """Nobody has needed the coordinator yet."""
        return self._runtime is None

    def led_partitions(self) -> list[int]:
        """The partitions of the internal topic that this broker is in charge of."""
        return list(self._led)

    # -- time

    def now_ms(self) -> int:
        """Wall time that does not jump when somebody sets the clock: what sessions go by."""
        return int(self._start_ms + self.broker.clock.monotonic() * 1000)

    def _set_timer(self) -> None:
        due_ms = self.runtime.due_ms
        if self._timer_at_ms <= due_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        when = self.broker.clock.monotonic() + max(0, due_ms - self.now_ms()) / 1000
        self._timer = self._loop.call_at(when, self._tick)
        self._timer_at_ms = due_ms

    def _tick(self) -> None:
        self._timer, self._timer_at_ms = None, NEVER
        self.runtime.tick(self.now_ms())
        self._set_timer()
        self._schedule_turn()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for index in list(self._led):
            self.runtime.unload(index)
        self._led.clear()

    # -- requests

    def partition_of(self, name: str) -> int:
        """The partition in charge of a group or transactional id; the topic must exist."""
        topic = self.broker.image.topics.get(self.topic)
        if topic is None:
            raise NotCoordinator
        return partition_for(name, len(topic.partitions))

    def leader_of(self, name: str) -> int | None:
        """The broker in charge of a group or transactional id; None if there is none now."""
        topic = self.broker.image.topics.get(self.topic)
        if topic is None:
            return None
        leader = topic.partitions[partition_for(name, len(topic.partitions))].leader
        return None if leader == NO_LEADER else leader

    def is_in_charge_of(self, name: str) -> bool:
        topic = self.broker.image.topics.get(self.topic)
        return topic is not None and partition_for(name, len(topic.partitions)) in self._led

    def schedule(self, name: str, event: Any, done: Callable[[Any], None]) -> None:
        """Let the shard in charge of `name` decide on `event`; `done` gets the reply."""
        try:
            index = self.partition_of(name)
        except ApiError as error:
            done(event.refuse(error))
            return
        self.schedule_at(index, event, done)

    def schedule_at(self, index: int, event: Any, done: Callable[[Any], None]) -> None:
        self.runtime.schedule(index, event, done, now_ms=self.now_ms())
        self._set_timer()

    # -- the topic

    def with_topic(self, done: Callable[[ApiError | None], None]) -> None:
        """Call back once the internal topic exists; it is made when it is first needed."""
        if self.topic in self.broker.image.topics:
            done(None)
            return
        self._creating.append(done)
        if len(self._creating) == 1:
            self.broker.controller.submit(self._creation(), self._created)

    def _creation(self) -> CreateTopicsRequest:
        config = self.broker.config
        factor = config.int(self._topic_settings.replication_factor)
        if _is_alone(self.broker):
            factor = 1
        return CreateTopicsRequest(
            timeout_ms=30_000,
            topics=[
                CreatableTopic(
                    name=self.topic,
                    num_partitions=config.int(self._topic_settings.partitions),
                    replication_factor=factor,
                    configs=[
                        CreatableTopicConfig(name=name, value=value)
                        for name, value in self._topic_configs(factor).items()
                    ],
                )
            ],
        )

    def _topic_configs(self, factor: int) -> dict[str, str]:
        """The settings of the internal topic, which has `factor` replicas."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(self.broker.config.int(self._topic_settings.segment_bytes)),
        }

    def _created(self, response: Message) -> None:
        assert isinstance(response, CreateTopicsResponse)
        waiting, self._creating = self._creating, []
        code = ErrorCode(response.topics[0].error_code)
        error: ApiError | None = None
        if code not in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
            logger.warning("%s could not be made: %s", self.topic, response.topics[0].error_message)
            error = CoordinatorNotAvailable()
        for done in waiting:
            done(error)

    # -- leadership

    def before_changes(self) -> None:
        """Leaders and in-sync replicas will change: append what was decided under the old ones.

        Otherwise a batch might be refused whose records are in the shard already, and all who wait
        for the shard with it.
        """
        if self._runtime is not None:
            self._runtime.flush()

    def apply(self, changes: ImageChanges) -> None:
        """The metadata changed: load the partitions that this broker now leads, drop the others."""
        topic = self.broker.image.topics.get(self.topic)
        if topic is None:
            for index in list(self._led):
                self._drop(index)
            return
        for topic_id, index in changes.partitions:
            if topic_id == topic.id:
                self.follow(index)

    def load_all(self) -> None:
        """At the start: everything that this broker leads."""
        topic = self.broker.image.topics.get(self.topic)
        for index in range(len(topic.partitions) if topic else 0):
            self.follow(index)

    def follow(self, index: int) -> None:
        """Take charge of a partition that this broker leads, or give it up."""
        found = self.broker.replicas.find(self.topic, index)
        if found is None or not found.is_leader or found.log is None:
            self._drop(index)
        elif self._led.get(index) != found.leader_epoch:
            self._led[index] = found.leader_epoch
            self._load(index, found.leader_epoch)

    def _drop(self, index: int) -> None:
        if self._led.pop(index, None) is not None:
            self.runtime.unload(index)

    def reload(self, index: int, epoch: int) -> None:
        """The runtime lost track of a shard: feed it the log again.

        Not at once: if the log takes nothing, because the disk is full, for example, what is due in
        the shard would fail again as soon as it is loaded, and again, and again.
        """
        self._loop.call_later(RELOAD_S, self._load, index, epoch)

    def _load(self, index: int, epoch: int) -> None:
        found = self.broker.replicas.find(self.topic, index)
        if self._led.get(index) != epoch or found is None or found.log is None:
            return
        self.runtime.begin_load(index, epoch=epoch)
        self._load_from(found, epoch, found.log.start_offset)

    def _load_from(self, found: Partition, epoch: int, offset: int) -> None:
        """One slice of the log; then, in another loop turn, the next."""
        log, index = found.log, found.index
        if log is None or self._led.get(index) != epoch:
            return
        try:
            end = log.written_end_offset
            slice_ = log.read(offset, max_bytes=LOAD_BYTES, end_offset=end, at_least_one=True)
            view = memoryview(slice_.read())
            headers = list(iter_headers(view))
            batches = [view[at : at + header.size_bytes] for at, header in headers]
            if not self.runtime.feed(index, epoch=epoch, batches=batches):
                return
        except (ApiError, AssertionError) as error:
            logger.exception("%s-%d cannot be loaded", self.topic, index, exc_info=error)
            self._drop(index)
            return
        if headers:
            following = headers[-1][1].next_offset
            if following < end:
                self._loop.call_soon(self._load_from, found, epoch, following)
                return
        self.runtime.finish_load(index, epoch=epoch, now_ms=self.now_ms())
        self._set_timer()

    # -- the runtime's appender

    def at_turn_end(self, call: Callable[[], None]) -> None:
        """The runtime gathers: let it append before this turn's writes."""
        self.broker.replicas.before_write(call)
        self._schedule_turn()

    def check(self, partition: int) -> None:
        self.broker.replicas.get(self.topic, partition).check_internal()

    def append(self, partition: int, batch: bytearray, committed: Committed) -> None:
        """Append for the runtime; `committed` is told when every in-sync replica has it."""
        replicas = self.broker.replicas
        found = replicas.get(self.topic, partition)
        appended = replicas.append_internal(
            found, memoryview(batch), now_ms=self.broker.clock.now_ms()
        )
        when_replicated(replicas, found, appended.last_offset, committed)
        self._schedule_turn()


def _is_alone(broker: Broker) -> bool:
    """Whether this node is its own controller and nobody else has joined.

    Anywhere else an internal topic waits for as many brokers as it should have replicas: it would
    keep too few for ever, only because the first client came early.
    """
    config = broker.config
    roles = config.list("process.roles")
    return (
        set(broker.image.brokers) <= {broker.node_id}
        and (not roles or "controller" in roles)
        and not config.optional_str("zookeeper.connect")
    )


def when_replicated(
    replicas: ReplicaManager, found: Partition, last_offset: int, done: Committed
) -> None:
    """Call back when what was just appended is on every in-sync replica, or with why not."""
    replicas.after_write(partial(_written, replicas, found, last_offset, done))


def _written(replicas: ReplicaManager, found: Partition, last_offset: int, done: Committed) -> None:
    if found.write_failure is not None:
        done(found.write_failure)
        return
    if found.is_alone and found.is_leader and found.log is not None:
        done(None)  # written here is written everywhere
        return

    def attempt(expired: bool) -> bool:
        log = found.log
        if log is None or not found.is_leader:
            done(found.error or NotCoordinator())
            return True
        if log.high_watermark <= last_offset:
            return False
        done(None)
        return True

    if not attempt(False):
        replicas.produces.park(Parked(attempt, [found], NEVER))
