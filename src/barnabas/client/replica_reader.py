"""Reads partitions from each of their replicas, leaders or not, as only a debugging consumer may.

Through our own codec: librdkafka reads from leaders (and from the replica that it is sent to).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.base.error_codes import ErrorCode
from barnabas.client.brokers import (
    OverBrokers,
    PartitionPlace,
    Place,
    by_topic,
)
from barnabas.client.errors import ClientError
from barnabas.client.offset_details import leader_offsets
from barnabas.client.wire import Connection
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)

DEBUGGING_CONSUMER = -2
"""Who may read from any replica, and is counted as nobody's follower."""
LATEST = -1
EARLIEST = -2
STATE_VERSION = 15
"""Since when Fetch has the replica's id in a structure of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaData:
    """What a replica answered for a partition; `error` is None if all is well."""

    high_watermark: int = -1
    records: memoryview | bytes = b""
    error: str | None = None


@dataclass(slots=True)
class ReplicaReader(OverBrokers):
    """Connections to all brokers of a cluster.  One thread; use it as a context."""

    places: dict[Place, PartitionPlace] = field(default_factory=dict)

    def topics(self) -> list[str]:
        """All topics, internal ones too; their partitions are known from now on."""
        self.places = self.brokers.places(None)
        return sorted({topic for topic, _ in self.places})

    def offsets(self, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
        """Where to begin: first offsets, last ones, or those of a time (the end if it has none)."""
        wanted = list(places)
        found = self._list_offsets(wanted, time_ms)
        missing = [place for place, offset in found.items() if offset < 0]
        return found | (self._list_offsets(missing, LATEST) if missing else {})

    def _list_offsets(self, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
        return leader_offsets(self.brokers, self.places, dict.fromkeys(places, time_ms))

    def fetch(
        self, offsets: Mapping[Place, int], *, max_bytes: int, max_wait_ms: int
    ) -> dict[Place, dict[int, ReplicaData]]:
        """One fetch from every broker, all at the same time; what each replica answered.

        A broker that does not answer is asked again next time, over a new connection.
        """
        found: dict[Place, dict[int, ReplicaData]] = {place: {} for place in offsets}
        asked: dict[int, list[Place]] = {}
        for place in offsets:
            for broker_id in self.places[place].replicas:
                asked.setdefault(broker_id, []).append(place)
        waiting: dict[int, Connection] = {}
        for broker_id, places in asked.items():
            try:
                connection = self.brokers.to(broker_id)
                connection.send(self._request(connection, places, offsets, max_bytes, max_wait_ms))
                waiting[broker_id] = connection
            except ClientError as error:
                self._fail(found, broker_id, places, error)
        for broker_id, connection in waiting.items():
            try:
                answer = connection.receive(FetchResponse)
            except ClientError as error:
                self._fail(found, broker_id, asked[broker_id], error)
            else:
                self._note(found, broker_id, asked[broker_id], answer)
        return found

    def _request(
        self,
        connection: Connection,
        places: Iterable[Place],
        offsets: Mapping[Place, int],
        max_bytes: int,
        max_wait_ms: int,
    ) -> FetchRequest:
        topics = [
            FetchTopic(
                topic=topic,
                topic_id=self.places[topic, numbers[0]].topic_id,
                partitions=[
                    FetchPartition(
                        partition=number,
                        fetch_offset=offsets[topic, number],
                        partition_max_bytes=max_bytes,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(places).items()
        ]
        has_state = (connection.version_of(ApiKey.FETCH) or 0) >= STATE_VERSION
        return FetchRequest(
            replica_id=-1 if has_state else DEBUGGING_CONSUMER,
            replica_state=ReplicaState(replica_id=DEBUGGING_CONSUMER)
            if has_state
            else ReplicaState(),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            topics=topics,
        )

    def _note(
        self,
        found: dict[Place, dict[int, ReplicaData]],
        broker_id: int,
        places: Iterable[Place],
        answer: FetchResponse,
    ) -> None:
        names = {self.places[place].topic_id: place[0] for place in places}
        for topic in answer.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for partition in topic.partitions:
                found[name, partition.partition_index][broker_id] = _data(partition)
        for place in places:
            found[place].setdefault(broker_id, ReplicaData(error="no answer for it"))

    def _fail(
        self,
        found: dict[Place, dict[int, ReplicaData]],
        broker_id: int,
        places: Iterable[Place],
        error: ClientError,
    ) -> None:
        self.brokers.forget(broker_id)
        for place in places:
            found[place][broker_id] = ReplicaData(error=str(error))


def _data(partition: PartitionData) -> ReplicaData:
    if partition.error_code != ErrorCode.NONE:
        try:
            error = ErrorCode(partition.error_code).text
        except ValueError:
            error = f"error code {partition.error_code}"
        return ReplicaData(error=error)
    records = partition.records
    assert records is None or isinstance(records, bytes | memoryview), "decoded, not made"
    return ReplicaData(high_watermark=partition.high_watermark, records=records or b"")
