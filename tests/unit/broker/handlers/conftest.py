"""A broker with a real image, real logs and a controller that answers when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.base.settings import BrokerConfig, resolve_topic
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.producer_ids import ProducerIds
from barnabas.broker.listeners import BoundListener
from barnabas.broker.state import Broker
from barnabas.controller import decider
from barnabas.controller.decider.decision import Environment
from barnabas.controller.image import ClusterImage
from barnabas.controller.sessions import BrokerSessions
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.records.batch import Record, encode_batch
from barnabas.replication.fetch_session import FetchSessions
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import ReplicaManager
from barnabas.storage.config import LogConfig
from barnabas.storage.manager import LogManager, StorageSettings

CLUSTER_ID = "cluster-of-the-test-00"
NODE_ID = 1


class FakeClock:
    def __init__(self) -> None:
        self.wall_ms = 1_000_000
        self.mono = 50.0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.mono


class FakeController:
    """Keeps what is submitted; `answer` gives the oldest its response."""

    def __init__(self) -> None:
        self.submitted: list[Message] = []
        self._waiting: list[Callable[[Message], None]] = []

    def submit(self, request: Message, done: Callable[[Message], None]) -> None:
        self.submitted.append(request)
        self._waiting.append(done)

    def answer(self, response: Message) -> None:
        self._waiting.pop(0)(response)


def listener(name: str = "PLAINTEXT", port: int = 9092) -> BoundListener:
    return BoundListener(
        name=name,
        security_protocol="PLAINTEXT",
        host="0.0.0.0",
        port=port,
        advertised_host="broker-1",
        advertised_port=port,
    )


class World:
    """What a handler sees, and ways to change it as metadata and producers would."""

    def __init__(self, path: Path, **settings: str) -> None:
        self.clock = FakeClock()
        self.controller = FakeController()
        self.image = ClusterImage(CLUSTER_ID)
        config = BrokerConfig.from_properties(
            {"node.id": str(NODE_ID), "log.dirs": str(path / "data"), **settings}
        )
        logs = LogManager(StorageSettings.of(config), node_id=NODE_ID, cluster_id=CLUSTER_ID)
        logs.load(self.clock.now_ms(), self.log_config)
        self.broker = Broker(
            node_id=NODE_ID,
            cluster_id=CLUSTER_ID,
            config=config,
            image=self.image,
            controller=self.controller,
            replicas=ReplicaManager(node_id=NODE_ID, logs=logs, topic_config=self.log_config),
            logs=logs,
            sessions=FetchSessions(slots=10),
            producer_ids=ProducerIds(),
            clock=self.clock,
            listeners=[listener()],
        )
        self.register(NODE_ID)

    def log_config(self, topic: str) -> LogConfig:
        settings = resolve_topic(self.broker.config, self.image.topic_config(topic))
        return LogConfig.of(
            {name.replace("_", "."): value for name, value in settings._asdict().items()}
        )

    def close(self) -> None:
        self.broker.logs.close()

    # Metadata

    def replay(self, *records: Message) -> None:
        offset = self.image.applied_offset + len(records)
        changes = self.image.replay_run(records, offset=offset, epoch=1)
        self.broker.replicas.apply(self.image, changes)
        self.broker.fenced_lately.apply(self.image, changes)

    def register(
        self,
        node: int,
        *,
        listeners: tuple[str, ...] = ("PLAINTEXT",),
        fenced: bool = False,
        rack: str | None = None,
        features: tuple[tuple[str, int, int], ...] = (),
        log_dirs: tuple[bytes, ...] = (),
    ) -> None:
        self.replay(
            mr.RegisterBrokerRecord(
                broker_id=node,
                incarnation_id=bytes([node]) * 16,
                broker_epoch=self.image.applied_offset + 10,
                end_points=[
                    mr.BrokerEndpoint(
                        name=name, host=f"broker-{node}", port=9092 + n, security_protocol=0
                    )
                    for n, name in enumerate(listeners)
                ],
                features=[
                    mr.BrokerFeature(
                        name=name, min_supported_version=low, max_supported_version=high
                    )
                    for name, low, high in features
                ],
                rack=rack,
                fenced=fenced,
                log_dirs=list(log_dirs),
            )
        )

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replicas: tuple[int, ...] = (NODE_ID,),
        isr: tuple[int, ...] | None = None,
        leader: int | None = None,
        directories: tuple[bytes, ...] | None = None,
        leader_epoch: int = 0,
        **settings: str,
    ) -> bytes:
        """Make a topic; its id.  Settings with underscores for dots."""
        topic_id = name.encode().ljust(16, b".")[:16]
        self.replay(
            mr.TopicRecord(name=name, topic_id=topic_id),
            *(
                mr.ConfigRecord(
                    resource_type=2,
                    resource_name=name,
                    name=key.replace("_", "."),
                    value=value,
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
                    directories=list(directories or [bytes(16)] * len(replicas)),
                )
                for index in range(partitions)
            ),
        )
        return topic_id

    def decide_for_real(self) -> None:
        """From now on the controller's own deciders answer, at once."""
        config = self.broker.config
        env = Environment(config=config, sessions=BrokerSessions(9_000), random=Random(1))

        def submit(request: Message, done: Callable[[Message], None]) -> None:
            decision = decider.decide(self.image, request, self.clock.now_ms(), env)
            if decision.records:
                self.replay(*decision.records)
            self.broker.config = env.effective_config(self.image)
            done(decision.response)

        self.controller.submit = submit  # type: ignore[method-assign]

    # Records

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.broker.replicas.get(topic, index)

    def produce(self, topic: str, *timestamps: int, index: int = 0, **batch: Any) -> None:
        """Append one batch with a record for each timestamp."""
        records = [Record(timestamp=at, key=b"k", value=b"v") for at in timestamps]
        data = encode_batch(records, **batch)
        self.broker.replicas.append(
            self.partition(topic, index), memoryview(data), acks=1, now_ms=self.clock.now_ms()
        )
        self.broker.replicas.write_dirty()

    # Requests

    def ctx(self, request: Message, version: int, on: str = "PLAINTEXT") -> RequestContext:
        return RequestContext(
            api_key=request.api_key,
            api_version=version,
            correlation_id=7,
            client_id="test",
            listener=listener(on),
            peer_host="127.0.0.1",
        )

    def call(
        self, handler: Callable[..., Any], request: Message, version: int, on: str = "PLAINTEXT"
    ) -> Any:
        """The answer; must be there at once.  It also has to be one that the version can carry."""
        answer = handler(self.broker, self.ctx(request, version, on), request)
        if isinstance(answer, Later):
            answered: list[Message] = []
            answer.when_done(answered.append)
            assert answered, "the answer waits for something"
            answer = answered[0]
        assert type(answer).decode(answer.encode(version), version) is not None
        return answer

    def begin(self, handler: Callable[..., Any], request: Message, version: int) -> list[Message]:
        """Start a request that waits; the list gets the answer."""
        later = handler(self.broker, self.ctx(request, version), request)
        assert isinstance(later, Later)
        answered: list[Message] = []
        later.when_done(answered.append)
        return answered


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """For other settings: `make_world(**{"auto.create.topics.enable": "false"})`."""
    made: list[World] = []

    def make(**settings: str) -> World:
        made.append(World(tmp_path / str(len(made)), **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
