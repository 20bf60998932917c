"""A broker without sockets: real image, logs and partitions, a disk that can fail, time by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from storage_logs import NOW, FlakyDisk, batch

from barnabas.base.settings import BrokerConfig, resolve_topic
from barnabas.broker.handlers.producer_ids import ProducerIds
from barnabas.broker.listeners import BoundListener
from barnabas.broker.state import Broker
from barnabas.controller.image import ClusterImage
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.replication.fetch_session import FetchSessions
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import ReplicaManager
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.log import Appended
from barnabas.storage.manager import LogManager, StorageSettings

NODE_ID = 1
LISTENER = BoundListener(
    name="PLAINTEXT",
    security_protocol="PLAINTEXT",
    host="127.0.0.1",
    port=9092,
    advertised_host="127.0.0.1",
    advertised_port=9092,
)


class HandClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.wall_ms = NOW
        self.mono = 100.0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.mono


class Controllers:
    """Keeps what is submitted to it, and answers with what it is given."""

    def __init__(self) -> None:
        self.submitted: list[Message] = []
        self.answers: list[Message] = []

    def submit(self, request: Message, done: Callable[[Message], None]) -> None:
        self.submitted.append(request)
        if self.answers:
            done(self.answers.pop(0))


class SmallBroker:
    """Close it in the end."""

    def __init__(self, path: Path, *, node_id: int = NODE_ID, **settings: str) -> None:
        self.node_id = node_id
        self.disk = FlakyDisk()
        self.clock = HandClock()
        self.image = ClusterImage("cluster")
        names = settings.pop("directories", "data").split(",")
        self.config = BrokerConfig.from_properties(
            {
                "node.id": str(node_id),
                "log.dirs": ",".join(str(path / name) for name in names),
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self.logs = LogManager(
            StorageSettings.of(self.config),
            node_id=node_id,
            cluster_id="cluster",
            pool=FilePool(32, self.disk),
        )
        self.logs.load(NOW, self.log_config)
        self.replicas = ReplicaManager(
            node_id=node_id,
            logs=self.logs,
            topic_config=self.log_config,
            lag_s=self.config.int("replica.lag.time.max.ms") / 1000,
            monotonic=self.clock.monotonic,
        )
        self.logs.on_directory_failed = lambda _: self.replicas.forget_failed_logs()
        self.controller = Controllers()
        self.broker = Broker(
            node_id=node_id,
            cluster_id="cluster",
            config=self.config,
            image=self.image,
            controller=self.controller,
            replicas=self.replicas,
            logs=self.logs,
            sessions=FetchSessions(slots=10),
            producer_ids=ProducerIds(),
            clock=self.clock,
            listeners=[LISTENER],
        )

    def log_config(self, topic: str) -> LogConfig:
        return LogConfig.of_topic(resolve_topic(self.config, self.image.topic_config(topic)))

    def close(self) -> None:
        self.disk.broken, self.disk.room = False, None
        self.logs.close()

    # Metadata, as the journal tells it.

    def replay(self, *records: Message) -> None:
        changes = self.image.replay_run(
            records, offset=self.image.applied_offset + len(records), epoch=1
        )
        self.replicas.apply(self.image, changes)

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        topic_id: bytes | None = None,
        replicas: tuple[int, ...] = (NODE_ID,),
        isr: tuple[int, ...] | None = None,
        leader: int | None = None,
        leader_epoch: int = 0,
        **settings: str,
    ) -> bytes:
        """Make a topic; its id.  Settings with underscores for dots."""
        if topic_id is None:
            topic_id = name.encode().ljust(16, b".")[:16]
        self.replay(
            mr.TopicRecord(name=name, topic_id=topic_id),
            *(
                mr.ConfigRecord(
                    resource_type=2, resource_name=name, name=key.replace("_", "."), value=value
                )
                for key, value in settings.items()
            ),
            *(
                mr.PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=list(replicas),
                    isr=list(replicas if isr is None else isr),
                    leader=replicas[0] if leader is None else leader,
                    leader_epoch=leader_epoch,
                    partition_epoch=0,
                    directories=[bytes(16)] * len(replicas),
                )
                for index in range(partitions)
            ),
        )
        return topic_id

    def change(self, topic_id: bytes, index: int = 0, **fields: Any) -> None:
        """A partition's leader or ISR changes."""
        self.replay(mr.PartitionChangeRecord(partition_id=index, topic_id=topic_id, **fields))

    def delete(self, topic_id: bytes) -> None:
        self.replay(mr.RemoveTopicRecord(topic_id=topic_id))

    # Records.

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.replicas.get(topic, index)

    def append(self, topic: str, *values: bytes, index: int = 0, acks: int = 1) -> Appended:
        """Queue one batch."""
        return self.replicas.append(
            self.partition(topic, index), batch(*values), acks=acks, now_ms=self.clock.now_ms()
        )
