from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.fenced_lately import NAMED_S
from barnabas.broker.handlers.k03_metadata import metadata
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnregisterBrokerRecord,
)

CLUSTER_ID = "cluster-of-the-test-00"
LATEST = 13
OWN = MetadataResponseBroker(node_id=1, host="broker-1", port=9092)


def ask(*names: str | None, create: bool = False, **fields: Any) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **fields)


def partition(index: int = 0, **fields: Any) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=index,
        **{"leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1], **fields},
    )


def test_the_whole_answer(world: Any) -> None:
    topic_id = world.topic("orders", partitions=2)

    assert world.call(metadata, ask("orders"), LATEST) == MetadataResponse(
        brokers=[OWN],
        cluster_id=CLUSTER_ID,
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name="orders", topic_id=topic_id, partitions=[partition(0), partition(1)]
            )
        ],
    )


@pytest.mark.parametrize(
    ("topics", "version", "told"),
    [
        (None, 1, ["a", "b"]),
        (None, LATEST, ["a", "b"]),
        ([], 0, ["a", "b"]),
        ([], 1, []),
        ([], LATEST, []),
        ([MetadataRequestTopic(name="b")], 0, ["b"]),
        ([MetadataRequestTopic(name="b"), MetadataRequestTopic(name="b")], LATEST, ["b"]),
    ],
)
def test_which_topics_a_request_means(
    world: Any, topics: list[MetadataRequestTopic] | None, version: int, told: list[str]
) -> None:
    world.topic("b")
    world.topic("a")

    answer = world.call(metadata, MetadataRequest(topics=topics), version)

    assert [topic.name for topic in answer.topics] == told
    assert world.controller.submitted == []


def test_a_client_gets_the_endpoints_of_its_own_listener(world: Any) -> None:
    world.register(1, listeners=("PLAINTEXT", "INSIDE"), rack="r1")
    world.register(2, listeners=("PLAINTEXT",))

    assert world.call(metadata, ask(), LATEST, on="INSIDE").brokers == [
        MetadataResponseBroker(node_id=1, host="broker-1", port=9093, rack="r1")
    ]
    assert [b.node_id for b in world.call(metadata, ask(), LATEST).brokers] == [1, 2]


def test_topics_are_asked_by_id(world: Any) -> None:
    known = world.topic("orders")
    world.topic("others")
    unknown = b"u" * 16
    request = MetadataRequest(
        topics=[
            MetadataRequestTopic(name=None, topic_id=unknown),
            MetadataRequestTopic(name=None, topic_id=known),
            MetadataRequestTopic(name="others"),
        ]
    )

    assert world.call(metadata, request, LATEST).topics == [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=unknown),
        MetadataResponseTopic(name="orders", topic_id=known, partitions=[partition()]),
    ]


@pytest.mark.parametrize(
    ("topic", "version"),
    [
        (MetadataRequestTopic(name="orders", topic_id=b"i" * 16), 10),
        (MetadataRequestTopic(name=None, topic_id=b"i" * 16), 11),
        (MetadataRequestTopic(name=None), 11),
        (MetadataRequestTopic(name=None), 12),
    ],
)
def test_ids_and_missing_names_are_refused_where_they_mean_nothing(
    world: Any, topic: MetadataRequestTopic, version: int
) -> None:
    assert world.call(metadata, MetadataRequest(topics=[topic]), version) == MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST,
                name=topic.name or "",
                topic_id=topic.topic_id,
            )
        ]
    )


def test_a_missing_topic_is_not_created_unless_the_client_wants_it(world: Any) -> None:
    assert world.call(metadata, ask("new", "two words"), LATEST).topics == [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="new"),
        MetadataResponseTopic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name="two words"),
    ]
    assert world.controller.submitted == []


def test_a_missing_topic_is_not_created_unless_the_broker_allows_it(
    make_world: Callable[..., Any],
) -> None:
    world = make_world(**{"auto.create.topics.enable": "false"})

    (topic,) = world.call(metadata, ask("new", create=True), LATEST).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.controller.submitted == []


