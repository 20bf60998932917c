"""A group member of aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError
from group_member import HEARTBEAT_MS, POLL_S, ROUND_RECORDS, Diary, Orders, Part, begin

ASSIGNORS = {
    assignor.name: assignor for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor)
}


def consumer_of(orders: Orders) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=orders.bootstrap,
        client_id=orders.name,
        group_id=orders.group,
        group_instance_id=orders.instance,
        partition_assignment_strategy=[ASSIGNORS[orders.assignor]],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
        heartbeat_interval_ms=HEARTBEAT_MS,
        session_timeout_ms=orders.session_ms,
        metadata_max_age_ms=1000,
    )


class Member(ConsumerRebalanceListener):
    """Rebalances happen beside reading here, so commits wait for each other."""

    def __init__(self, orders: Orders, diary: Diary) -> None:
        self.orders = orders
        self.diary = diary
        self.consumer = consumer_of(orders)
        self.committing = asyncio.Lock()

    def generation(self) -> int:
        return int(self.consumer._coordinator.generation)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        async with self.committing:
            parts = [(one.topic, one.partition) for one in revoked]
            await self.commit(parts)
            self.diary.revoked(parts)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.diary.assigned([(one.topic, one.partition) for one in assigned], self.generation())

    async def commit(self, parts: list[Part] | None = None) -> None:
        offsets = self.diary.committing(parts)
        if not offsets:
            return
        try:
            await self.consumer.commit(
                {TopicPartition(*part): offset for part, offset in offsets.items()}
            )
        except KafkaError as error:
            self.diary.refused(offsets, type(error).__name__)
        else:
            self.diary.committed(offsets)

    async def work(self) -> None:
        """One round of reading.  `getmany` waits while a rebalance is under way."""
        found = await self.consumer.getmany(
            timeout_ms=int(POLL_S * 1000), max_records=ROUND_RECORDS
        )
        for records in found.values():
            for record in records:
                self.diary.read(record.topic, record.partition, record.offset)
        if self.diary.held:
            self.diary.at(self.generation())
        self.diary.flush()
        if self.diary.is_time_to_commit():
            async with self.committing:
                await self.commit()

    async def run(self, leave: asyncio.Event) -> None:
        self.consumer.subscribe(self.orders.topics, listener=self)
        await self.consumer.start()
        while not leave.is_set():
            await self.work()
        async with self.committing:
            await self.commit()
            self.diary.revoked(self.diary.held)
        await self.consumer.stop()
        self.diary.write("ended")


async def main() -> None:
    orders, diary, told = begin()
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()

    def pass_on() -> None:
        told.wait()
        loop.call_soon_threadsafe(leave.set)

    waiting = loop.run_in_executor(None, pass_on)
    await Member(orders, diary).run(leave)
    await waiting


if __name__ == "__main__":
    asyncio.run(main())
