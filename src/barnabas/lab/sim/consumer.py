"""Consumers that are assigned partitions by hand, and read them from a position on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.lab.sim.history import Polled
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.records.batch import decode_records, iter_headers
from barnabas.records.control import ControlType, control_type

if TYPE_CHECKING:
    from barnabas.lab.sim.client import Client
    from barnabas.lab.sim.history import History, Partition

LATEST = -1
WAIT_MS = 300
PARTITION_BYTES = 4096


class Consumer:
    """Reads one partition."""

    def __init__(
        self,
        client: Client,
        partition: Partition,
        history: History,
        *,
        committed_only: bool = False,
    ) -> None:
        self._client = client
        self._partition = partition
        self._history = history
        self._committed_only = committed_only
        self.position = 0
        self.records: list[tuple[int, int]] = []
        """All that was read: (offset, value)."""
        self.last_error = ErrorCode.NONE

    async def run(self, until: float) -> None:
        while self._client.now < until:
            if not await self.poll():
                await self._client.back_off()

    async def read_to_end(self, until: float) -> bool:
        """Read all that is there; False if that did not succeed in time."""
        while self._client.now < until:
            end = await self._end_offset()
            while end is not None and self.position < end and self._client.now < until:
                if not await self.poll():
                    await self._client.back_off()
            if end is not None and self.position >= end:
                return True
            await self._client.back_off()
        return False

    async def poll(self) -> bool:
        """Fetch once; False if there was no answer that could be used."""
        anew = self.last_error is not ErrorCode.NONE
        leader = await self._client.leader(self._partition, anew=anew)
        if leader is None:
            self.last_error = ErrorCode.LEADER_NOT_AVAILABLE
            return False
        wanted = FetchPartition(
            partition=self._partition[1],
            fetch_offset=self.position,
            current_leader_epoch=leader.epoch,
            partition_max_bytes=PARTITION_BYTES,
        )
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            isolation_level=int(self._committed_only),
            topics=[FetchTopic(topic_id=leader.topic_id, partitions=[wanted])],
        )
        lane = f"fetch {self._partition}"
        answer = await self._client.ask_node(leader.node_id, request, lane=lane)
        if answer is None:
            self.last_error = ErrorCode.REQUEST_TIMED_OUT
            return False
        self.last_error = ErrorCode(answer.error_code)
        if answer.error_code or not answer.responses:
            return not answer.error_code
        (found,) = answer.responses[0].partitions
        self.last_error = ErrorCode(found.error_code)
        if found.error_code:
            return False
        self._take(found)
        return True

    def _take(self, found: Any) -> None:
        position = self.position
        aborted = [
            (each.first_offset, each.producer_id) for each in found.aborted_transactions or ()
        ]
        hidden: set[int] = set()
        records: list[tuple[int, int]] = []
        data = memoryview(found.records or b"")
        for at, header in iter_headers(data):
            batch = data[at : at + header.size_bytes]
            for first, producer_id in list(aborted):
                if first <= header.last_offset:
                    hidden.add(producer_id)
                    aborted.remove((first, producer_id))
            self.position = max(self.position, header.last_offset + 1)
            if header.is_control:
                (marker,) = decode_records(batch, header)
                if control_type(marker.key) is ControlType.ABORT:
                    hidden.discard(header.producer_id)
                continue
            if self._committed_only and header.is_transactional and header.producer_id in hidden:
                continue
            records += [
                (record.offset, int(record.value))
                for record in decode_records(batch, header)
                if record.offset >= position and record.value is not None
            ]
        if records:
            self.records += records
            self._history.polled.append(
                Polled(
                    consumer=self._client.name,
                    partition=self._partition,
                    position=position,
                    records=tuple(records),
                    committed_only=self._committed_only,
                )
            )

    async def _end_offset(self) -> int | None:
        """Where reading ends now: the high watermark, or the last stable offset."""
        leader = await self._client.leader(self._partition, anew=True)
        if leader is None:
            return None
        topic, index = self._partition
        wanted = ListOffsetsPartition(
            partition_index=index, current_leader_epoch=leader.epoch, timestamp=LATEST
        )
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(self._committed_only),
            topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
        )
        answer = await self._client.ask_node(leader.node_id, request)
        if answer is None:
            return None
        (found,) = answer.topics[0].partitions
        return None if found.error_code else int(found.offset)
