"""Fetch: a slice of each partition's log, sent from the page cache.

Waits until `min_bytes` are there or `max_wait_ms` is over.  Partitions are read in the session's
order until `max_bytes` is used up; the first batch found is sent whole even if it is larger, so
that a reader always gets on.  A consumer may read from a follower too, up to the high watermark
that it knows; the fetches of followers are in `follower_fetch.py`.

v4: isolation level.  v7: sessions (KIP-227).  v9: leader epochs (KIP-320).  v11: rack, and reading
from followers (KIP-392).  v12: flexible, diverging epochs (KIP-595).  v13: topic ids.  v15: replica
state (KIP-903).  v16: who leads instead (KIP-951).  v18 (Kafka 4.1): nothing new here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, OffsetOutOfRange, code_for
from barnabas.broker.dispatch import Later, RequestContext, attempts, handles
from barnabas.broker.handlers.leader_hints import MOVED, tell_leaders
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
)
from barnabas.replication import leading
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.broker.quotas.bucket import Bucket
    from barnabas.broker.state import Broker
    from barnabas.controller.image import PartitionImage
    from barnabas.replication.fetch_context import FetchContext, SessionPartition
    from barnabas.replication.partition import Partition
    from barnabas.replication.purgatory import Watched
    from barnabas.storage.log import Log

logger = logging.getLogger("barnabas.requests")

READ_COMMITTED = 1
FOLLOWERS_SINCE = 11
TOPIC_IDS_SINCE = 13
REPLICA_STATE_SINCE = 15
LEADERS_SINCE = 16


@handles(ApiKey.FETCH, versions=(4, 18))
def fetch(broker: Broker, ctx: RequestContext, request: FetchRequest) -> FetchResponse | Later:
    version = ctx.api_version
    replica_id = (
        request.replica_state.replica_id if version >= REPLICA_STATE_SINCE else request.replica_id
    )
    now = broker.clock.monotonic()
    if replica_id >= 0:
        ctx.limits = None  # quotas are for clients
        # It would not ask again if it wanted to wait for the answer to its last fetch.
        broker.replicas.fetches.hurry(broker.replicas.tail(replica_id))
    context = broker.sessions.begin(
        version=version,
        session_id=request.session_id,
        session_epoch=request.session_epoch,
        topics=request.topics,
        forgotten=request.forgotten_topics_data,
        is_follower=replica_id >= 0,
        now=now,
    )
    reading: Reading
    if replica_id >= 0:
        from barnabas.broker.handlers.follower_fetch import FollowerReading

        epoch = request.replica_state.replica_epoch
        reading = FollowerReading(
            broker, context, request, version, node_id=replica_id, epoch=epoch
        )
    else:
        listener = ctx.listener.name if version >= LEADERS_SINCE else None
        reading = Reading(broker, context, request, version, listener=listener)
        if ctx.limits is not None and ctx.limits.fetch is not None:
            reading.limit(ctx.limits.fetch)
    if reading.read() or request.max_wait_ms <= 0:
        return reading.response()
    later = Later()

    def attempt(expired: bool) -> bool:
        if not reading.read() and not expired:
            return False
        later.resolve(reading.response())
        return True

    parked = Parked(attempts(later, attempt), reading.watched(), now + request.max_wait_ms / 1000)
    broker.replicas.fetches.park(parked)
    later.on_abandon = lambda: broker.replicas.fetches.forget(parked)
    return later


class Reading:
    """One fetch request, tried until there is enough."""

    __slots__ = (
        "_any_replica",
        "_bucket",
        "_by_id",
        "_committed",
        "_listener",
        "_max_bytes",
        "_min_bytes",
        "_rack",
        "_results",
        "broker",
        "context",
    )

    def __init__(
        self,
        broker: Broker,
        context: FetchContext,
        request: FetchRequest,
        version: int,
        *,
        listener: str | None = None,
    ) -> None:
        """`listener`: where a client came in that can be told of other leaders."""
        self.broker = broker
        self._listener = listener
        self.context = context
        self._by_id = version >= TOPIC_IDS_SINCE
        self._any_replica = version >= FOLLOWERS_SINCE
        self._committed = request.isolation_level == READ_COMMITTED
        self._min_bytes = request.min_bytes
        self._max_bytes = min(request.max_bytes, broker.fetch_bytes_max)
        self._rack = request.rack_id if version >= FOLLOWERS_SINCE else ""
        self._results: list[tuple[SessionPartition, PartitionData]] = []
        self._bucket: Bucket | None = None

    def limit(self, bucket: Bucket) -> None:
        """The reader may get so much; never more at once than it may get at all."""
        self._bucket = bucket
        self._max_bytes = min(self._max_bytes, max(1, int(bucket.capacity)))

    def read(self) -> bool:
        """Read all partitions anew.  True if the answer need not wait for more."""
        self._results = results = []
        left, found, urgent = self._max_bytes, 0, False
        for wanted in self.wanted():
            data = PartitionData(
                partition_index=wanted.partition,
                aborted_transactions=[] if self._committed else None,
            )
            results.append((wanted, data))
            try:
                size = self._read_one(wanted, data, left, at_least_one=found == 0)
            except Exception as error:
                if not isinstance(error, ApiError):
                    logger.exception("fetch failed")
                data.error_code = int(code_for(error))
                data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
                data.records = b""
                urgent = True
                continue
            found += size
            left -= min(size, left)
            urgent = urgent or data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0
        return urgent or found >= self._min_bytes or not results

    def wanted(self) -> Sequence[SessionPartition]:
        """The partitions to read."""
        return self.context.partitions()

    def _read_one(
        self, wanted: SessionPartition, data: PartitionData, left: int, *, at_least_one: bool
    ) -> int:
        partition = self._partition(wanted)
        log = (
            partition.any_log(wanted.current_leader_epoch)
            if self._any_replica
            else partition.leader_log(wanted.current_leader_epoch)
        )
        data.high_watermark = log.high_watermark
        data.last_stable_offset = log.last_stable_offset
        data.log_start_offset = log.start_offset
        data.records = b""
        offset = wanted.fetch_offset
        if diverges(log, wanted, data):
            return 0
        if self._rack and partition.followers is not None and self.broker.is_rack_aware:
            closer = leading.closest_replica(self.broker.replicas, partition, self._rack, offset)
            if closer is not None:
                data.preferred_read_replica = closer
                return 0
        end = data.last_stable_offset if self._committed else data.high_watermark
        records = log.read(
            offset,
            max_bytes=min(wanted.max_bytes, left),
            end_offset=end,
            at_least_one=at_least_one,
        )
        if self._committed:
            data.aborted_transactions = [
                AbortedTransaction(
                    producer_id=aborted.producer_id, first_offset=aborted.first_offset
                )
                for aborted in log.aborted_in(records, offset, end)
            ]
        size = len(records)
        if size:
            data.records = records
        return size

    def _partition(self, wanted: SessionPartition) -> Partition:
        known = wanted.memo
        if known is not None and known.log is not None:  # type: ignore[attr-defined]
            return known  # type: ignore[return-value]
        topic = wanted.topic
        if self._by_id:
            assert isinstance(topic, bytes)
            partition = self.broker.replicas.get_by_id(topic, wanted.partition)
        else:
            assert isinstance(topic, str)
            partition = self.broker.replicas.get(topic, wanted.partition)
        wanted.memo = partition
        return partition

    def watched(self) -> Sequence[Watched]:
        """The partitions whose growth may complete this fetch."""
        return [self._partition(wanted) for wanted in self.context.partitions()]

    def response(self) -> FetchResponse:
        if self._bucket is not None:
            now = self.broker.clock.monotonic()
            size = sum(len(data.records or b"") for _, data in self._results)
            pause_s = self._bucket.pause_before(size, now)
            if pause_s:
                return self._empty(pause_s)
            self._bucket.spend(size, now)
        session_id, error, news = self.context.finish(self._results)
        response = FetchResponse(error_code=int(error), session_id=session_id)
        last: str | bytes | None = None
        for wanted, data in news:
            topic = wanted.topic
            if topic != last:
                last = topic
                entry = FetchableTopicResponse()
                if isinstance(topic, bytes):
                    entry.topic_id = topic
                else:
                    entry.topic = topic
                response.responses.append(entry)
            entry.partitions.append(data)
        if self._listener is not None:
            moved = [
                (data, self._image_of(wanted)) for wanted, data in news if data.error_code in MOVED
            ]
            if moved:
                response.node_endpoints = tell_leaders(
                    self.broker, self._listener, moved, NodeEndpoint
                )
        return response

    def _empty(self, pause_s: float) -> FetchResponse:
        """The reader gets nothing now, and what there is when it asks again."""
        session_id, error = self.context.finish_empty()
        return FetchResponse(
            error_code=int(error), session_id=session_id, throttle_time_ms=math.ceil(pause_s * 1000)
        )

    def _image_of(self, wanted: SessionPartition) -> PartitionImage | None:
        image = self.broker.image
        assert isinstance(wanted.topic, bytes), "by id in all versions that are told leaders"
        topic = image.topics_by_id.get(wanted.topic)
        return image.partition(topic.name, wanted.partition) if topic is not None else None


def diverges(log: Log, wanted: SessionPartition, data: PartitionData) -> bool:
    """Whether the reader's last record is not in this log; `data` then says where they part."""
    asked = wanted.last_fetched_epoch
    if asked < 0:
        return False
    epoch, end_offset = log.end_of_epoch(asked)
    if epoch < 0 or wanted.fetch_offset < log.start_offset:  # nothing to compare with
        raise OffsetOutOfRange
    if epoch < asked or end_offset < wanted.fetch_offset:
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
        return True
    return False
