"""A broker that could not follow record by record takes a whole new image in place of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.controller.image_types import ImageChanges

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage


def exchange(image: ClusterImage, newer: ClusterImage) -> ImageChanges:
    """Make `image`, which others hold on to, equal to `newer`; what changed, as one run tells it.

    `newer` must not be used afterwards: the two share what they hold.
    """
    changes = ImageChanges(
        topics_created={
            topic_id: topic
            for topic_id, topic in newer.topics_by_id.items()
            if topic_id not in image.topics_by_id
        },
        topics_deleted={
            topic_id: topic
            for topic_id, topic in image.topics_by_id.items()
            if topic_id not in newer.topics_by_id
        },
        configs={
            resource
            for resource in image.configs.keys() | newer.configs.keys()
            if image.configs.get(resource) != newer.configs.get(resource)
        },
        brokers={
            broker_id: image.brokers.get(broker_id)
            for broker_id in sorted(image.brokers.keys() | newer.brokers.keys())
            if image.brokers.get(broker_id) != newer.brokers.get(broker_id)
        },
        features={
            name: image.features.get(name, 0)
            for name in sorted(image.features.keys() | newer.features.keys())
            if image.features.get(name) != newer.features.get(name)
        },
        producer_ids=image.next_producer_id != newer.next_producer_id,
        quotas=image.quotas != newer.quotas,
    )
    for topic_id, topic in newer.topics_by_id.items():
        known = image.topics_by_id.get(topic_id)
        before = known.partitions if known is not None else []
        for index, state in enumerate(topic.partitions):
            old = before[index] if index < len(before) else None
            if old != state:
                changes.partitions[topic_id, index] = old
    for name in image.__slots__:
        setattr(image, name, getattr(newer, name))
    return changes
