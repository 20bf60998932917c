"""How each metadata record changes an image.

Each function below asserts what must hold before its record: a journal that breaks it is damaged,
or was written by a decider with a bug, and going on would hide that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from barnabas.controller.image_types import (
    NO_LEADER_CHANGE,
    UNASSIGNED_DIRECTORY,
    UNKNOWN_DIRECTORY,
    BrokerImage,
    Endpoint,
    ImageChanges,
    PartitionImage,
    ResourceType,
    TopicImage,
    VersionRange,
)
from barnabas.protocol.messages import metadata_records as mr

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

_Replay = Callable[["ClusterImage", Any, ImageChanges], None]


def replay(image: ClusterImage, record: Message, changes: ImageChanges) -> None:
    """Apply `record` to `image` and note in `changes` what it changed."""
    _REPLAY[type(record)](image, record, changes)


# Topics


def _topic(image: ClusterImage, record: mr.TopicRecord, changes: ImageChanges) -> None:
    assert record.name not in image.topics, f"topic {record.name} exists"
    assert record.topic_id not in image.topics_by_id, f"topic id of {record.name} is in use"
    topic = TopicImage(name=record.name, id=record.topic_id)
    image.topics[record.name] = image.topics_by_id[record.topic_id] = topic
    image.adopt(record.topic_id)
    image.index_name(record.name, present=True)
    changes.topics_created[record.topic_id] = topic


def _remove_topic(image: ClusterImage, record: mr.RemoveTopicRecord, changes: ImageChanges) -> None:
    topic = image.topics_by_id.pop(record.topic_id, None)
    assert topic is not None, f"no topic with id {record.topic_id.hex()}"
    del image.topics[topic.name]
    image.index_name(topic.name, present=False)
    key = (ResourceType.TOPIC.value, topic.name)
    if image.configs.pop(key, None) is not None:
        changes.configs.add(key)
    before = [
        changes.partitions.pop((topic.id, index), partition)
        for index, partition in enumerate(topic.partitions)
    ]
    if changes.topics_created.pop(topic.id, None) is None:
        old = [partition for partition in before if partition is not None]
        changes.topics_deleted[topic.id] = replace(topic, partitions=old)


def _partition(image: ClusterImage, record: mr.PartitionRecord, changes: ImageChanges) -> None:
    topic = image.own(record.topic_id)
    index = record.partition_id
    count = len(topic.partitions)
    assert 0 <= index <= count, f"partition {topic.name}-{index} when there are {count}"
    directories = record.directories or [UNKNOWN_DIRECTORY] * len(record.replicas)
    partition = PartitionImage(
        replicas=image.share(record.replicas),
        isr=image.share(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=image.share(directories),
        adding=image.share(record.adding_replicas),
        removing=image.share(record.removing_replicas),
        elr=image.share(record.eligible_leader_replicas),
        last_known_elr=image.share(record.last_known_elr),
        recovering=record.leader_recovery_state == 1,
    )
    _check(topic.name, index, partition)
    if index == count:
        changes.partitions[topic.id, index] = None
        topic.partitions.append(partition)
    else:
        changes.partitions.setdefault((topic.id, index), topic.partitions[index])
        topic.partitions[index] = partition


def _partition_change(
    image: ClusterImage, record: mr.PartitionChangeRecord, changes: ImageChanges
) -> None:
    topic = image.own(record.topic_id)
    index = record.partition_id
    assert 0 <= index < len(topic.partitions), f"no partition {topic.name}-{index}"
    old = topic.partitions[index]
    replicas = old.replicas if record.replicas is None else image.share(record.replicas)
    elected = record.leader != NO_LEADER_CHANGE
    state = record.leader_recovery_state
    partition = PartitionImage(
        replicas=replicas,
        isr=old.isr if record.isr is None else image.share(record.isr),
        leader=record.leader if elected else old.leader,
        leader_epoch=old.leader_epoch + 1 if elected else old.leader_epoch,
        partition_epoch=old.partition_epoch + 1,
        directories=image.share(_directories(old, replicas, record.directories)),
        adding=old.adding
        if record.adding_replicas is None
        else image.share(record.adding_replicas),
        removing=old.removing
        if record.removing_replicas is None
        else image.share(record.removing_replicas),
        elr=old.elr
        if record.eligible_leader_replicas is None
        else image.share(record.eligible_leader_replicas),
        last_known_elr=old.last_known_elr
        if record.last_known_elr is None
        else image.share(record.last_known_elr),
        recovering=old.recovering if state < 0 else state == 1,
    )
    _check(topic.name, index, partition)
    changes.partitions.setdefault((topic.id, index), old)
    topic.partitions[index] = partition


def _clear_elr(image: ClusterImage, record: mr.ClearElrRecord, changes: ImageChanges) -> None:
    """Nobody outside the ISR counts as safe any more, in one topic or (no name) in all."""
    names = [record.topic_name] if record.topic_name else list(image.topics)
    for name in names:
        found = image.topics.get(name)
        assert found is not None, f"no topic {name}"
        for index, old in enumerate(found.partitions):
            if old.elr or old.last_known_elr:
                changes.partitions.setdefault((found.id, index), old)
                partitions = image.own(found.id).partitions
                partitions[index] = replace(old, elr=(), last_known_elr=())


def _directories(
    old: PartitionImage, replicas: tuple[int, ...], given: list[bytes] | None
) -> tuple[bytes, ...]:
    """Of each of `replicas`: as given, or as before, or unassigned where a replica is new."""
    if given is not None:
        return tuple(given)
    if replicas == old.replicas:
        return old.directories
    known = dict(zip(old.replicas, old.directories, strict=True))
    return tuple(known.get(replica, UNASSIGNED_DIRECTORY) for replica in replicas)


def _check(topic: str, index: int, partition: PartitionImage) -> None:
    """What holds of every partition, always."""
    name = f"{topic}-{index}"
    replicas = partition.replicas
    assert replicas, f"{name} has no replicas"
    assert len(set(replicas)) == len(replicas), f"{name} has a replica twice: {replicas}"
    assert set(partition.isr) <= set(replicas), f"{name}: ISR {partition.isr} not in {replicas}"
    assert partition.leader == -1 or partition.leader in partition.isr, (
        f"{name}: leader {partition.leader} is not in the ISR {partition.isr}"
    )
    assert len(partition.directories) == len(replicas), f"{name}: a directory for each replica"


# Brokers


def _register_broker(
    image: ClusterImage, record: mr.RegisterBrokerRecord, changes: ImageChanges
) -> None:
    old = image.brokers.get(record.broker_id)
    assert old is None or record.broker_epoch >= old.epoch, (
        f"broker {record.broker_id} registered with epoch {record.broker_epoch} "
        f"after {old.epoch if old else -1}"
    )
    _set_broker(
        image,
        changes,
        BrokerImage(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=tuple(
                Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points
            ),
            features={
                f.name: VersionRange(f.min_supported_version, f.max_supported_version)
                for f in record.features
            },
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
        ),
    )


def _unregister_broker(
    image: ClusterImage, record: mr.UnregisterBrokerRecord, changes: ImageChanges
) -> None:
    old = _broker(image, record.broker_id, record.broker_epoch)
    changes.brokers.setdefault(old.id, old)
    del image.brokers[old.id]


def _fence_broker(image: ClusterImage, record: mr.FenceBrokerRecord, changes: ImageChanges) -> None:
    _set_broker(image, changes, replace(_broker(image, record.id, record.epoch), fenced=True))


def _unfence_broker(
    image: ClusterImage, record: mr.UnfenceBrokerRecord, changes: ImageChanges
) -> None:
    _set_broker(image, changes, replace(_broker(image, record.id, record.epoch), fenced=False))


def _broker_change(
    image: ClusterImage, record: mr.BrokerRegistrationChangeRecord, changes: ImageChanges
) -> None:
    old = _broker(image, record.broker_id, record.broker_epoch)
    _set_broker(
        image,
        changes,
        replace(
            old,
            fenced=old.fenced if record.fenced == 0 else record.fenced > 0,
            in_controlled_shutdown=old.in_controlled_shutdown or record.in_controlled_shutdown > 0,
            log_dirs=tuple(record.log_dirs) if record.log_dirs else old.log_dirs,
        ),
    )


def _broker(image: ClusterImage, broker_id: int, epoch: int) -> BrokerImage:
    broker = image.brokers.get(broker_id)
    assert broker is not None, f"broker {broker_id} is not registered"
    assert broker.epoch == epoch, f"broker {broker_id} has epoch {broker.epoch}, not {epoch}"
    return broker


def _set_broker(image: ClusterImage, changes: ImageChanges, broker: BrokerImage) -> None:
    changes.brokers.setdefault(broker.id, image.brokers.get(broker.id))
    image.brokers[broker.id] = broker


# Settings, features, producer ids, quotas, credentials


def _config(image: ClusterImage, record: mr.ConfigRecord, changes: ImageChanges) -> None:
    key = (record.resource_type, record.resource_name)
    config = dict(image.configs.get(key, ()))
    if record.value is None:
        config.pop(record.name, None)
    else:
        config[record.name] = record.value
    if config:
        image.configs[key] = config
    else:
        image.configs.pop(key, None)
    changes.configs.add(key)


def _feature(image: ClusterImage, record: mr.FeatureLevelRecord, changes: ImageChanges) -> None:
    assert record.feature_level >= 0, f"{record.name} at level {record.feature_level}"
    changes.features.setdefault(record.name, image.features.get(record.name, 0))
    if record.feature_level == 0:
        image.features.pop(record.name, None)
    else:
        image.features[record.name] = record.feature_level


def _producer_ids(image: ClusterImage, record: mr.ProducerIdsRecord, changes: ImageChanges) -> None:
    assert record.next_producer_id > image.next_producer_id, (
        f"producer ids go back from {image.next_producer_id} to {record.next_producer_id}"
    )
    image.next_producer_id = record.next_producer_id
    changes.producer_ids = True


def _quota(image: ClusterImage, record: mr.ClientQuotaRecord, changes: ImageChanges) -> None:
    named = ((each.entity_type, each.entity_name) for each in record.entity)
    entity = tuple(sorted(named, key=itemgetter(0)))
    assert entity, "a quota for nobody"
    assert len(dict(entity)) == len(entity), f"a quota for two of a kind: {entity}"
    values = dict(image.quotas.get(entity, ()))
    if record.remove:
        values.pop(record.key, None)
    else:
        values[record.key] = record.value
    if values:
        image.quotas[entity] = values
    else:
        image.quotas.pop(entity, None)
    changes.quotas = True


def _scram(
    image: ClusterImage, record: mr.UserScramCredentialRecord, changes: ImageChanges
) -> None:
    image.scram[record.name, record.mechanism] = record


def _remove_scram(
    image: ClusterImage, record: mr.RemoveUserScramCredentialRecord, changes: ImageChanges
) -> None:
    image.scram.pop((record.name, record.mechanism), None)


def _nothing(image: ClusterImage, record: Message, changes: ImageChanges) -> None:
    """Records that only exist for the journal itself."""


# Kept for snapshots

_KEYS: dict[type[Any], Callable[[Any], tuple[object, ...]]] = {
    mr.AccessControlEntryRecord: lambda r: ("acl", r.id),
    mr.RemoveAccessControlEntryRecord: lambda r: ("acl", r.id),
    mr.DelegationTokenRecord: lambda r: ("token", r.token_id),
    mr.RemoveDelegationTokenRecord: lambda r: ("token", r.token_id),
    mr.RegisterControllerRecord: lambda r: ("controller", r.controller_id),
}


def _keep(image: ClusterImage, record: Message, changes: ImageChanges) -> None:
    image.kept[_KEYS[type(record)](record)] = record


def _drop(image: ClusterImage, record: Message, changes: ImageChanges) -> None:
    image.kept.pop(_KEYS[type(record)](record), None)


_REPLAY: dict[type[Any], _Replay] = {
    mr.TopicRecord: _topic,
    mr.RemoveTopicRecord: _remove_topic,
    mr.PartitionRecord: _partition,
    mr.PartitionChangeRecord: _partition_change,
    mr.ClearElrRecord: _clear_elr,
    mr.RegisterBrokerRecord: _register_broker,
    mr.UnregisterBrokerRecord: _unregister_broker,
    mr.FenceBrokerRecord: _fence_broker,
    mr.UnfenceBrokerRecord: _unfence_broker,
    mr.BrokerRegistrationChangeRecord: _broker_change,
    mr.ConfigRecord: _config,
    mr.FeatureLevelRecord: _feature,
    mr.ProducerIdsRecord: _producer_ids,
    mr.NoOpRecord: _nothing,
    mr.ZkMigrationStateRecord: _nothing,
    mr.AccessControlEntryRecord: _keep,
    mr.RemoveAccessControlEntryRecord: _drop,
    mr.UserScramCredentialRecord: _scram,
    mr.RemoveUserScramCredentialRecord: _remove_scram,
    mr.DelegationTokenRecord: _keep,
    mr.RemoveDelegationTokenRecord: _drop,
    mr.RegisterControllerRecord: _keep,
    mr.ClientQuotaRecord: _quota,
}
