"""What the broker does with its files: rolling, retention, deletion, several directories."""

from __future__ import annotations

import contextlib
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from eventually import eventually
from quick_clients import PATIENCE_S, read_all, send, values, watermarks
from wire_client import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    fetch_request,
    fetched,
    produce_request,
    produced,
    read_log,
)

from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

QUICK = (
    "log.retention.check.interval.ms=100",
    "log.segment.delete.delay.ms=0",
    "log.flush.offset.checkpoint.interval.ms=100",
)
DAY_MS = 24 * 3600 * 1000
STORAGE_ERROR = 56


def segments(data_dir: Path, topic: str, partition: int = 0) -> list[int]:
    """Base offsets of the files."""
    return sorted(int(path.stem) for path in (data_dir / f"{topic}-{partition}").glob("*.log"))


def numbered(count: int, size: int = 200) -> list[tuple[None, bytes]]:
    return [(None, b"%d" % n + b"." * size) for n in range(count)]


def send_at(bootstrap: str, topic: str, count: int, timestamp_ms: int) -> None:
    """Batches of one record of 200 bytes."""
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 1})
    for n in range(count):
        producer.produce(topic, b"%d" % n + b"." * 200, partition=0, timestamp=timestamp_ms)
    assert producer.flush(PATIENCE_S) == 0


# -- rolling, retention, deletion


