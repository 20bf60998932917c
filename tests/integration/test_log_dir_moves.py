"""A replica moves to another log directory of its broker while clients write and read it."""

from __future__ import annotations

import threading
from pathlib import Path

from barnabas_process import BarnabasProcess
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from eventually import eventually
from wire_client import WireClient

from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
)

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
VALUE = bytes(1000)
BEFORE = 6_000


def set_rate(admin: AdminClient, rate: str | None) -> None:
    operation = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    entry = ConfigEntry(RATE, rate or "", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    for answer in admin.incremental_alter_configs([resource]).values():
        answer.result(60)


def replicas(client: WireClient) -> dict[str, DescribeLogDirsPartition]:
    """Of the only partition, by the name of the directory."""
    answer = client.call(DescribeLogDirsRequest(topics=None), 4)
    return {
        Path(result.log_dir).name: partition
        for result in answer.results
        for topic in result.topics
        if topic.name == "t"
        for partition in topic.partitions
    }


PAUSE_S = 0.005
"""Between two writes: on a busy machine the copy shall catch up with the writer, too."""


class Writer(threading.Thread):
    """Writes until it is told to stop; `count` records were acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self.is_over = threading.Event()
        self.count = 0
        self.failures: list[object] = []

    def delivered(self, error: object, message: object) -> None:
        if error:
            self.failures.append(error)
        else:
            self.count += 1

    def write(self, count: int) -> None:
        for _ in range(count):
            self.producer.produce("t", VALUE, partition=0, on_delivery=self.delivered)
        self.producer.flush(60)

    def run(self) -> None:
        while not self.is_over.wait(PAUSE_S):
            self.write(50)


def test_nothing_is_lost_or_refused_while_a_replica_moves(tmp_path: Path) -> None:
    places = f"log.dirs={tmp_path}/a,{tmp_path}/b"
    with BarnabasProcess(tmp_path / "a", places, "log.segment.bytes=1048576") as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
        writer = Writer(broker.bootstrap)
        writer.write(BEFORE)
        set_rate(admin, "1000000")
        with WireClient(broker.port) as client:
            (source,) = replicas(client)
            target = "b" if source == "a" else "a"
            topic = AlterReplicaLogDirTopic(name="t", partitions=[0])
            place = AlterReplicaLogDir(path=str(tmp_path / target), topics=[topic])
            answer = client.call(AlterReplicaLogDirsRequest(dirs=[place]), 2)
            assert answer.results[0].partitions[0].error_code == 0
            writer.start()
            found = replicas(client)
            assert not found[source].is_future_key
            assert found[target].is_future_key
            assert found[target].offset_lag > 0
            set_rate(admin, None)
            eventually(lambda: list(replicas(client)) == [target], timeout_s=60)
            assert not replicas(client)[target].is_future_key
            now = writer.count
            eventually(lambda: writer.count > now, timeout_s=60)
            writer.is_over.set()
            writer.join()
        assert writer.failures == []
        read_all(broker.bootstrap, writer.count)
        broker.stop()
        broker.start()
        read_all(broker.bootstrap, writer.count)
        assert (tmp_path / target / "t-0").is_dir()
        assert not (tmp_path / source / "t-0").exists()


def read_all(bootstrap: str, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "-"})
    consumer.assign([TopicPartition("t", 0, 0)])
    try:
        messages = consumer.consume(count, timeout=60)
        assert [message.offset() for message in messages] == list(range(count))
        assert consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=60) == (0, count)
    finally:
        consumer.close()
