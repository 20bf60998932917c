"""Fetches of followers: served up to the end of the log, and what they tell is noted.

A follower has thousands of partitions in its session, most of them without news: those are passed
over as cheaply as can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import OffsetOutOfRange
from barnabas.broker.handlers.k01_fetch import Reading, diverges
from barnabas.protocol.messages.fetch import FetchResponse, PartitionData
from barnabas.replication import leading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.broker.state import Broker
    from barnabas.protocol.messages.fetch import FetchRequest
    from barnabas.replication.fetch_context import FetchContext, SessionPartition
    from barnabas.replication.partition import Partition
    from barnabas.replication.purgatory import Watched


class FollowerReading(Reading):
    """One fetch of a follower."""

    __slots__ = ("_epoch", "_is_noted", "_node_id", "_now")

    def __init__(
        self,
        broker: Broker,
        context: FetchContext,
        request: FetchRequest,
        version: int,
        *,
        node_id: int,
        epoch: int,
    ) -> None:
        super().__init__(broker, context, request, version)
        self._any_replica = self._committed = False
        self._node_id = node_id
        self._epoch = epoch
        self._now = broker.clock.monotonic()
        self._is_noted = False
        """What the fetch tells counts at the time it came, not again when it is tried again."""

    def wanted(self) -> Sequence[SessionPartition]:
        """Those with news; for the others only the time of the fetch is noted."""
        now, node_id = self._now, self._node_id
        news = []
        for each in self.context.partitions():
            partition: Partition | None = each.memo  # type: ignore[assignment]
            if (
                partition is not None
                and each.is_checked
                and (followers := partition.followers) is not None
                and (log := partition.log) is not None
                and log.written_end_offset == each.fetch_offset
                and log.high_watermark == each.told_high_watermark
                and log.start_offset == each.told_log_start
                and partition.leader_epoch == each.current_leader_epoch
                and (follower := followers.by_id.get(node_id)) is not None
                and follower.end_offset == each.fetch_offset
                and node_id in followers.isr
            ):
                follower.caught_up_at = follower.fetched_at = now
            else:
                news.append(each)
        return news

    def read(self) -> bool:
        """A new high watermark is no reason to answer, unless consumers read from followers: the
        next records bring it along.  The first answer for a partition does not wait.
        """
        enough = super().read()
        self._is_noted = True
        return (enough or self._has_news()) and bool(self._results or not self.context.partitions())

    def _has_news(self) -> bool:
        if self.broker.replicas.tells_watermarks:
            return any(
                data.high_watermark != wanted.told_high_watermark for wanted, data in self._results
            )
        return any(wanted.told_high_watermark < 0 for wanted, _ in self._results)

    def _read_one(
        self, wanted: SessionPartition, data: PartitionData, left: int, *, at_least_one: bool
    ) -> int:
        partition = self._partition(wanted)
        log = partition.leader_log(wanted.current_leader_epoch)
        offset = wanted.fetch_offset
        data.records = b""
        if not wanted.is_checked:
            if diverges(log, wanted, data):
                data.high_watermark = log.high_watermark
                data.log_start_offset = log.start_offset
                return 0
            wanted.is_checked = True
        if not log.start_offset <= offset <= log.written_end_offset:
            raise OffsetOutOfRange
        if not self._is_noted:
            leading.follower_fetched(
                self.broker.replicas,
                partition,
                self._node_id,
                offset=offset,
                start_offset=wanted.log_start_offset,
                broker_epoch=self._epoch,
                now=self._now,
            )
        data.high_watermark = log.high_watermark
        data.last_stable_offset = log.last_stable_offset
        data.log_start_offset = log.start_offset
        data.aborted_transactions = None
        if partition.is_throttled_leader and self._must_wait(partition):
            return 0
        records = log.read(
            offset,
            max_bytes=min(wanted.max_bytes, left),
            end_offset=log.written_end_offset,
            at_least_one=at_least_one,
        )
        if len(records):
            data.records = records
        return len(records)

    def _must_wait(self, partition: Partition) -> bool:
        """A follower that is not in sync gets no more bytes than it may."""
        if self._node_id in partition.isr:
            return False
        return self.broker.replicas.leader_throttle.pause(self._now) > 0

    def response(self) -> FetchResponse:
        throttle = self.broker.replicas.leader_throttle
        for wanted, data in self._results:
            if data.records:
                partition = self._partition(wanted)
                if partition.is_throttled_leader and self._node_id not in partition.isr:
                    throttle.spend(len(data.records), self._now)
        return super().response()

    def watched(self) -> Sequence[Watched]:
        return [self.broker.replicas.tail(self._node_id)]
