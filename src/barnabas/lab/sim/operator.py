"""An operator at work: moves replicas, elects leaders, makes and deletes topics, changes settings.

What is asked for may be refused or get lost; nothing of it may harm the records of others.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

if TYPE_CHECKING:
    from barnabas.lab.sim.client import Client
    from barnabas.lab.sim.history import Partition
    from barnabas.protocol.message import Message

PREFERRED = 0
TOPIC_RESOURCE = 2
SET = 0
EXTRA = "extra"


class Operator:
    """Does something every second or so, to `partitions` or to a topic of its own."""

    def __init__(
        self,
        client: Client,
        partitions: list[Partition],
        *,
        broker_ids: list[int],
        replication_factor: int,
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._broker_ids = broker_ids
        self._replication_factor = replication_factor
        self._deeds = (self._elect, self._move, self._create, self._delete, self._configure)

    async def run(self, until: float) -> None:
        client = self._client
        while client.now < until:
            await asyncio.sleep(client.random.expovariate(1.5))
            request = client.random.choice(self._deeds)()
            if await client.ask_any(request) is None:
                await client.refresh([self._partitions[0][0]])

    def _elect(self) -> Message:
        topic, index = self._client.random.choice(self._partitions)
        return ElectLeadersRequest(
            election_type=PREFERRED,
            topic_partitions=[TopicPartitions(topic=topic, partitions=[index])],
        )

    def _move(self) -> Message:
        """To other brokers, or among the same, where the first is preferred; or move no more."""
        random = self._client.random
        topic, index = random.choice(self._partitions)
        replicas: list[int] | None = random.sample(self._broker_ids, self._replication_factor)
        if random.random() < 0.2:
            replicas = None
        moved = ReassignablePartition(partition_index=index, replicas=replicas)
        return AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=topic, partitions=[moved])]
        )

    def _create(self) -> Message:
        topic = CreatableTopic(
            name=EXTRA, num_partitions=2, replication_factor=self._replication_factor
        )
        return CreateTopicsRequest(topics=[topic], timeout_ms=2_000)

    def _delete(self) -> Message:
        return DeleteTopicsRequest(topics=[DeleteTopicState(name=EXTRA)], timeout_ms=2_000)

    def _configure(self) -> Message:
        topic, _ = self._client.random.choice(self._partitions)
        value = str(self._client.random.choice((800, 5_000, 3_600_000)))
        config = AlterableConfig(name="segment.ms", config_operation=SET, value=value)
        resource = AlterConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=topic, configs=[config]
        )
        return IncrementalAlterConfigsRequest(resources=[resource])
