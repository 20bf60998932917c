"""What a cluster says of itself, asked of its brokers directly: no relay is in the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeVar

from barnabas.base.error_codes import ErrorCode
from barnabas.client.brokers import check_code
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.wire import Connection
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

Address = tuple[str, int]
Result = TypeVar("Result")

ANSWER_S = 5.0
CONSUMER, DEBUGGER = -1, -2
LATEST, EARLIEST = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition, as the brokers describe it."""

    partition: int
    leader: int | None
    """None: it has none (`Leader: none`)."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    end_offset: int | None = None
    """Where consumers come to the end: the high watermark.  None while no leader says."""
    start_offset: int | None = None


class Eyes:
    """Looks at a cluster over connections of its own.  Any thread may call, one at a time looks.

    `addresses`: where each broker that is worth asking is now, the best one to ask first.
    """

    def __init__(self, addresses: Callable[[], Mapping[int, Address]]) -> None:
        self._addresses = addresses
        self._looking = threading.RLock()
        self._connections: dict[int, Connection] = {}

    def close(self) -> None:
        with self._looking, ExitStack() as stack:
            for connection in self._connections.values():
                stack.callback(connection.close)
            self._connections.clear()

    def ask(self, broker: int, question: Callable[[Connection], Result]) -> Result:
        """Ask one broker; a connection that has become useless is made anew, once."""
        with self._looking:
            address = self._addresses().get(broker)
            if address is None:
                raise ClientError(f"broker {broker} does not run")
            known = self._connections.get(broker)
            if known is not None:
                try:
                    return question(known)
                except RefusedError:
                    raise
                except ClientError:
                    self._forget(broker)
            made = self._connections[broker] = Connection(*address, timeout_s=ANSWER_S)
            try:
                return question(made)
            except RefusedError:
                raise
            except ClientError:
                self._forget(broker)
                raise

    def ask_any(self, question: Callable[[Connection], Result]) -> Result:
        """Ask one after the other, until one answers."""
        failure: ClientError = NotReachableError("any address of the cluster")
        for broker in self._addresses():
            try:
                return self.ask(broker, question)
            except RefusedError:
                raise
            except ClientError as error:
                failure = error
        raise failure

    def _forget(self, broker: int) -> None:
        self._connections.pop(broker).close()

    # -- questions

    def live_brokers(self) -> set[int]:
        """Those that clients are told of; empty while nobody answers."""
        try:
            return {each.node_id for each in self._metadata([]).brokers}
        except ClientError:
            return set()

    def topic_id(self, topic: str) -> bytes:
        """`RefusedError` if there is no such topic."""
        (found,) = self._metadata([topic]).topics
        check_code(found.error_code)
        return found.topic_id

    def _metadata(self, topics: list[str]) -> MetadataResponse:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=False,
        )
        return self.ask_any(lambda connection: connection.call(request, MetadataResponse))

    def partitions(self, topic: str) -> dict[int, PartitionView]:
        """Without offsets; empty while nobody answers, or there is no such topic."""
        try:
            (found,) = self._metadata([topic]).topics
        except ClientError:
            return {}
        return {
            each.partition_index: PartitionView(
                partition=each.partition_index,
                leader=each.leader_id if each.leader_id >= 0 else None,
                leader_epoch=each.leader_epoch,
                replicas=tuple(each.replica_nodes),
                isr=tuple(each.isr_nodes),
            )
            for each in sorted(found.partitions, key=lambda each: each.partition_index)
        }

    def partitions_with_offsets(self, topic: str) -> dict[int, PartitionView]:
        found = self.partitions(topic)
        by_leader: dict[int, list[int]] = {}
        for each in found.values():
            if each.leader is not None:
                by_leader.setdefault(each.leader, []).append(each.partition)
        for leader, numbers in by_leader.items():
            try:
                ends = self.offsets(leader, topic, numbers, LATEST)
                starts = self.offsets(leader, topic, numbers, EARLIEST)
            except ClientError:
                continue  # it has just died, or is not the leader any more: no offsets then
            for number in numbers:
                found[number] = replace(
                    found[number], end_offset=ends.get(number), start_offset=starts.get(number)
                )
        return found

    def offsets(
        self, broker: int, topic: str, numbers: list[int], time: int, *, replica: int = CONSUMER
    ) -> dict[int, int]:
        """As one broker answers, partition by partition; those that it refuses are left out."""
        request = ListOffsetsRequest(
            replica_id=replica,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=number, timestamp=time)
                        for number in numbers
                    ],
                )
            ],
        )
        answer = self.ask(broker, lambda connection: connection.call(request, ListOffsetsResponse))
        return {
            each.partition_index: each.offset
            for each in answer.topics[0].partitions
            if each.error_code == ErrorCode.NONE
        }

    def log_end(self, broker: int, topic: str, partition: int) -> int:
        """The end of the replica's log on this broker; `ClientError` if it has none, or is down."""
        found = self.offsets(broker, topic, [partition], LATEST, replica=DEBUGGER)
        if partition not in found:
            raise ClientError(f"broker {broker} has no replica of {topic}-{partition}")
        return found[partition]

    def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication: int,
        configs: Mapping[str, str],
        assignment: Mapping[int, list[int]] | None,
    ) -> bytes:
        """The new topic's id."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions if assignment is None else -1,
            replication_factor=replication if assignment is None else -1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
                for number, brokers in (assignment or {}).items()
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer = self.ask_any(lambda connection: connection.call(request, CreateTopicsResponse))
        (made,) = answer.topics
        check_code(made.error_code, made.error_message)
        return made.topic_id

    def delete_topics(self, names: Iterable[str]) -> None:
        """One that is gone already is no failure."""
        listed = list(names)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in listed],
            topic_names=listed,
            timeout_ms=30_000,
        )
        answer = self.ask_any(lambda connection: connection.call(request, DeleteTopicsResponse))
        for topic in answer.responses:
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                check_code(topic.error_code, topic.error_message)
