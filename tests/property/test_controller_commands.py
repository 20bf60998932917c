"""Any sequence of requests leaves a cluster that makes sense, and a journal that tells it again."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.base.settings import BrokerConfig
from barnabas.controller.bootstrap import initial_records
from barnabas.controller.controller import Controller
from barnabas.controller.decider.decision import Environment
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage
from barnabas.controller.journal_files import JournalFiles
from barnabas.controller.record_codec import decode_record, encode_record
from barnabas.controller.sessions import BrokerSessions
from barnabas.protocol.message import Message
from barnabas.protocol.messages import incremental_alter_configs as iac
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Listener
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

CLUSTER = "cluster-of-the-test-00"
NAMES = ["a", "b", "c.d", "c_d", "bad name", ""]
broker_ids = st.integers(1, 4)
names = st.sampled_from(NAMES)
replica_lists = st.lists(broker_ids, max_size=3)


class MemoryFiles:
    """A disk that never fails."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes:
        return self.files[name]

    def append(self, name: str, data: bytes, *, position: int) -> None:
        old = self.files.get(name, b"")
        assert position == len(old)
        self.files[name] = old + data

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        self.files[name] = data

    def truncate(self, name: str, size: int) -> None:
        self.files[name] = self.files.get(name, b"")[:size]

    def remove(self, name: str) -> None:
        self.files.pop(name, None)


def controller(files: JournalFiles, seed: int, now_ms: Any) -> Controller:
    config = BrokerConfig.from_properties({"node.id": "1"})
    made = Controller(
        journal=EmbeddedJournal(files, node_id=1, snapshot_bytes=2_000),
        image=ClusterImage(CLUSTER),
        env=Environment(config=config, sessions=BrokerSessions(9_000), random=Random(seed)),
        now_ms=now_ms,
    )
    made.load(initial_records())
    return made


