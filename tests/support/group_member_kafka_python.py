"""A group member of kafka-python."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from group_member import HEARTBEAT_MS, POLL_S, ROUND_RECORDS, Diary, Orders, Part, begin
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import FencedInstanceIdError, KafkaError

ASSIGNORS = {
    assignor.name: assignor
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, CooperativeStickyAssignor)
}


def consumer_of(orders: Orders) -> KafkaConsumer:
    return KafkaConsumer(
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


def as_rows(offsets: dict[Part, int]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(*part): OffsetAndMetadata(offset, "", -1) for part, offset in offsets.items()
    }


class Listener(AsyncConsumerRebalanceListener):
    """Called on the library's own thread while ours waits in `poll`."""

    def __init__(self, consumer: KafkaConsumer, diary: Diary) -> None:
        self.consumer = consumer
        self.diary = diary

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        parts = [(one.topic, one.partition) for one in revoked]
        offsets = self.diary.committing(parts)
        if offsets:
            try:
                await self.consumer.commit_async(as_rows(offsets))
            except KafkaError as error:
                self.diary.refused(offsets, type(error).__name__)
            else:
                self.diary.committed(offsets)
        self.diary.revoked(parts)
        self.forget(parts)

    def forget(self, parts: list[Part]) -> None:
        """kafka-python 3.0.12 keeps its positions until a rebalance has succeeded: if the next one
        fails and the one after it brings a partition back, it would go on where it once was.
        """
        assignment = self.consumer._subscription
        gone = {TopicPartition(*part) for part in parts}
        assignment.assign_from_subscribed(sorted(assignment.assigned_partitions() - gone))

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        parts = [(one.topic, one.partition) for one in assigned]
        self.diary.assigned(parts, self.consumer.group_metadata().generation_id)

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self.diary.lost((one.topic, one.partition) for one in lost)


def commit(consumer: KafkaConsumer, diary: Diary) -> None:
    offsets = diary.committing()
    if not offsets:
        return
    try:
        consumer.commit(as_rows(offsets))
    except KafkaError as error:
        diary.refused(offsets, type(error).__name__)
        if isinstance(error, FencedInstanceIdError):
            raise
    else:
        diary.committed(offsets)


def work(consumer: KafkaConsumer, diary: Diary) -> None:
    """One round of reading."""
    found = consumer.poll(timeout_ms=int(POLL_S * 1000), max_records=ROUND_RECORDS)
    for records in found.values():
        for record in records:
            diary.read(record.topic, record.partition, record.offset)
    diary.at(consumer.group_metadata().generation_id)
    diary.flush()
    if diary.is_time_to_commit():
        commit(consumer, diary)


def main() -> int:
    orders, diary, leave = begin()
    consumer = consumer_of(orders)
    consumer.subscribe(orders.topics, listener=Listener(consumer, diary))
    try:
        while not leave.is_set():
            work(consumer, diary)
        commit(consumer, diary)
    except FencedInstanceIdError as error:
        diary.thrown_out(type(error).__name__)
        consumer.close()
        return 1
    diary.revoked(diary.held)
    consumer.close()
    diary.write("ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