def test_a_missing_topic_is_created_with_the_defaults_and_then_told(
    make_world: Callable[..., Any],
) -> None:
    world = make_world(**{"num.partitions": "2", "default.replication.factor": "1"})
    world.topic("there")

    answered = world.begin(metadata, ask("new", "there", "two words", create=True), LATEST)

    assert world.controller.submitted == [
        CreateTopicsRequest(
            topics=[CreatableTopic(name="new", num_partitions=2, replication_factor=1)],
            timeout_ms=30_000,
        )
    ]
    assert answered == []
    topic_id = world.topic("new", partitions=2)
    world.controller.answer(CreateTopicsResponse(topics=[CreatableTopicResult(name="new")]))
    (answer,) = answered
    assert [(t.name, t.error_code, len(t.partitions)) for t in answer.topics] == [
        ("new", ErrorCode.NONE, 2),
        ("there", ErrorCode.NONE, 1),
        ("two words", ErrorCode.INVALID_TOPIC_EXCEPTION, 0),
    ]
    assert answer.topics[0].topic_id == topic_id


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_a_topic_that_was_not_created_is_told_so(
    world: Any, decided: ErrorCode, told: ErrorCode
) -> None:
    answered = world.begin(metadata, ask("new", create=True), LATEST)
    world.controller.answer(
        CreateTopicsResponse(
            topics=[CreatableTopicResult(name="new", error_code=decided, error_message="x")]
        )
    )

    assert answered[0].topics == [MetadataResponseTopic(error_code=told, name="new")]


def test_another_client_may_have_been_faster(world: Any) -> None:
    answered = world.begin(metadata, ask("new", create=True), LATEST)
    world.topic("new")
    world.controller.answer(
        CreateTopicsResponse(
            topics=[CreatableTopicResult(name="new", error_code=ErrorCode.TOPIC_ALREADY_EXISTS)]
        )
    )

    assert answered[0].topics[0].error_code == ErrorCode.NONE


def test_versions_before_4_always_want_topics_created(world: Any) -> None:
    request = MetadataRequest.decode(ask("new", create=True).encode(3), 3)

    world.begin(metadata, request, 3)

    assert len(world.controller.submitted) == 1


def test_internal_topics_are_created_with_their_own_settings(world: Any) -> None:
    world.begin(metadata, ask("__consumer_offsets", "__transaction_state", create=True), LATEST)

    offsets, transactions = world.controller.submitted[0].topics
    assert offsets == CreatableTopic(
        name="__consumer_offsets",
        num_partitions=50,
        replication_factor=3,
        configs=[
            CreatableTopicConfig(name="compression.type", value="producer"),
            CreatableTopicConfig(name="segment.bytes", value="104857600"),
            CreatableTopicConfig(name="cleanup.policy", value="compact"),
        ],
    )
    assert {c.name: c.value for c in transactions.configs} == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


def test_internal_topics_are_marked(world: Any) -> None:
    world.topic("__consumer_offsets")

    answer = world.call(metadata, ask("__consumer_offsets", "__transaction_state"), LATEST)

    assert [topic.is_internal for topic in answer.topics] == [True, True]


def test_operations_are_told_when_asked(world: Any) -> None:
    world.topic("orders")
    request = ask(
        "orders",
        "nope",
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )

    answer = world.call(metadata, request, 8)

    assert [t.topic_authorized_operations for t in answer.topics] == [3576, 3576]
    assert answer.cluster_authorized_operations == 8096


def test_a_partition_without_a_leader(world: Any) -> None:
    world.topic("orders", replicas=(1, 2), isr=(2,), leader=-1)

    (topic,) = world.call(metadata, ask("orders"), LATEST).topics

    assert topic.partitions == [
        partition(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE,
            leader_id=-1,
            replica_nodes=[1, 2],
            isr_nodes=[2],
            offline_replicas=[2],
        )
    ]