class Cluster(RuleBasedStateMachine):
    """Brokers come and go, clients ask for sense and nonsense."""

    @initialize(seed=st.integers(0, 2**32))
    def start(self, seed: int) -> None:
        self.now = 0
        self.seed = seed
        self.files = MemoryFiles()
        self.before: dict[tuple[bytes, int], tuple[int, int]] = {}
        self.broker_epochs: dict[int, int] = {}
        self.producer_id = 0
        self.controller = controller(self.files, seed, lambda: self.now)
        self.ask(BrokerRegistrationRequest(**self.registration(1, 0)))
        self.beat(1)

    @property
    def image(self) -> ClusterImage:
        return self.controller.image

    def registration(self, broker_id: int, incarnation: int) -> dict[str, Any]:
        return {
            "broker_id": broker_id,
            "cluster_id": CLUSTER,
            "incarnation_id": bytes([broker_id, incarnation]) * 8,
            "listeners": [Listener(name="IN", host="h", port=9)],
            "rack": "xy"[broker_id % 2],
            "log_dirs": [bytes([broker_id]) * 16],
        }

    def ask(self, request: Message) -> Any:
        answers: list[Any] = []
        self.controller.submit(request, answers.append)
        assert len(answers) == 1, "every request is answered once"
        response = answers[0]
        latest = type(response).max_version
        assert type(response).decode(response.encode(latest), latest), "the answer can be sent"
        return response

    def beat(self, broker_id: int, **wishes: bool) -> None:
        broker = self.image.brokers[broker_id]
        self.ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=broker.epoch,
                current_metadata_offset=self.image.applied_offset,
                **wishes,
            )
        )

    # Brokers

    @rule(broker_id=broker_ids, incarnation=st.integers(0, 3))
    def register(self, broker_id: int, incarnation: int) -> None:
        self.ask(BrokerRegistrationRequest(**self.registration(broker_id, incarnation)))

    @rule(broker_id=broker_ids, fence=st.booleans(), leave=st.booleans())
    def heartbeat(self, broker_id: int, fence: bool, leave: bool) -> None:
        if broker_id in self.image.brokers:
            self.beat(broker_id, want_fence=fence, want_shut_down=leave)

    @rule(broker_id=broker_ids)
    def come_back(self, broker_id: int) -> None:
        if broker_id in self.image.brokers:
            self.beat(broker_id)

    @rule(broker_id=broker_ids)
    def unregister(self, broker_id: int) -> None:
        self.ask(UnregisterBrokerRequest(broker_id=broker_id))

    @rule(ms=st.integers(0, 12_000))
    def time_passes(self, ms: int) -> None:
        self.now += ms
        self.controller.tick()

    # Topics

    @rule(
        name=names,
        partitions=st.integers(-2, 4),
        factor=st.integers(-1, 4),
        on=st.lists(replica_lists, max_size=2),
        retention=st.sampled_from([None, "1", "x"]),
        check=st.booleans(),
    )
    def create(
        self,
        *,
        name: str,
        partitions: int,
        factor: int,
        on: list[list[int]],
        retention: str | None,
        check: bool,
    ) -> None:
        configs = [CreatableTopicConfig(name="retention.ms", value=retention)] if retention else []
        topic = CreatableTopic(
            name=name,
            num_partitions=-1 if on else partitions,
            replication_factor=-1 if on else factor,
            assignments=[
                CreatableReplicaAssignment(partition_index=i, broker_ids=brokers)
                for i, brokers in enumerate(on)
            ],
            configs=configs,
        )
        before = self.image.applied_offset
        response = self.ask(CreateTopicsRequest(topics=[topic], validate_only=check))
        made = response.topics[0].error_code == 0 and not check
        assert made == (self.image.applied_offset > before)
        assert not made or name in self.image.topics

    @rule(name=names, count=st.integers(0, 6), on=st.none() | st.lists(replica_lists, max_size=1))
    def grow(self, name: str, count: int, on: list[list[int]] | None) -> None:
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        if on is not None:
            topic.assignments = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in on]
        self.ask(CreatePartitionsRequest(topics=[topic]))

    @rule(name=names, by_id=st.booleans())
    def delete(self, name: str, by_id: bool) -> None:
        state = DeleteTopicState(name=name)
        if by_id and name in self.image.topics:
            state = DeleteTopicState(topic_id=self.image.topics[name].id)
        self.ask(DeleteTopicsRequest(topics=[state]))
        assert name not in self.image.topics

    @precondition(lambda self: self.image.topics)
    @rule(data=st.data())
    def change_isr(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.image.topics)))
        topic = self.image.topics[name]
        index = data.draw(st.integers(0, len(topic.partitions) - 1))
        partition = topic.partitions[index]
        broker_id = data.draw(st.sampled_from([*partition.replicas, 1]))
        isr = data.draw(st.lists(st.sampled_from(partition.replicas), max_size=3))
        brokers = self.image.brokers
        self.ask(
            AlterPartitionRequest(
                broker_id=broker_id,
                broker_epoch=brokers[broker_id].epoch if broker_id in brokers else -1,
                topics=[
                    RequestTopicData(
                        topic_id=topic.id,
                        partitions=[
                            RequestPartitionData(
                                partition_index=index,
                                leader_epoch=partition.leader_epoch,
                                partition_epoch=partition.partition_epoch,
                                new_isr_with_epochs=[
                                    BrokerState(
                                        broker_id=i,
                                        broker_epoch=brokers[i].epoch if i in brokers else 0,
                                    )
                                    for i in isr
                                ],
                            )
                        ],
                    )
                ],
            )
        )

    # Everything else

    @rule(
        resource=st.sampled_from([(2, "a"), (2, "b"), (4, ""), (4, "1"), (4, "9"), (3, "x")]),
        key=st.sampled_from(
            ["cleanup.policy", "unclean.leader.election.enable", "log.retention.ms", "node.id"]
        ),
        operation=st.integers(0, 4),
        value=st.sampled_from([None, "compact", "true", "5", "x"]),
    )
    def configure(
        self, resource: tuple[int, str], key: str, operation: int, value: str | None
    ) -> None:
        change = iac.AlterableConfig(name=key, config_operation=operation, value=value)
        kind, name = resource
        self.ask(
            iac.IncrementalAlterConfigsRequest(
                resources=[
                    iac.AlterConfigsResource(
                        resource_type=kind, resource_name=name, configs=[change]
                    )
                ]
            )
        )

    @rule(broker_id=broker_ids, right=st.booleans())
    def allocate(self, broker_id: int, right: bool) -> None:
        broker = self.image.brokers.get(broker_id)
        epoch = broker.epoch if broker is not None and right else -5
        before = self.image.next_producer_id
        response = self.ask(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
        if response.error_code == 0:
            assert response.producer_id_start >= before
            assert self.image.next_producer_id == response.producer_id_start + 1000

    @rule(
        feature=st.sampled_from(["group.version", "transaction.version", "metadata.version"]),
        level=st.integers(-1, 26),
        kind=st.integers(0, 3),
    )
    def update_feature(self, feature: str, level: int, kind: int) -> None:
        update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
        self.ask(UpdateFeaturesRequest(feature_updates=[update]))

    @rule()
    def restart(self) -> None:
        """Everything is read again, by a controller with another random source."""
        old = self.image
        self.seed += 1
        self.controller = controller(self.files, self.seed, lambda: self.now)
        assert self.image == old

    # What always holds

    @invariant()
    def partitions_make_sense(self) -> None:
        for topic in self.image.topics.values():
            assert topic.partitions
            assert len({len(p.replicas) for p in topic.partitions}) == 1
            for partition in topic.partitions:
                replicas = set(partition.replicas)
                assert len(replicas) == len(partition.replicas)
                assert set(partition.isr) <= replicas
                assert partition.isr
                assert partition.leader == -1 or partition.leader in partition.isr
                assert len(partition.directories) == len(partition.replicas)

    @invariant()
    def leaders_are_active(self) -> None:
        for topic in self.image.topics.values():
            for partition in topic.partitions:
                active = {b.id for b in self.image.active_brokers()}
                assert partition.leader == -1 or partition.leader in active
                if partition.leader == -1:
                    assert not active & set(partition.isr), "somebody in sync could lead"

    @invariant()
    def epochs_only_grow(self) -> None:
        now = {
            (topic.id, index): (partition.leader_epoch, partition.partition_epoch)
            for topic in self.image.topics.values()
            for index, partition in enumerate(topic.partitions)
        }
        for key, (leader_epoch, partition_epoch) in now.items():
            old = self.before.get(key, (0, 0))
            assert leader_epoch >= old[0]
            assert partition_epoch >= old[1]
        self.before = now
        for broker in self.image.brokers.values():
            assert broker.epoch >= self.broker_epochs.get(broker.id, 0)
            self.broker_epochs[broker.id] = broker.epoch
        assert self.image.next_producer_id >= self.producer_id
        self.producer_id = self.image.next_producer_id

    @invariant()
    def look_ups_agree(self) -> None:
        topics = self.image.topics
        assert {t.id: t for t in topics.values()} == self.image.topics_by_id
        assert all(name == topic.name for name, topic in topics.items())
        for name in topics:
            assert name in self.image.similar_names(name)
        named = {name for kind, name in self.image.configs if kind == 2}
        assert named <= set(topics)

    @invariant()
    def the_image_is_what_its_records_say(self) -> None:
        copy = ClusterImage(CLUSTER)
        for record in self.image.dump():
            decoded = decode_record(encode_record(record))
            assert decoded is not None
            copy.replay(decoded)
        copy.applied_offset = self.image.applied_offset
        copy.applied_epoch = self.image.applied_epoch
        assert copy == self.image

    def teardown(self) -> None:
        """Who follows the journal from outside ends up with the same image."""
        if not hasattr(self, "files"):
            return
        journal = EmbeddedJournal(self.files, node_id=2)
        kept = journal.snapshot()
        image = ClusterImage(CLUSTER)
        if kept is not None:
            image.load_snapshot(kept.records, end_offset=kept.end_offset, epoch=kept.epoch)
        runs = list(journal.read(kept.end_offset if kept else 0))
        assert all(a.last_offset < b.last_offset for a, b in pairwise(runs))
        for run in runs:
            image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)
        assert image == self.image


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
