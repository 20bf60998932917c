"""A group member of librdkafka."""

from __future__ import annotations

import struct
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from group_member import HEARTBEAT_MS, POLL_S, ROUND_RECORDS, Orders, Part, begin

METADATA_MAGIC = b"CGMDv2:"


def settings(orders: Orders) -> dict[str, Any]:
    common: dict[str, Any] = {
        "bootstrap.servers": orders.bootstrap,
        "client.id": orders.name,
        "group.id": orders.group,
        "group.protocol": orders.protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 50,
        "fetch.queue.backoff.ms": 10,
        "topic.metadata.refresh.interval.ms": 1000,
        "session.timeout.ms": orders.session_ms,
    }
    if orders.instance is not None:
        common["group.instance.id"] = orders.instance
    if orders.protocol == "consumer":
        del common["session.timeout.ms"]  # the group's own setting
        return common | {"group.remote.assignor": orders.assignor}
    return common | {
        "partition.assignment.strategy": orders.assignor,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    }


def as_parts(partitions: list[TopicPartition]) -> list[Part]:
    return [(one.topic, one.partition) for one in partitions]


class Member:
    def __init__(self) -> None:
        self.orders, self.diary, self.leave = begin()
        self.consumer = Consumer(settings(self.orders))
        self.consumer.subscribe(
            self.orders.topics, on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost
        )

    def generation(self) -> int:
        """Generation, or member epoch: it is in the bytes that transactions pass on."""
        metadata = self.consumer.consumer_group_metadata()
        assert metadata.startswith(METADATA_MAGIC)
        (generation,) = struct.unpack_from("=i", metadata, len(METADATA_MAGIC))
        return int(generation)

    def assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.diary.assigned(as_parts(partitions), self.generation())

    def revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.commit(as_parts(partitions))
        self.diary.revoked(as_parts(partitions))

    def lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.diary.lost(as_parts(partitions))

    def commit(self, parts: list[Part] | None = None) -> None:
        offsets = self.diary.committing(parts)
        if not offsets:
            return
        wanted = [TopicPartition(*part, offset) for part, offset in offsets.items()]
        try:
            answers = self.consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            self.diary.refused(offsets, error.args[0].name())
            return
        failed = [answer.error.name() for answer in answers if answer.error is not None]
        if failed:
            self.diary.refused(offsets, failed[0])
        else:
            self.diary.committed(offsets)

    def run(self) -> int:
        while not self.leave.is_set():
            for count in range(ROUND_RECORDS):
                message = self.consumer.poll(0 if count else POLL_S)
                if message is None:
                    break
                error = message.error()
                if error is None:
                    self.diary.read(message.topic(), message.partition(), message.offset())
                elif not self.goes_on_after(error):
                    self.consumer.close()
                    return 1
            self.diary.at(self.generation())
            self.diary.flush()
            if self.diary.is_time_to_commit():
                self.commit()
        self.commit()
        self.diary.revoked(self.diary.held)
        self.consumer.close()
        self.diary.write("ended")
        return 0

    def goes_on_after(self, error: KafkaError) -> bool:
        """Whether this is for librdkafka to mend."""
        if not error.fatal() and error.code() != KafkaError._FATAL:
            self.diary.write("error", error=error.name())
            return True
        self.diary.thrown_out(f"{error.name()}: {error.str()}")
        return False


if __name__ == "__main__":
    sys.exit(Member().run())