@pytest.mark.parametrize(
    ("version", "error"),
    [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)],
)
def test_a_leader_that_is_not_on_the_listener(world: Any, version: int, error: ErrorCode) -> None:
    world.register(1, listeners=("PLAINTEXT", "INSIDE"))
    world.register(2, listeners=("INSIDE",))
    world.topic("orders", replicas=(2, 1))

    (topic,) = world.call(metadata, ask("orders"), version).topics

    assert topic.partitions == [
        partition(
            error_code=error,
            leader_id=-1,
            replica_nodes=[2, 1],
            isr_nodes=[2, 1],
            offline_replicas=[2],
        )
    ]


def test_version_0_is_only_told_of_reachable_replicas(world: Any) -> None:
    world.topic("orders", replicas=(1, 2))

    (topic,) = world.call(metadata, ask("orders"), 0).topics

    assert topic.partitions == [
        partition(error_code=ErrorCode.REPLICA_NOT_AVAILABLE, offline_replicas=[2])
    ]


def test_replicas_are_offline_with_their_broker_or_directory(world: Any) -> None:
    here, gone, lost = b"h" * 16, b"g" * 16, bytes(15) + b"\x02"
    world.register(1, log_dirs=(here,))
    world.register(2, log_dirs=(here,))
    world.register(3)
    world.register(4, fenced=True, log_dirs=(here,))
    world.topic("orders", replicas=(1, 2, 3, 4, 5), directories=(here, gone, lost, here, here))

    (topic,) = world.call(metadata, ask("orders"), LATEST).topics

    assert topic.partitions[0].offline_replicas == [2, 3, 4, 5]


def test_a_fenced_broker_is_told_a_moment_longer_to_who_asks_for_its_partitions(
    world: Any,
) -> None:
    world.register(2)
    world.register(3)
    world.topic("orders", replicas=(1, 2), isr=(2,), leader=2)
    world.topic("others", replicas=(2, 3), leader=2)
    world.replay(FenceBrokerRecord(id=1, epoch=world.image.brokers[1].epoch))

    answer = world.call(metadata, ask("orders"), LATEST)
    assert [b.node_id for b in answer.brokers] == [1, 2, 3]
    assert answer.controller_id == 2
    (found,) = answer.topics[0].partitions
    assert (found.leader_id, found.isr_nodes, found.offline_replicas) == (2, [2], [1])

    for asked in (ask(), ask("others"), MetadataRequest(topics=None)):
        answer = world.call(metadata, asked, LATEST)
        assert [b.node_id for b in answer.brokers] == [2, 3]

    world.clock.mono += NAMED_S
    answer = world.call(metadata, ask("orders"), LATEST)
    assert [b.node_id for b in answer.brokers] == [2, 3]


def test_a_broker_that_leaves_by_itself_is_told_no_more(world: Any) -> None:
    world.register(2)
    world.topic("orders", replicas=(1, 2))
    epoch = world.image.brokers[2].epoch
    for change in ({"in_controlled_shutdown": 1}, {"fenced": 1}):
        world.replay(BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=epoch, **change))

    assert [b.node_id for b in world.call(metadata, ask("orders"), LATEST).brokers] == [1]


def test_a_broker_that_comes_back_and_is_fenced_once_more_is_told_a_moment_longer(
    world: Any,
) -> None:
    world.register(2)
    world.topic("orders", replicas=(1, 2))
    epoch = world.image.brokers[2].epoch
    for fenced in (1, -1, 1):
        world.clock.mono += NAMED_S - 1
        world.replay(BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=epoch, fenced=fenced))

    assert [b.node_id for b in world.call(metadata, ask("orders"), LATEST).brokers] == [1, 2]


def test_no_broker_at_all(world: Any) -> None:
    world.replay(UnregisterBrokerRecord(broker_id=1, broker_epoch=world.image.brokers[1].epoch))

    answer = world.call(metadata, ask(), LATEST)

    assert (answer.brokers, answer.controller_id) == ([], -1)