def test_segments_roll_at_their_size_and_nothing_is_lost(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t", internal_segment_bytes="4096")
        send(broker.bootstrap, "t", sent := numbered(200), batch_num_messages=1)

        bases = segments(tmp_path, "t")
        assert len(bases) > 10
        sizes = [(tmp_path / "t-0" / f"{base:020}.log").stat().st_size for base in bases]
        assert max(sizes) <= 4096
        assert min(sizes[:-1]) > 4096 - 300, "rolled too early"
        assert values(read_all(broker.bootstrap, "t")) == [value for _, value in sent]


def test_segments_roll_at_their_age(tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t", segment_ms="60000")
        for age_ms in (100_000, 50_000, 39_000, 0):
            send_at(broker.bootstrap, "t", 5, now - age_ms)

        assert segments(tmp_path, "t") == [0, 10]


def test_records_past_their_time_are_deleted_with_their_files(tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(
            broker.bootstrap, "t", internal_segment_bytes="4096", retention_ms=str(DAY_MS)
        )
        send_at(broker.bootstrap, "t", 100, now - 2 * DAY_MS)
        send_at(broker.bootstrap, "t", 100, now)

        low = eventually(lambda: watermarks(broker.bootstrap, "t")[0])
        assert 80 < low <= 100
        eventually(lambda: segments(tmp_path, "t")[0] == low and not deleted_files(tmp_path))
        found = read_all(broker.bootstrap, "t")
        assert [message.offset() for message in found] == list(range(low, 200))


def deleted_files(data_dir: Path) -> list[Path]:
    return list(data_dir.glob("*/*.deleted"))


def test_a_log_all_of_whose_records_are_past_their_time_is_emptied(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", retention_ms=str(DAY_MS))
        send_at(broker.bootstrap, "t", 30, int(time.time() * 1000) - 2 * DAY_MS)

        eventually(lambda: watermarks(broker.bootstrap, "t") == (30, 30))
        (after,) = send(broker.bootstrap, "t", [(None, b"goes on")])
        assert after.offset() == 30
        broker.stop()
        broker.start(same_port=True)
        assert watermarks(broker.bootstrap, "t") == (30, 31)


def test_a_log_above_its_size_loses_its_oldest_segments(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", internal_segment_bytes="4096", retention_bytes="20000")
        send(broker.bootstrap, "t", numbered(500), batch_num_messages=1)

        low = eventually(lambda: watermarks(broker.bootstrap, "t")[0])
        eventually(lambda: 20_000 <= log_bytes(tmp_path, "t") < 20_000 + 4096)
        low, high = watermarks(broker.bootstrap, "t")
        assert high == 500
        assert [m.offset() for m in read_all(broker.bootstrap, "t")] == list(range(low, 500))


def log_bytes(data_dir: Path, topic: str) -> int:
    """On disk, with what is about to be removed."""
    total = 0
    for path in (data_dir / f"{topic}-0").glob("*.log*"):
        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
            total += path.stat().st_size
    return total


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_deleted_records_stay_deleted_after_a_restart(tmp_path: Path, end: str) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", internal_segment_bytes="4096")
        send(broker.bootstrap, "t", numbered(200), batch_num_messages=1)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        deleted = admin.delete_records([TopicPartition("t", 0, 155)])
        assert next(iter(deleted.values())).result(PATIENCE_S).low_watermark == 155
        assert watermarks(broker.bootstrap, "t") == (155, 200)
        eventually(lambda: checkpoint(tmp_path, "log-start-offset-checkpoint").get("t 0") == 155)
        eventually(lambda: segments(tmp_path, "t")[0] > 100, what="whole segments are gone")

        getattr(broker, end)()
        broker.start(same_port=True)

        assert watermarks(broker.bootstrap, "t") == (155, 200)
        found = read_all(broker.bootstrap, "t")
        assert [message.offset() for message in found] == list(range(155, 200))


def checkpoint(data_dir: Path, name: str) -> dict[str, int]:
    """`topic partition` to offset, from one of the broker's checkpoint files."""
    path = data_dir / name
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def test_a_topic_may_be_flushed_at_every_message(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "careful", flush_messages="1")
        create_topics(broker.bootstrap, "careless")
        for topic in ("careful", "careless"):
            send(broker.bootstrap, topic, numbered(50), batch_num_messages=5)

        def points() -> dict[str, int]:
            return checkpoint(tmp_path, "recovery-point-offset-checkpoint")

        eventually(lambda: points().get("careful 0") == 50)
        assert points().get("careless 0", 0) == 0, "that was left to the operating system"
        broker.kill()
        broker.start(same_port=True)
        assert watermarks(broker.bootstrap, "careful") == (0, 50)


# -- several log directories


def directories(broker: BarnabasProcess) -> dict[str, Any]:
    with WireClient(broker.port) as client:
        answer = client.call(DescribeLogDirsRequest(topics=None), 4)
    return {Path(result.log_dir).name: result for result in answer.results}


def partitions(directory: Path) -> list[str]:
    return sorted(path.parent.name for path in directory.glob("t-*/partition.metadata"))


def test_partitions_are_spread_over_the_directories_and_found_again(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    dirs = ",".join(str(tmp_path / name) for name in names)
    with BarnabasProcess(tmp_path / "unused", f"log.dirs={dirs}") as broker:
        create_topics(broker.bootstrap, "t", partitions=9)
        with WireClient(broker.port) as client:
            for partition in range(9):
                request = produce_request("t", batch_of(b"%d" % partition), partition=partition)
                assert produced(client.call(request, PRODUCE_VERSION)) == (0, 0)
        assert [len(partitions(tmp_path / name)) for name in names] == [3, 3, 3]
        before = [partitions(tmp_path / name) for name in names]
        assert sorted(directories(broker)) == names
        broker.stop()
        broker.overrides = (f"log.dirs={','.join(reversed(dirs.split(',')))}",)
        broker.overrides += (f"metadata.log.dir={tmp_path / 'a'}",)  # that one does not move
        broker.start(same_port=True)

        assert [partitions(tmp_path / name) for name in names] == before
        with WireClient(broker.port) as client:
            for partition in range(9):
                found = read_log(client, "t", partition=partition)
                assert [record.value for record in found] == [b"%d" % partition]
    assert not (tmp_path / "unused").exists()


def test_when_a_directory_fails_the_others_go_on(tmp_path: Path) -> None:
    dirs = f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}"
    file_limit = ("prlimit", f"--fsize={1 << 20}")  # a write beyond it is refused by the kernel
    with BarnabasProcess(tmp_path, dirs, wrapper=file_limit) as broker:
        create_topics(broker.bootstrap, "t", partitions=2)
        (good, bad) = (int(partitions(tmp_path / name)[0][-1]) for name in "ab")
        acked = fill_until_refused(broker, bad)
        assert acked > 5

        with WireClient(broker.port) as client:
            fetch = fetch_request("t", partition=bad)
            assert fetched(client.call(fetch, FETCH_VERSION)).error_code == STORAGE_ERROR
            request = produce_request("t", batch_of(b"x"), partition=good)
            assert produced(client.call(request, PRODUCE_VERSION)) == (0, 0)
        described = directories(broker)
        assert (described["a"].error_code, described["b"].error_code) == (0, STORAGE_ERROR)
        create_topics(broker.bootstrap, "later", partitions=2)
        assert len(list((tmp_path / "a").glob("later-*"))) == 2
        assert f"{tmp_path / 'b'} failed" in broker.log
        assert "Traceback" not in broker.stop()

        broker.wrapper = ()
        broker.start(same_port=True)
        found = read_all(broker.bootstrap, "t", partition=bad)
        assert [m.offset() for m in found] == list(range(acked))
        assert values(read_all(broker.bootstrap, "t", partition=good)) == [b"x"]
        (again,) = send(broker.bootstrap, "t", [(None, b"y")], partition=bad)
        assert again.offset() == acked


def fill_until_refused(broker: BarnabasProcess, partition: int) -> int:
    """Produce batches of 64 KiB until KAFKA_STORAGE_ERROR; how many were acknowledged."""
    request = produce_request("t", batch_of(bytes(1 << 16)), partition=partition)
    with WireClient(broker.port) as client:
        for count in range(1000):
            code, offset = produced(client.call(request, PRODUCE_VERSION))
            if code:
                assert (code, offset) == (STORAGE_ERROR, -1)
                return count
            assert offset == count
    raise AssertionError("never refused")


def test_when_the_last_directory_fails_the_broker_stops(tmp_path: Path) -> None:
    file_limit = ("prlimit", f"--fsize={1 << 20}")
    with BarnabasProcess(tmp_path, wrapper=file_limit) as broker:
        create_topics(broker.bootstrap, "t")

        acked = fill_until_refused(broker, 0)

        assert broker.process is not None
        assert broker.process.wait(30) == 1
        eventually(lambda: "no log directory is left" in broker.log)
        assert "Traceback" not in broker.log
        broker.wrapper = ()
        broker.start(same_port=True)
        assert watermarks(broker.bootstrap, "t") == (0, acked)


def test_a_directory_that_is_broken_at_the_start_is_left_out(tmp_path: Path) -> None:
    dirs = f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}"
    with BarnabasProcess(tmp_path, dirs) as broker:
        create_topics(broker.bootstrap, "t", partitions=2)
        good, bad = (int(partitions(tmp_path / name)[0][-1]) for name in "ab")
        for partition in (good, bad):
            send(broker.bootstrap, "t", [(None, b"kept")], partition=partition)
        broker.stop()
        (tmp_path / "b").rename(tmp_path / "elsewhere")
        (tmp_path / "b").write_text("not a directory")
        broker.start(same_port=True)

        assert values(read_all(broker.bootstrap, "t", partition=good)) == [b"kept"]
        with WireClient(broker.port) as client:
            fetch = fetch_request("t", partition=bad)
            assert fetched(client.call(fetch, FETCH_VERSION)).error_code == STORAGE_ERROR
        assert directories(broker)["b"].error_code == STORAGE_ERROR
        broker.stop()
        (tmp_path / "b").unlink()
        (tmp_path / "elsewhere").rename(tmp_path / "b")
        broker.start(same_port=True)
        assert values(read_all(broker.bootstrap, "t", partition=bad)) == [b"kept"]


# -- files that say less than they should


def test_a_torn_index_and_a_torn_batch_do_not_stop_the_start(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t", index_interval_bytes="100")
        send(broker.bootstrap, "t", numbered(50), batch_num_messages=1)
        broker.kill()
        log = tmp_path / "t-0" / f"{0:020}.log"
        whole = log.read_bytes()
        first_batch = 12 + struct.unpack_from(">i", whole, 8)[0]
        log.write_bytes(whole + whole[: first_batch // 2])
        broker.start(same_port=True)

        assert watermarks(broker.bootstrap, "t") == (0, 50)
        assert log.read_bytes() == whole
