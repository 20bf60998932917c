"""An image as records again: what a snapshot holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.controller.image_types import BrokerImage, PartitionImage, QuotaEntity
from barnabas.protocol.messages import metadata_records as mr

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message


def dump(image: ClusterImage) -> list[Message]:
    """Records in an order that replays: features first, a topic before its partitions."""
    return [
        *_dump_features(image),
        *(_broker_record(image.brokers[i]) for i in sorted(image.brokers)),
        *_dump_topics(image),
        *_dump_configs(image),
        *_dump_producer_ids(image),
        *_dump_quotas(image),
        *image.scram.values(),
        *image.kept.values(),
    ]


def _dump_features(image: ClusterImage) -> Iterator[Message]:
    """metadata.version before all others: it says which records may follow."""
    for name in sorted(image.features, key=lambda name: (name != "metadata.version", name)):
        yield mr.FeatureLevelRecord(name=name, feature_level=image.features[name])


def _broker_record(broker: BrokerImage) -> Message:
    return mr.RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            mr.BrokerEndpoint(
                name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in broker.endpoints
        ],
        features=[
            mr.BrokerFeature(
                name=name, min_supported_version=levels.min, max_supported_version=levels.max
            )
            for name, levels in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
    )


def _dump_topics(image: ClusterImage) -> Iterator[Message]:
    for topic in image.topics.values():
        yield mr.TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in enumerate(topic.partitions):
            yield partition_record(topic.id, index, partition)


def partition_record(topic_id: bytes, index: int, partition: PartitionImage) -> mr.PartitionRecord:
    """The record that makes this partition."""
    return mr.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing),
        adding_replicas=list(partition.adding),
        leader=partition.leader,
        leader_recovery_state=int(partition.recovering),
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _dump_configs(image: ClusterImage) -> Iterator[Message]:
    for (resource_type, resource), config in image.configs.items():
        for name, value in config.items():
            yield mr.ConfigRecord(
                resource_type=resource_type, resource_name=resource, name=name, value=value
            )


def _dump_producer_ids(image: ClusterImage) -> Iterator[Message]:
    if image.next_producer_id > 0:
        yield mr.ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )


def _dump_quotas(image: ClusterImage) -> Iterator[Message]:
    for entity, values in image.quotas.items():
        for key, value in values.items():
            yield quota_record(entity, key, value)


def quota_record(entity: QuotaEntity, key: str, value: float | None) -> mr.ClientQuotaRecord:
    """The record that sets that quota, or, without a value, removes it."""
    return mr.ClientQuotaRecord(
        entity=[mr.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        key=key,
        value=value or 0.0,
        remove=value is None,
    )
