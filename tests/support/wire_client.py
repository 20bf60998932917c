"""A client of one connection that speaks our codec: any version, pipelined, rude if asked to."""

from __future__ import annotations

import socket
import struct
import time
from types import TracebackType
from typing import Any

from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import encode_request_header, frame, read_response_header
from barnabas.protocol.message import Message
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.records.batch import Record, decode_records, encode_batch, iter_headers

FETCH_VERSION = 12  # the last one with topic names
LIST_OFFSETS_VERSION = 8
METADATA_VERSION = 12
PRODUCE_VERSION = 11
OFFSET_OUT_OF_RANGE = 1


class WireClient:
    """One blocking connection.  A context manager."""

    def __init__(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
        source: str | None = None,
        timeout_s: float = 30,
        receive_buffer: int | None = None,
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(timeout_s)
            if receive_buffer is not None:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            if source is not None:
                self.sock.bind((source, 0))
            self.sock.connect((host, port))
        except OSError:
            self.sock.close()
            raise
        self._sent = 0

    def __enter__(self) -> WireClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.sock.close()

    def call(self, request: Message, version: int) -> Any:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return self.receive(request, version)

    def send(self, request: Message, version: int) -> None:
        self._sent += 1
        self.sock.sendall(encoded(request, version, correlation_id=self._sent))

    def receive(self, request: Message, version: int) -> Any:
        """The next answer, which must be the one to `request`."""
        described = api(ApiKey(request.api_key))
        payload = self.receive_frame()
        _, pos = read_response_header(payload, described, version)
        return described.response.decode(payload, version, pos)

    def replay(self, frame: bytes) -> Any:
        """Send a frame that some client once sent, byte for byte; the answer to it."""
        key, version = struct.unpack_from(">hh", frame, 4)
        self.sock.sendall(frame)
        described = api(ApiKey(key))
        payload = self.receive_frame()
        _, pos = read_response_header(payload, described, version)
        return described.response.decode(payload, version, pos)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        filled = 0
        while filled < count:
            received = self.sock.recv_into(view[filled:])
            if not received:
                raise ConnectionError(f"closed by the broker after {filled} of {count} bytes")
            filled += received
        return bytes(data)

    def read_to_end(self) -> bytes:
        """What the broker still sends before it closes."""
        parts = []
        try:
            while data := self.sock.recv(65536):
                parts.append(data)
        except ConnectionResetError:
            pass  # it ended before it had read all that was sent: an end as good as any
        return b"".join(parts)

    def is_closed(self) -> bool:
        """Wait until the broker closes; False if it answers instead."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True


def encoded(request: Message, version: int, *, correlation_id: int = 1) -> bytes:
    """A whole frame."""
    described = api(ApiKey(request.api_key))
    header = encode_request_header(described, version, correlation_id, "test")
    return frame(header + request.encode(version))


def batch_of(*values: bytes | None, key: bytes | None = None, **producer: int) -> bytes:
    """One batch of now; `producer` may name `producer_id`, `producer_epoch`, `base_sequence`."""
    now_ms = int(time.time() * 1000)
    records = [
        Record(offset=n, timestamp=now_ms, key=key, value=value, headers=[])
        for n, value in enumerate(values)
    ]
    return bytes(encode_batch(records, **producer))


def produce_request(
    topic: str, batch: bytes, *, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def fetch_request(
    topic: str,
    *,
    partition: int = 0,
    offset: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 64 << 20,
) -> FetchRequest:
    """Without a session."""
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def produced(answer: Any) -> tuple[int, int]:
    """Error code and base offset of the one partition of a Produce answer."""
    result = answer.responses[0].partition_responses[0]
    return result.error_code, result.base_offset


def fetched(answer: Any) -> Any:
    """The one partition of a Fetch answer."""
    return answer.responses[0].partitions[0]


def offset_for(client: WireClient, topic: str, timestamp: int, *, partition: int = 0) -> int:
    """ListOffsets: -2 is the start of the log, -1 its end."""
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    answer = client.call(request, LIST_OFFSETS_VERSION)
    result = answer.topics[0].partitions[0]
    assert result.error_code == 0, result
    found: int = result.offset
    return found


def read_log(client: WireClient, topic: str, *, partition: int = 0) -> list[Record]:
    """Every record of a partition, from its first offset to its end."""
    offset = offset_for(client, topic, -2, partition=partition)
    end = offset_for(client, topic, -1, partition=partition)
    found: list[Record] = []
    while offset < end:
        request = fetch_request(topic, partition=partition, offset=offset)
        answer = fetched(client.call(request, FETCH_VERSION))
        if answer.error_code == OFFSET_OUT_OF_RANGE:  # the broker has just deleted from the start
            return read_log(client, topic, partition=partition)
        assert answer.error_code == 0, answer
        assert answer.records, f"nothing at offset {offset} of {end}"
        for at, header in iter_headers(answer.records):
            batch = memoryview(answer.records)[at : at + header.size_bytes]
            found += [r for r in decode_records(batch, header) if offset <= r.offset < end]
            offset = header.last_offset + 1
    return found
