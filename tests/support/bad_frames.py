"""Malformed frames against a live broker: each may close its own connection and nothing else.

Used by a short integration test and by `tests/soak/fuzz.py` for the million.  Frames come from a
seeded generator: noise, lies about length, and well-formed requests with bytes changed, cut or
repeated, for every API the broker answers and every version.
"""

from __future__ import annotations

import random
import select
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from barnabas.base.ids import random_id
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.batch import Record, encode_batch

BYSTANDER = "bystander"
VICTIM = "victim"


@dataclass
class Tally:
    frames: int = 0
    closed: int = 0
    answered: int = 0
    bystander_rounds: int = 0


def header(key: int, version: int, correlation_id: int = 7) -> bytes:
    start = struct.pack(">hhih4s", key, version, correlation_id, 4, b"fuzz")
    return start + (b"\0" if api(ApiKey(key)).request_header_version(version) == 2 else b"")


def samples(versions: dict[int, tuple[int, int]]) -> list[bytes]:
    """Well-formed requests: the rich ones by hand, the default one of every other API."""
    batch = encode_batch([Record(offset=0, timestamp=1, key=b"k", value=b"v" * 50, headers=[])])
    rich = {
        ApiKey.PRODUCE: ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=VICTIM, partition_data=[PartitionProduceData(index=0, records=batch)]
                )
            ],
        ),
        ApiKey.FETCH: FetchRequest(
            max_wait_ms=1,
            min_bytes=0,
            topics=[
                FetchTopic(
                    topic=VICTIM,
                    topic_id=random_id(),
                    partitions=[FetchPartition(partition=0, partition_max_bytes=1000)],
                )
            ],
        ),
        ApiKey.LIST_OFFSETS: ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(
                    name=VICTIM,
                    partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)],
                )
            ]
        ),
        ApiKey.METADATA: MetadataRequest(topics=[MetadataRequestTopic(name=VICTIM)]),
        ApiKey.CREATE_TOPICS: CreateTopicsRequest(
            topics=[CreatableTopic(name=VICTIM, num_partitions=1, replication_factor=1)],
            timeout_ms=10,
            validate_only=True,
        ),
    }
    found = []
    for key, (low, high) in versions.items():
        request = rich.get(ApiKey(key)) or api(ApiKey(key)).request()
        first = max(low, 3) if key == ApiKey.PRODUCE else low
        found += [header(key, v) + request.encode(v) for v in range(first, high + 1)]
    return found


def frames(rng: random.Random, seeds: list[bytes]) -> Iterator[bytes]:
    """Endless malformed frames, each with the length prefix that is sent for it."""
    kinds: list[Callable[[random.Random, list[bytes]], bytes]] = [
        _noise,
        _noise_body,
        _flipped,
        _flipped,
        _flipped,
        _cut,
        _repeated,
        _long_lie,
        _unknown,
    ]
    while True:
        yield rng.choice(kinds)(rng, seeds)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _noise(rng: random.Random, seeds: list[bytes]) -> bytes:
    return rng.randbytes(rng.randrange(1, 60))


def _noise_body(rng: random.Random, seeds: list[bytes]) -> bytes:
    return framed(rng.choice(seeds)[:8] + rng.randbytes(rng.randrange(80)))


def _flipped(rng: random.Random, seeds: list[bytes]) -> bytes:
    body = bytearray(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 2, 8])):
        body[rng.randrange(8, len(body))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return framed(bytes(body))


def _cut(rng: random.Random, seeds: list[bytes]) -> bytes:
    body = rng.choice(seeds)
    return framed(body[: rng.randrange(len(body))])


def _repeated(rng: random.Random, seeds: list[bytes]) -> bytes:
    body = rng.choice(seeds)
    at = rng.randrange(len(body))
    return framed(body[:at] + body[at : at + rng.randrange(1, 20)] * rng.randrange(2, 40))


def _long_lie(rng: random.Random, seeds: list[bytes]) -> bytes:
    """More is announced than is sent, up to what is refused at once."""
    body = rng.choice(seeds)
    return struct.pack(">i", rng.choice([-1, len(body) + 1, 1 << 20, 100 << 20, 2**31 - 1])) + body


def _unknown(rng: random.Random, seeds: list[bytes]) -> bytes:
    body = rng.choice(seeds)
    key, version = struct.unpack_from(">hh", body)
    if rng.random() < 0.5:
        key = rng.randrange(-2, 200)
    else:
        version = rng.randrange(-2, 40)
    return framed(struct.pack(">hh", key, version) + body[4:])


class Bystander:
    """A well-behaved client on one connection, which must never notice anything."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.next_offset: int | None = None
        batch = encode_batch(
            [Record(offset=0, timestamp=1, key=None, value=b"still here", headers=[])]
        )
        self.request = ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=BYSTANDER, partition_data=[PartitionProduceData(index=0, records=batch)]
                )
            ],
        ).encode(9)

    def round(self) -> None:
        """Produce one record: acknowledged, and at the next offset."""
        body = self._call(ApiKey.PRODUCE, 9, self.request)
        answer = api(ApiKey.PRODUCE).response.decode(body, 9)
        result = answer.responses[0].partition_responses[0]
        assert result.error_code == 0, f"the bystander got error {result.error_code}"
        assert self.next_offset in {None, result.base_offset}, "another client wrote here"
        self.next_offset = result.base_offset + 1

    def _call(self, key: ApiKey, version: int, body: bytes) -> bytes:
        self.sock.sendall(framed(header(key, version) + body))
        size = struct.unpack(">i", self._exactly(4))[0]
        return self._exactly(size)[5 if api(key).response_header_version(version) else 4 :]

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            chunk = self.sock.recv(count - len(data))
            assert chunk, "the bystander's connection was closed"
            data += chunk
        return bytes(data)

    def close(self) -> None:
        self.sock.close()


def attack(
    port: int,
    *,
    versions: dict[int, tuple[int, int]],
    count: int,
    seed: int,
    each_round: Callable[[Tally], None] = lambda tally: None,
    batch: int = 200,
) -> Tally:
    """Send `count` malformed frames, `batch` connections at a time, the bystander in between."""
    rng = random.Random(seed)
    source = frames(rng, samples(versions))
    tally = Tally()
    bystander = Bystander(port)
    try:
        while tally.frames < count:
            _one_round(port, source, min(batch, count - tally.frames), tally)
            bystander.round()
            tally.bystander_rounds += 1
            each_round(tally)
    finally:
        bystander.close()
    return tally


def _one_round(port: int, source: Iterator[bytes], size: int, tally: Tally) -> None:
    open_now = []
    for _ in range(size):
        sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        sock.sendall(next(source))
        sock.shutdown(socket.SHUT_WR)  # a frame that wants more bytes than it has is at its end
        open_now.append(sock)
    for sock in open_now:
        ready, _, _ = select.select([sock], [], [], 30)
        assert ready, "the broker neither answered nor closed"
        try:
            answer = sock.recv(65536)
        except ConnectionResetError:
            answer = b""
        tally.answered += bool(answer)
        tally.closed += not answer
        tally.frames += 1
        sock.close()
