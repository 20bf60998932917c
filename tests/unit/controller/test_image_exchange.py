"""A new image in place of an old one: what changed is told as one run would tell it."""

from __future__ import annotations

from barnabas.controller.image import ClusterImage, ResourceType
from barnabas.controller.image_exchange import exchange
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

A, B = b"a" * 16, b"b" * 16


def partition(topic_id: bytes, index: int, *, leader: int = 1, epoch: int = 0) -> Message:
    return mr.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=[1, 2],
        isr=[1, 2],
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch,
    )


def broker(number: int, *, epoch: int = 1) -> Message:
    return mr.RegisterBrokerRecord(broker_id=number, broker_epoch=epoch, fenced=False)


def config(name: str, value: str) -> Message:
    return mr.ConfigRecord(
        resource_type=ResourceType.TOPIC, resource_name=name, name="retention.ms", value=value
    )


def image(*records: Message, offset: int) -> ClusterImage:
    made = ClusterImage("cluster")
    made.replay_run(records, offset=offset, epoch=offset)
    return made


def before() -> ClusterImage:
    return image(
        mr.FeatureLevelRecord(name="f", feature_level=1),
        broker(1),
        broker(2),
        mr.TopicRecord(name="a", topic_id=A),
        partition(A, 0),
        partition(A, 1),
        config("a", "1"),
        offset=9,
    )


def test_it_becomes_equal_for_all_who_hold_it() -> None:
    held = before()
    newer = image(mr.TopicRecord(name="b", topic_id=B), partition(B, 0), offset=20)

    exchange(held, newer)

    assert held == image(mr.TopicRecord(name="b", topic_id=B), partition(B, 0), offset=20)
    held.replay_run([partition(B, 1)], offset=21, epoch=21)
    assert len(held.topics["b"].partitions) == 2


def test_what_is_equal_has_not_changed() -> None:
    held = before()

    assert not exchange(held, before())


def test_topics_come_and_go() -> None:
    held = before()
    gone = held.topics["a"]

    changes = exchange(
        held, image(mr.TopicRecord(name="a", topic_id=B), partition(B, 0), offset=20)
    )

    assert changes.topics_deleted == {A: gone}
    assert set(changes.topics_created) == {B}
    assert changes.partitions == {(B, 0): None}


def test_of_a_topic_that_stayed_the_partitions_that_changed_or_are_new() -> None:
    held = before()
    old = held.topics["a"].partitions[1]

    changes = exchange(
        held,
        image(
            mr.TopicRecord(name="a", topic_id=A),
            partition(A, 0),
            partition(A, 1, leader=2, epoch=1),
            partition(A, 2),
            offset=20,
        ),
    )

    assert changes.partitions == {(A, 1): old, (A, 2): None}
    assert not changes.topics_created
    assert not changes.topics_deleted


def test_brokers_settings_features_and_producer_ids() -> None:
    held = before()
    old = dict(held.brokers)

    changes = exchange(
        held,
        image(
            mr.FeatureLevelRecord(name="g", feature_level=2),
            broker(1, epoch=8),
            broker(3),
            mr.TopicRecord(name="a", topic_id=A),
            partition(A, 0),
            partition(A, 1),
            config("a", "2"),
            mr.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1000),
            offset=20,
        ),
    )

    assert changes.brokers == {1: old[1], 2: old[2], 3: None}
    assert changes.configs == {(ResourceType.TOPIC, "a")}
    assert changes.features == {"f": 1, "g": 0}
    assert changes.producer_ids
    assert not changes.partitions


def test_quotas_that_are_not_the_same() -> None:
    held = before()
    entity = [mr.EntityData(entity_type="user", entity_name="u")]
    newer = before()
    newer.replay(mr.ClientQuotaRecord(entity=entity, key="k", value=1.0))

    assert exchange(held, newer).quotas
    assert held.quotas == {(("user", "u"),): {"k": 1.0}}
