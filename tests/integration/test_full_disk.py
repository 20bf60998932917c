"""A disk that is full: producers are refused, readers are not, and it passes when there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_disk
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import KafkaException
from eventually import eventually
from quick_clients import read_all, send, try_to_alter, try_to_send
from tiny_disk import TinyDisk
from wire_client import PRODUCE_VERSION, WireClient, batch_of, produce_request, produced, read_log

STORAGE_ERROR = 56
DISK_KIB = 6 * 1024
ROOM_BYTES = 2 << 20

pytestmark = pytest.mark.skipif(
    bool(tiny_disk.why_not()), reason=f"no disk of our own: {tiny_disk.why_not()}"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TinyDisk]:
    with TinyDisk(tmp_path / "disk", kib=DISK_KIB) as mounted:
        (mounted.seen_from_here / "filler").write_bytes(bytes(ROOM_BYTES))
        yield mounted


def start(disk: TinyDisk) -> BarnabasProcess:
    return BarnabasProcess(disk.path, wrapper=disk.wrapper)


def make_room(disk: TinyDisk) -> None:
    (disk.seen_from_here / "filler").unlink()


def fill(client: WireClient, *, partition: int = 0, size: int = 30_000) -> list[bytes]:
    """Produce until refused, then smaller and smaller, to the last byte; what was acknowledged."""
    acked: list[bytes] = []
    while size:
        value = b"%d:" % len(acked) + b"." * size
        request = produce_request("t", batch_of(value), partition=partition)
        code, offset = produced(client.call(request, PRODUCE_VERSION))
        if code == 0:
            assert offset == len(acked), "a refused batch took an offset"
            acked.append(value)
        else:
            assert (code, offset) == (STORAGE_ERROR, -1)
            size //= 2
        assert len(acked) < 1_000, "the disk is never full"
    return acked


def stored(client: WireClient, partition: int = 0) -> list[bytes | None]:
    return [record.value for record in read_log(client, "t", partition=partition)]


def test_producers_are_refused_readers_are_not_and_it_passes(disk: TinyDisk) -> None:
    with start(disk) as broker:
        create_topics(broker.bootstrap, "t", partitions=2)
        with WireClient(broker.port) as client:
            acked = fill(client)
            assert len(acked) > 50
            assert stored(client) == acked
            request = produce_request("t", batch_of(b"." * 30_000), partition=1)
            assert produced(client.call(request, PRODUCE_VERSION)) == (STORAGE_ERROR, -1)

            make_room(disk)

            for n in range(10):
                acked.append(b"again %d" % n)
                request = produce_request("t", batch_of(acked[-1]))
                answer = client.call(request, PRODUCE_VERSION)
                assert produced(answer) == (0, len(acked) - 1)
            assert stored(client) == acked
            request = produce_request("t", batch_of(b"other"), partition=1)
            assert produced(client.call(request, PRODUCE_VERSION)) == (0, 0)
        assert "Traceback" not in broker.stop()
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            assert stored(client) == acked
            assert stored(client, 1) == [b"other"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_that_ends_on_a_full_disk_has_exactly_what_it_acknowledged(
    disk: TinyDisk, end: str
) -> None:
    with start(disk) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            acked = fill(client)
        if end == "stop":
            assert "Traceback" not in broker.stop()
        else:
            broker.kill()
        make_room(disk)
        broker.start(same_port=True)

        with WireClient(broker.port) as client:
            assert stored(client) == acked
            answer = client.call(produce_request("t", batch_of(b"on")), PRODUCE_VERSION)
            assert produced(answer) == (0, len(acked))


def fill_journal(broker: BarnabasProcess) -> None:
    """Change metadata until that is refused: the journal's last page may have had some room."""
    for n in range(1_000):
        answer = try_to_alter(broker.bootstrap, "topic", "t", retention_ms=str(10_000 + n))
        if answer.error_code:
            assert answer.error_code == STORAGE_ERROR
            return
    raise AssertionError("never refused")


def test_a_broker_cannot_start_on_a_full_disk_and_says_so(disk: TinyDisk) -> None:
    with start(disk) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            acked = fill(client)
        fill_journal(broker)
        broker.kill()
        before = len(broker.output)
        with pytest.raises(RuntimeError, match="did not start"):
            broker.start(same_port=True)
        said = broker.output[before:]
        assert [line for line in said if "No space left" in line]
        assert "Traceback" not in "".join(said)
        make_room(disk)
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            assert stored(client) == acked


def test_changes_of_metadata_are_refused_and_the_broker_lives_on(disk: TinyDisk) -> None:
    with start(disk) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            acked = fill(client)
            fill_journal(broker)
            with pytest.raises(KafkaException):
                create_topics(broker.bootstrap, "too-much")
            assert stored(client) == acked
            make_room(disk)
            create_topics(broker.bootstrap, "enough")
            send(broker.bootstrap, "enough", [(None, b"x")])
            assert stored(client) == acked
        assert "Traceback" not in broker.stop()


def test_a_topic_made_on_a_full_disk_can_be_used_when_there_is_room(
    disk: TinyDisk, tmp_path: Path
) -> None:
    journal = f"metadata.log.dir={tmp_path / 'journal'}"
    with BarnabasProcess(disk.path, journal, wrapper=disk.wrapper) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            acked = fill(client)
            create_topics(broker.bootstrap, "u")
            request = produce_request("u", batch_of(b"x"))
            assert produced(client.call(request, PRODUCE_VERSION)) == (STORAGE_ERROR, -1)
            make_room(disk)

            eventually(lambda: produced(client.call(request, PRODUCE_VERSION)) == (0, 0))
            assert stored(client) == acked
        broker.stop()
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            assert [record.value for record in read_log(client, "u")] == [b"x"]


def test_an_idempotent_producer_waits_for_room_and_writes_everything_once(disk: TinyDisk) -> None:
    with start(disk) as broker:
        create_topics(broker.bootstrap, "t")
        sent = [(None, b"%d" % n + b"." * 50_000) for n in range(120)]
        acked, errors = try_to_send(
            broker.bootstrap,
            "t",
            sent,
            enable_idempotence=True,
            message_timeout_ms=3_000,
            compression_type="none",
        )
        assert acked
        assert errors
        assert {error.name() for error in errors} == {"_MSG_TIMED_OUT"}

        found = read_all(broker.bootstrap, "t")

        assert [(m.offset(), m.value()) for m in found] == [(m.offset(), m.value()) for m in acked]
        make_room(disk)
        again = send(broker.bootstrap, "t", sent[:10], enable_idempotence=True)
        assert again[0].offset() == len(found)
