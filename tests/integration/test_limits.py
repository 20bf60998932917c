"""Limits on connections and requests; nobody pays for another client that is slow or greedy."""

from __future__ import annotations

import re
import select
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics, resident_kib
from confluent_kafka.admin import AdminClient
from eventually import eventually
from quick_clients import PATIENCE_S, alter, send
from wire_client import (
    FETCH_VERSION,
    METADATA_VERSION,
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    encoded,
    fetch_request,
    produce_request,
    produced,
)

from barnabas.protocol.message import Message
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.protocol.messages.fetch import FetchPartition
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.records.batch import Record, encode_batch
from barnabas.records.compression import Codec

MIB = 1024  # KiB, as resident sizes are
WIDE_TOPIC, WIDE = "wide", 200
BIG_TOPIC, BIG_BYTES = "big", 50 << 20
BOMB_RECORDS = 300_000


def is_served(client: WireClient) -> bool:
    """Whether the broker answers on this connection."""
    try:
        client.call(ApiVersionsRequest(), 0)
    except (ConnectionError, BrokenPipeError):
        return False
    return True


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Closes every client that is entered into it."""
    with ExitStack() as stack:
        yield stack


# -- sizes and numbers


def test_a_request_above_the_limit_closes_the_connection(
    tmp_path: Path, clients: ExitStack
) -> None:
    with BarnabasProcess(tmp_path, "socket.request.max.bytes=2000") as broker:
        create_topics(broker.bootstrap, "t")
        overhead = len(encoded(produce_request("t", batch_of(b"")), PRODUCE_VERSION)) - 4
        fits, too_large = (
            encoded(produce_request("t", batch_of(b"x" * (size - overhead))), PRODUCE_VERSION)
            for size in (1980, 2100)
        )
        client = clients.enter_context(WireClient(broker.port))

        client.sock.sendall(fits)
        client.receive_frame()
        client.sock.sendall(too_large)

        assert client.is_closed()
        split = clients.enter_context(WireClient(broker.port))
        for byte in struct.pack(">i", 2001):
            split.sock.sendall(bytes([byte]))
        assert split.is_closed()
        assert is_served(clients.enter_context(WireClient(broker.port)))
        assert "2001 bytes" in eventually(lambda: broker.log if "2001" in broker.log else "")


def test_no_more_connections_than_allowed(tmp_path: Path, clients: ExitStack) -> None:
    with BarnabasProcess(tmp_path, "max.connections=3") as broker:
        first, *_ = served = [clients.enter_context(WireClient(broker.port)) for _ in range(3)]
        assert all(map(is_served, served))

        assert not is_served(clients.enter_context(WireClient(broker.port)))
        assert all(map(is_served, served))

        first.close()
        eventually(lambda: is_served(clients.enter_context(WireClient(broker.port))))


@pytest.mark.parametrize("listen", ["127.0.0.1:0", ":0"])
def test_no_more_connections_from_an_address_than_allowed(
    tmp_path: Path, clients: ExitStack, listen: str
) -> None:
    limits = (
        "max.connections.per.ip=3",
        "max.connections.per.ip.overrides=127.0.0.7:1,localhost:5",
    )
    if listen == "127.0.0.1:0":  # the address of the peer counts, not our own
        listen = "0.0.0.0:0"
        limits += ("advertised.listeners=PLAINTEXT://127.0.0.1:0",)
    with BarnabasProcess(tmp_path, *limits, listen=listen) as broker:
        for source, allowed in (("127.0.0.6", 3), ("127.0.0.7", 1), ("127.0.0.1", 5)):
            served = [
                is_served(clients.enter_context(WireClient(broker.port, source=source)))
                for _ in range(allowed + 2)
            ]
            assert served == [True] * allowed + [False] * 2, source


def test_a_listener_may_have_a_limit_of_its_own(tmp_path: Path, clients: ExitStack) -> None:
    with BarnabasProcess(
        tmp_path,
        "listener.security.protocol.map=INSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listener.name.inside.max.connections=2",
        listen="INSIDE://127.0.0.1:0,PLAINTEXT://127.0.0.2:0",
    ) as broker:
        ports = re.findall(r"//127\.0\.0\.\d:(\d+)", broker.log)
        inside, other = (
            [is_served(clients.enter_context(WireClient(int(port), host=host))) for _ in range(4)]
            for port, host in zip(ports, ("127.0.0.1", "127.0.0.2"), strict=True)
        )

    assert inside == [True, True, False, False]
    assert other == [True] * 4


def test_a_limit_that_makes_no_sense_is_passed_over(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        alter(broker.bootstrap, "broker", "1", max_connections_per_ip_overrides="many,127.0.0.1:x")
        with WireClient(broker.port) as client:
            assert is_served(client)
        alter(broker.bootstrap, "broker", "1", max_connections_per_ip_overrides=None)


def test_limits_on_connections_change_at_run_time(tmp_path: Path, clients: ExitStack) -> None:
    with BarnabasProcess(tmp_path) as broker:
        held = [clients.enter_context(WireClient(broker.port, source="127.0.0.8")) for _ in "123"]
        assert all(map(is_served, held))

        alter(broker.bootstrap, "broker", "1", max_connections_per_ip="3")
        assert not is_served(clients.enter_context(WireClient(broker.port, source="127.0.0.8")))
        assert all(map(is_served, held)), "those who are in stay in"

        alter(broker.bootstrap, "broker", "", max_connections_per_ip_overrides="127.0.0.8:4")
        assert is_served(clients.enter_context(WireClient(broker.port, source="127.0.0.8")))
        assert not is_served(clients.enter_context(WireClient(broker.port, source="127.0.0.8")))

        alter(broker.bootstrap, "broker", "1", max_connections_per_ip=None)
        alter(broker.bootstrap, "broker", "", max_connections_per_ip_overrides=None)
        assert is_served(clients.enter_context(WireClient(broker.port, source="127.0.0.8")))


def test_idle_connections_are_closed_and_used_ones_are_not(
    tmp_path: Path, clients: ExitStack
) -> None:
    with BarnabasProcess(tmp_path, "connections.max.idle.ms=1000") as broker:
        idle, used = (clients.enter_context(WireClient(broker.port)) for _ in "12")
        assert is_served(idle)

        def is_idle_closed() -> bool:
            assert is_served(used)
            return bool(select.select([idle.sock], [], [], 0)[0])

        eventually(is_idle_closed)

        assert idle.is_closed()
        assert is_served(used)


def test_a_negative_idle_time_means_for_ever(tmp_path: Path, clients: ExitStack) -> None:
    with BarnabasProcess(tmp_path, "connections.max.idle.ms=-1") as broker:
        create_topics(broker.bootstrap, "t")
        idle, waiting = (clients.enter_context(WireClient(broker.port)) for _ in "12")

        waiting.call(fetch_request("t", max_wait_ms=2_500), FETCH_VERSION)  # two looks at least

        assert is_served(idle)


# -- slow and greedy clients


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    """A broker with a topic of many partitions and one of many bytes."""
    with BarnabasProcess(tmp_path_factory.mktemp("loaded")) as broker:
        create_topics(broker.bootstrap, WIDE_TOPIC, partitions=WIDE)
        create_topics(broker.bootstrap, BIG_TOPIC)
        value = bytes(1 << 16)
        send(
            broker.bootstrap,
            BIG_TOPIC,
            [(None, value)] * (BIG_BYTES // len(value)),
            compression_type="none",
        )
        yield broker


class Bystander:
    """A client who must be served at once, whatever the others do."""

    def __init__(self, port: int) -> None:
        self.client = WireClient(port, timeout_s=10)
        self.request = produce_request(WIDE_TOPIC, batch_of(b"x"))

    def works(self) -> None:
        assert produced(self.client.call(self.request, PRODUCE_VERSION))[0] == 0


@pytest.fixture
def bystander(loaded: BarnabasProcess) -> Iterator[Bystander]:
    found = Bystander(loaded.port)
    found.works()
    yield found
    found.client.close()


def flood(client: WireClient, request: Message, version: int, *, most_bytes: int) -> int:
    """Send without reading until nothing more is taken for a while; how many bytes were."""
    data = encoded(request, version) * 100
    client.sock.setblocking(False)
    sent = 0
    while sent < most_bytes:
        _, writable, _ = select.select([], [client.sock], [], 0.5)
        if not writable:
            break
        sent += client.sock.send(data[sent % len(data) :])
    client.sock.settimeout(30)
    return sent


def everything() -> DescribeConfigsRequest:
    """A small question with a large answer."""
    resource = DescribeConfigsResource(resource_type=4, resource_name="1")
    return DescribeConfigsRequest(
        resources=[resource], include_synonyms=True, include_documentation=True
    )


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (MetadataRequest(topics=None), METADATA_VERSION),
        (everything(), 4),
        (fetch_request(WIDE_TOPIC, partition=WIDE - 1, max_wait_ms=3_600_000), FETCH_VERSION),
        (fetch_request(BIG_TOPIC), FETCH_VERSION),
    ],
    ids=["metadata", "configs", "parked fetches", "large fetches"],
)
def test_a_client_that_asks_and_never_reads_is_held_back(
    loaded: BarnabasProcess,
    bystander: Bystander,
    clients: ExitStack,
    request_: Message,
    version: int,
) -> None:
    before = resident_kib(loaded.pid)
    limit = 200 << 20
    for _ in range(3):
        greedy = clients.enter_context(WireClient(loaded.port, receive_buffer=4096))
        assert flood(greedy, request_, version, most_bytes=limit) < limit, "it was never held back"
        bystander.works()

    assert resident_kib(loaded.pid) - before < 15 * MIB


def test_a_client_that_was_held_back_gets_all_its_answers(
    loaded: BarnabasProcess, clients: ExitStack
) -> None:
    greedy = clients.enter_context(WireClient(loaded.port))
    request = MetadataRequest(topics=None)
    data = encoded(request, METADATA_VERSION)
    count = 3_000
    greedy.sock.setblocking(False)
    to_send, received = memoryview(data * count), bytearray()
    answer_bytes = 0
    while not answer_bytes or len(received) < count * answer_bytes:
        # Read only when nothing more can be sent: the broker must stop reading, then go on.
        ready, writable, _ = select.select([greedy.sock], [greedy.sock] if to_send else [], [], 30)
        assert ready or writable, f"stuck with {len(received)} bytes received"
        if to_send and writable:
            to_send = to_send[greedy.sock.send(to_send) :]
        elif ready:
            received += greedy.sock.recv(1 << 20)
            answer_bytes = 4 + struct.unpack_from(">i", received)[0]
    assert len(received) == count * answer_bytes


def test_a_client_that_asks_a_lot_takes_turns_with_others(
    loaded: BarnabasProcess, bystander: Bystander, clients: ExitStack
) -> None:
    greedy = clients.enter_context(WireClient(loaded.port))
    data = encoded(MetadataRequest(topics=None), METADATA_VERSION)
    greedy.sock.setblocking(False)
    to_send, received = memoryview(data * 10_000), bytearray()
    answered_before: list[int] = []
    bystander_asked_at = -1
    while len(answered_before) < 20:
        answers = len(received) // (4 + struct.unpack_from(">i", received)[0]) if received else 0
        if bystander_asked_at < 0:
            bystander.client.send(bystander.request, PRODUCE_VERSION)
            bystander_asked_at = answers
        ready, writable, _ = select.select(
            [greedy.sock, bystander.client.sock], [greedy.sock] if to_send else [], [], 30
        )
        if bystander.client.sock in ready:
            bystander.client.receive(bystander.request, PRODUCE_VERSION)
            answered_before.append(answers - bystander_asked_at)
            bystander_asked_at = -1
        if greedy.sock in ready:
            received += greedy.sock.recv(1 << 20)
        if writable:
            to_send = to_send[greedy.sock.send(to_send) :]

    assert max(answered_before) < 1_000, answered_before


def test_a_fetch_of_50_mb_waits_for_its_reader_on_disk(
    loaded: BarnabasProcess, bystander: Bystander, clients: ExitStack
) -> None:
    request = fetch_request(BIG_TOPIC, max_bytes=BIG_BYTES)
    before = resident_kib(loaded.pid)
    slow = [clients.enter_context(WireClient(loaded.port, receive_buffer=4096)) for _ in range(10)]
    for client in slow:
        client.send(request, FETCH_VERSION)
        select.select([client.sock], [], [], 30)  # the answer has begun
    bystander.works()
    grown = resident_kib(loaded.pid) - before

    assert grown < 10 * MIB
    last = slow[-1]
    assert len(last.receive_frame()) > BIG_BYTES * 0.95


def test_a_slow_reader_of_a_topic_that_is_deleted_is_disconnected(
    tmp_path: Path, clients: ExitStack
) -> None:
    with BarnabasProcess(tmp_path, "log.segment.delete.delay.ms=0") as broker:
        create_topics(broker.bootstrap, "t")
        send(broker.bootstrap, "t", [(None, bytes(1 << 16))] * 300, compression_type="none")
        slow = clients.enter_context(WireClient(broker.port, receive_buffer=4096))
        slow.send(fetch_request("t"), FETCH_VERSION)
        select.select([slow.sock], [], [], 30)  # the answer has begun
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        next(iter(admin.delete_topics(["t"]).values())).result(PATIENCE_S)
        eventually(lambda: not list(tmp_path.glob("t-*")), what="its files are gone")

        with pytest.raises(ConnectionError):
            slow.receive_frame()

        assert is_served(clients.enter_context(WireClient(broker.port)))
        assert "Traceback" not in broker.stop()


def test_a_client_that_sends_byte_by_byte_disturbs_nobody(
    loaded: BarnabasProcess, bystander: Bystander, clients: ExitStack
) -> None:
    slow = clients.enter_context(WireClient(loaded.port))
    request = produce_request(WIDE_TOPIC, batch_of(b"slowly"), partition=1)

    for byte in encoded(request, PRODUCE_VERSION):
        slow.sock.sendall(bytes([byte]))
        bystander.works()

    assert produced(slow.receive(request, PRODUCE_VERSION)) == (0, 0)


def test_nothing_is_kept_of_clients_that_vanish_while_they_wait(
    loaded: BarnabasProcess, bystander: Bystander
) -> None:
    request = fetch_request(WIDE_TOPIC, max_wait_ms=3_600_000, min_bytes=1 << 30)
    request.topics[0].partitions = [
        FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1000) for n in range(WIDE)
    ]
    data = encoded(request, FETCH_VERSION)

    def come_and_go(times: int) -> int:
        for _ in range(times):
            with WireClient(loaded.port) as client:
                client.sock.sendall(data + encoded(ApiVersionsRequest(), 0))
        bystander.works()
        return resident_kib(loaded.pid)

    come_and_go(50)
    before = come_and_go(50)
    after = come_and_go(300)

    assert after - before < 5 * MIB  # one that stays costs 0.2 MiB


def test_a_large_request_that_is_never_finished_is_forgotten_with_its_client(
    loaded: BarnabasProcess, bystander: Bystander
) -> None:
    before = resident_kib(loaded.pid)
    announced = struct.pack(">i", 90 << 20)
    with ExitStack() as vanishing:
        for _ in range(50):
            client = vanishing.enter_context(WireClient(loaded.port))
            client.sock.sendall(announced + bytes(100))
        bystander.works()
        assert resident_kib(loaded.pid) - before < 10 * MIB, "an announcement costs nothing"
        client.sock.sendall(bytes(80 << 20))
        bystander.works()
    eventually(lambda: resident_kib(loaded.pid) - before < 10 * MIB, what="its memory is back")


# -- batches that are much work


def bomb() -> bytes:
    """Records of nothing but a key, far more than their bytes tell."""
    record = Record(timestamp=-1, key=b"k", value=None)
    return bytes(encode_batch([record] * BOMB_RECORDS, codec=Codec.ZSTD))


def test_a_batch_that_is_much_work_keeps_nobody_else_waiting(
    tmp_path: Path, clients: ExitStack
) -> None:
    data = bomb()
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "compacted", **{"cleanup.policy": "compact"})
        greedy, other = (clients.enter_context(WireClient(broker.port)) for _ in range(2))
        heavy, light = (
            produce_request("compacted", records) for records in (data, batch_of(b"v", key=b"k"))
        )

        for request in (heavy, light, heavy):
            greedy.send(request, PRODUCE_VERSION)
        answers = [is_served(other)]
        while not select.select([greedy.sock], [], [], 0)[0]:
            answers.append(is_served(other))

        assert all(answers)
        assert len(answers) > 10  # while the first of the three was looked at
        received = [produced(greedy.receive(r, PRODUCE_VERSION)) for r in (heavy, light, heavy)]
        assert received == [(0, 0), (0, BOMB_RECORDS), (0, BOMB_RECORDS + 1)]
