"""Counts what passes, as far as conditions ask for it.  Pure: messages in, numbers changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.base.error_codes import ErrorCode
from barnabas.base.ids import NO_ID
from barnabas.lab.faults.traffic import Place, Traffic
from barnabas.protocol.apis import ApiKey
from barnabas.records.header import iter_headers

if TYPE_CHECKING:
    from barnabas.lab.faults.passing import Direction, Passing

Answered = Callable[["Passing"], None]
"""Told the answer to a request, before it goes on."""

REQUESTS = frozenset({ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT})
REQUESTS_OF_NODES = REQUESTS | {ApiKey.FETCH}
RESPONSES = REQUESTS | {ApiKey.METADATA, ApiKey.CREATE_TOPICS}


class Observer:
    """Of all relays of a cluster.  Their thread only."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.names: dict[bytes, str] = {}
        """Topics by id, as far as anybody was told of them."""

    @staticmethod
    def wants(direction: Direction, key: int, *, of_node: bool) -> bool:
        """Whether a message of this API must be looked into."""
        if direction == "response":
            return key in RESPONSES
        return key in (REQUESTS_OF_NODES if of_node else REQUESTS)

    def request(self, passing: Passing) -> tuple[bool, Answered | None]:
        """Note a request: whether it will be answered, and who wants to see the answer."""
        match passing.api.key:
            case ApiKey.PRODUCE:
                return self._produce(passing.message)
            case ApiKey.FETCH:
                self._follower_fetch(passing.message)
            case ApiKey.OFFSET_COMMIT:
                return True, self._commit(passing.message)
        return True, None

    def response(self, passing: Passing) -> None:
        """Note what a response says by itself."""
        if passing.api.key in (ApiKey.METADATA, ApiKey.CREATE_TOPICS):
            for topic in passing.message.topics:
                if topic.name and topic.topic_id != NO_ID:
                    self.names[topic.topic_id] = topic.name

    def _produce(self, request: Any) -> tuple[bool, Answered | None]:
        counts: dict[Place, int] = {}
        for topic in request.topic_data:
            for partition in topic.partition_data:
                headers = iter_headers(partition.records or b"")
                counts[topic.name, partition.index] = sum(header.count for _, header in headers)
        self.traffic.sent.update(counts)
        if request.acks == 0:
            return False, None
        return True, lambda passing: self._acknowledged(passing.message, counts)

    def _acknowledged(self, response: Any, counts: dict[Place, int]) -> None:
        traffic = self.traffic
        for topic in response.responses:
            for partition in topic.partition_responses:
                place = topic.name, partition.index
                count = counts.get(place, 0)
                if partition.error_code:
                    traffic.refused[place] += count
                    traffic.refusals[ErrorCode(partition.error_code).name] += 1
                    continue
                traffic.acked[place] += count
                end = partition.base_offset + count
                traffic.acked_end[place] = max(end, traffic.acked_end.get(place, 0))

    def _follower_fetch(self, request: Any) -> None:
        follower = max(request.replica_id, request.replica_state.replica_id)
        if follower < 0:
            return
        for topic in request.topics:
            name = topic.topic or self.names.get(topic.topic_id)
            if name is None:
                continue  # the log of the metadata, or a topic that nobody was told of
            for partition in topic.partitions:
                key = name, partition.partition, follower
                self.traffic.positions[key] = partition.fetch_offset

    def _commit(self, request: Any) -> Answered:
        offsets = {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in request.topics
            for partition in topic.partitions
        }

        def answered(passing: Passing) -> None:
            for topic in passing.message.topics:
                for partition in topic.partitions:
                    place = topic.name, partition.partition_index
                    if not partition.error_code and place in offsets:
                        self.traffic.committed[request.group_id, *place] = offsets[place]

        return answered
