"""Producers that write transactions over all partitions, and commit or abort them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.lab.sim.history import Ended, Outcome, Sent
from barnabas.lab.sim.machine import WALL_START_MS
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.batch import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.lab.sim.client import Address, Client
    from barnabas.lab.sim.history import History, Partition
    from barnabas.protocol.message import Message

TRANSACTION = 1
"""The kind of coordinator."""
TIMEOUT_MS = 10_000
"""After which the coordinator aborts by itself."""
PATIENCE_S = 15.0
FENCED = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    )
)
"""Nothing more can be done with this id and epoch."""


class Transactor:
    """One transactional id.  Each transaction has an epoch of its own: it begins at sequence 0."""

    def __init__(
        self,
        client: Client,
        partitions: list[Partition],
        history: History,
        next_value: Callable[[], int],
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._history = history
        self._next_value = next_value
        self._coordinator: Address | None = None
        self._id = -1
        self._epoch = -1
        self._count = 0

    async def run(self, until: float) -> None:
        client = self._client
        while client.now < until:
            if self._id < 0 and not await self._begin():
                await client.back_off()
                continue
            self._count += 1
            await self._transaction(f"{client.name}/{self._count}")
            await asyncio.sleep(client.random.expovariate(2))

    async def finish(self) -> None:
        """See to it that nothing is left open: a new epoch ends what the last one began."""
        while not await self._begin():
            await self._client.back_off()

    async def _begin(self) -> bool:
        request = InitProducerIdRequest(
            transactional_id=self._client.name, transaction_timeout_ms=TIMEOUT_MS
        )
        answer = await self._ask_coordinator(request)
        if answer is None or answer.error_code:
            self._coordinator = None
            return False
        self._id, self._epoch = answer.producer_id, answer.producer_epoch
        return True

    async def _ask_coordinator(self, request: Message) -> Any:
        if self._coordinator is None:
            found = await self._client.ask_any(
                FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[self._client.name])
            )
            if found is None or found.coordinators[0].error_code:
                await self._client.refresh([self._partitions[0][0]])
                return None
            self._coordinator = found.coordinators[0].host, found.coordinators[0].port
        return await self._client.ask(self._coordinator, request)

    async def _transaction(self, name: str) -> None:
        random = self._client.random
        chosen = random.sample(self._partitions, random.randint(1, len(self._partitions)))
        good = True
        for partition in chosen:
            good = good and await self._write(name, partition)
        commit = good and random.random() < 0.7
        self._history.ended.append(Ended(transaction=name, committed=await self._end(commit)))

    async def _end(self, commit: bool) -> bool | None:
        """Whether it is committed; None if that is not known."""
        request = EndTxnRequest(
            transactional_id=self._client.name,
            producer_id=self._id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        give_up_at = self._client.now + PATIENCE_S
        while self._client.now < give_up_at:
            answer = await self._ask_coordinator(request)
            code = ErrorCode.REQUEST_TIMED_OUT if answer is None else ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                self._id, self._epoch = answer.producer_id, answer.producer_epoch
                return commit
            if code in FENCED or code is ErrorCode.TRANSACTION_ABORTABLE:
                break
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                self._coordinator = None
            await self._client.back_off()
        self._id = -1  # the next epoch aborts it, if it is not committed
        return None if commit else False

    async def _write(self, name: str, partition: Partition) -> bool:
        """One batch; False if it is not known to be there."""
        client = self._client
        values = tuple(self._next_value() for _ in range(client.random.randint(1, 3)))
        outcome, offset = Outcome.UNKNOWN, -1
        give_up_at = client.now + PATIENCE_S
        anew = False
        while client.now < give_up_at:
            code, offset = await self._send(partition, values, anew=anew)
            if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                outcome = Outcome.ACKNOWLEDGED
                break
            if code in FENCED or code is ErrorCode.TRANSACTION_ABORTABLE:
                break
            anew = True
            await client.back_off()
        self._history.sent.append(
            Sent(
                producer=name,
                number=self._count,
                partition=partition,
                values=values,
                outcome=outcome,
                offset=offset if outcome is Outcome.ACKNOWLEDGED else -1,
                transaction=name,
            )
        )
        return outcome is Outcome.ACKNOWLEDGED

    async def _send(
        self, partition: Partition, values: tuple[int, ...], *, anew: bool
    ) -> tuple[ErrorCode, int]:
        client = self._client
        leader = await client.leader(partition, anew=anew)
        if leader is None:
            return ErrorCode.LEADER_NOT_AVAILABLE, -1
        now_ms = WALL_START_MS + int(client.now * 1000)
        records = encode_batch(
            [Record(timestamp=now_ms, value=b"%d" % each) for each in values],
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=0,
            transactional=True,
        )
        data = PartitionProduceData(index=partition[1], records=memoryview(records))
        request = ProduceRequest(
            transactional_id=client.name,
            acks=-1,
            timeout_ms=2_000,
            topic_data=[TopicProduceData(name=partition[0], partition_data=[data])],
        )
        answer = await client.ask_node(leader.node_id, request)
        if answer is None:
            return ErrorCode.REQUEST_TIMED_OUT, -1
        (result,) = answer.responses[0].partition_responses
        return ErrorCode(result.error_code), result.base_offset
