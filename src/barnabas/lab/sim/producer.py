"""Idempotent producers with acks=all: several batches on their way, sent again until answered."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.lab.sim.history import Outcome, Sent
from barnabas.lab.sim.machine import WALL_START_MS
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.batch import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.lab.sim.client import Client, Leader
    from barnabas.lab.sim.history import History, Partition

IN_FLIGHT_MAX = 5
DELIVERY_TIMEOUT_S = 20.0
GIVE_UP = frozenset(
    (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    )
)
"""Said of the first batch that is not acknowledged, these do not pass by themselves."""


@dataclass(slots=True)
class _Batch:
    number: int
    sequence: int
    values: tuple[int, ...]


class Producer:
    """Sends to one partition, in order, with a producer id of its own."""

    def __init__(
        self, client: Client, partition: Partition, history: History, next_value: Callable[[], int]
    ) -> None:
        self._client = client
        self._partition = partition
        self._history = history
        self._next_value = next_value
        self._id = -1
        self._epoch = -1
        self._sequence = 0
        self._number = 0
        self.acknowledged = 0

    async def run(self, until: float) -> None:
        """Send until that time; returns when everything sent has its outcome."""
        client = self._client
        while client.now < until:
            if self._id < 0 and not await self._begin():
                continue
            await self._deliver([self._batch() for _ in range(client.random.randint(1, 5))])
            await asyncio.sleep(client.random.expovariate(8))

    async def _begin(self) -> bool:
        """Get a producer id."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = await self._client.ask_any(request)
        if answer is None or answer.error_code:
            await self._client.refresh([self._partition[0]])
            await self._client.back_off()
            return False
        self._id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0
        return True

    def _batch(self) -> _Batch:
        values = tuple(self._next_value() for _ in range(self._client.random.randint(1, 3)))
        self._number += 1
        batch = _Batch(self._number, self._sequence, values)
        self._sequence += len(values)
        return batch

    async def _deliver(self, batches: list[_Batch]) -> None:
        client = self._client
        waiting = deque(batches)
        give_up_at = client.now + DELIVERY_TIMEOUT_S
        anew = False
        while waiting and client.now < give_up_at:
            leader = await client.leader(self._partition, anew=anew)
            anew = True
            if leader is not None:
                asked = [asyncio.ensure_future(self._send(leader, each)) for each in waiting]
                answers = [await each for each in asked]
                failed = self._take(waiting, answers)
                if failed in GIVE_UP:
                    break
            if waiting:
                await client.back_off()
        for batch in waiting:
            self._note(batch, Outcome.UNKNOWN)
        if waiting:
            self._id = -1  # whether these are there is not known: go on as somebody else

    def _take(
        self, waiting: deque[_Batch], answers: list[tuple[ErrorCode, int] | None]
    ) -> ErrorCode:
        """Strike out what is acknowledged, up to the first that is not; its error."""
        for answer in answers:
            if answer is None:
                return ErrorCode.REQUEST_TIMED_OUT
            code, offset = answer
            if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                offset = -1  # it is there, the broker does not remember where
            elif code is not ErrorCode.NONE:
                return code
            self._note(waiting.popleft(), Outcome.ACKNOWLEDGED, offset)
        return ErrorCode.NONE

    async def _send(self, leader: Leader, batch: _Batch) -> tuple[ErrorCode, int] | None:
        topic, index = self._partition
        now_ms = WALL_START_MS + int(self._client.now * 1000)
        records = encode_batch(
            [Record(timestamp=now_ms, value=b"%d" % each) for each in batch.values],
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=batch.sequence,
        )
        data = PartitionProduceData(index=index, records=memoryview(records))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=2_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        lane = f"{topic}-{index}"
        answer = await self._client.ask_node(leader.node_id, request, lane=lane)
        if answer is None:
            return None
        (result,) = answer.responses[0].partition_responses
        return ErrorCode(result.error_code), result.base_offset

    def _note(self, batch: _Batch, outcome: Outcome, offset: int = -1) -> None:
        self.acknowledged += outcome is Outcome.ACKNOWLEDGED
        self._history.sent.append(
            Sent(
                producer=self._client.name,
                number=batch.number,
                partition=self._partition,
                values=batch.values,
                outcome=outcome,
                offset=offset,
            )
        )
