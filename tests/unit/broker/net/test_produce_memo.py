"""The short way of Produce gives the answers and the logs that the long way gives.

The short way begins with the second request of a connection, so a broker that gets every request on
a connection of its own always takes the long one.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_broker import NODE_ID
from storage_logs import batch, values_of
from wired_broker import Client, WiredBroker

from barnabas.base.errors import ErrorCode
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.varint import encode_uvarint
from barnabas.records.batch import Record, encode_batch
from barnabas.records.compression import Codec

TOPICS = ("plain", "stamped", "compacted", "followed", "led-elsewhere", "missing", "small")
OTHER = 2
FLEXIBLE = 9


def make_topics(world: WiredBroker) -> None:
    world.topic("plain", 3)
    world.topic("stamped", 2, message_timestamp_type="LogAppendTime")
    world.topic("compacted", 1, cleanup_policy="compact")
    world.topic("followed", 1, replicas=(NODE_ID, OTHER))
    world.topic("led-elsewhere", 1, replicas=(OTHER, NODE_ID))
    world.topic("small", 1, max_message_bytes="200", min_insync_replicas="2")


# Requests, as bytes.


class Request(NamedTuple):
    """A produce request and what is wrong with it."""

    version: int
    client_id: str | None
    acks: int
    topic: str
    index: int
    records: bytes | None
    fault: str
    at: int
    cut: int | None

    @property
    def may_close(self) -> bool:
        return self.fault != "none" or self.acks == 0

    def frame(self, correlation_id: int) -> bytes:
        head = struct.pack(">hhi", ApiKey.PRODUCE, self.version, correlation_id)
        name = self.client_id
        head += struct.pack(">h", -1) if name is None else struct.pack(">h", len(name))
        head += (name or "").encode() + (b"\0" if self.version >= FLEXIBLE else b"")
        return self._spoil(head, self._message().encode(self.version))

    def _message(self) -> ProduceRequest:
        one = PartitionProduceData(index=self.index, records=self.records)
        partitions = [one] * (2 if self.fault == "twice the partition" else 1)
        topics = [TopicProduceData(name=self.topic, partition_data=partitions)]
        if self.fault == "two topics":
            topics.append(TopicProduceData(name="plain", partition_data=[one]))
        return ProduceRequest(
            transactional_id="x" if self.fault == "transaction" else None,
            acks=self.acks,
            timeout_ms=1000,
            topic_data=topics,
        )

    def _spoil(self, head: bytes, body: bytes) -> bytes:
        match self.fault:
            case "bytes behind it":
                return head + body + bytes(1 + self.at % 5)
            case "cut off":
                return (head + body)[: max(8, len(head + body) - 1 - self.at % 40)]
            case "a flipped bit":
                whole = bytearray(head + body)
                whole[8 + self.at % (len(whole) - 8)] ^= 1 << self.at % 8
                return bytes(whole)
            case "a wrong tail":
                whole = bytearray(head + body)
                whole[-1 - self.at % 3] ^= 1
                return bytes(whole)
            case "an unknown tagged field" if self.version >= FLEXIBLE:
                field = bytes([1, 90, self.at % 9]) + bytes(self.at % 9)
                places = (len(body) - 1, len(body) - 2, len(body) - 3)
                place = places[self.at % 3]
                return head + body[:place] + field + body[place + 1 :]
            case "a long length" if self.version >= FLEXIBLE and self.records:
                return head + self._with_length(body, len(self.records) + 1, pad=5)
            case "a wrong length" if self.version >= FLEXIBLE and self.records:
                return head + self._with_length(body, len(self.records) + self.at % 3, pad=0)
            case "a wrong length" if self.records:
                at = len(body) - len(self.records) - 4
                length = struct.pack(">i", len(self.records) + self.at % 3 - 1)
                return head + body[:at] + length + body[at + 4 :]
        return head + body

    def _with_length(self, body: bytes, value: int, *, pad: int) -> bytes:
        """The length of the records written anew, padded to `pad` bytes."""
        assert self.records is not None
        right = encode_uvarint(len(self.records) + 1)
        wrong = bytearray(encode_uvarint(value))
        while len(wrong) < pad:
            wrong[-1] |= 0x80
            wrong.append(0)
        at = len(body) - 3 - len(self.records) - len(right)
        return body[:at] + bytes(wrong) + body[at + len(right) :]


FAULTS = (
    "bytes behind it",
    "cut off",
    "a flipped bit",
    "a wrong tail",
    "an unknown tagged field",
    "a long length",
    "a wrong length",
    "two topics",
    "twice the partition",
    "transaction",
)


@st.composite
def records(draw: st.DrawFn) -> bytes | None:
    values = draw(st.lists(st.binary(max_size=30) | st.just(bytes(300)), min_size=1, max_size=3))
    kind = draw(st.sampled_from(("plain",) * 4 + ("idempotent",) * 4 + ("other",)))
    if kind == "plain":
        return bytes(batch(*values))
    if kind == "idempotent":  # few numbers: repeats, gaps and old epochs come by themselves
        return bytes(
            batch(
                b"same",
                producer_id=draw(st.integers(7, 8)),
                epoch=draw(st.integers(0, 1)),
                sequence=draw(st.integers(0, 4)),
            )
        )
    match draw(st.sampled_from(("null", "empty", "crc", "codec", "keyless", "two", "stump"))):
        case "null":
            return None
        case "empty":
            return b""
        case "crc":
            return bytes(batch(*values))[:-1] + b"\xff"
        case "codec":
            codec = draw(st.sampled_from(tuple(Codec)))
            return bytes(encode_batch([Record(key=b"k", value=v) for v in values], codec=codec))
        case "keyless":
            return bytes(encode_batch([Record(value=v) for v in values]))
        case "two":
            return bytes(batch(*values)) * 2
        case _:
            return bytes(batch(*values)) + b"stump"


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Mostly alike, as a producer's are."""
    return Request(
        version=draw(st.sampled_from((7, 8, 9, 11, 12))),
        client_id=draw(st.sampled_from(("client", None, ""))),
        acks=draw(st.sampled_from((1, 1, 1, -1, -1, 0, 2))),
        topic=draw(st.sampled_from(("plain",) * 6 + TOPICS)),
        index=draw(st.sampled_from((0, 0, 1, 2, 3, -1))),
        records=draw(records()),
        fault=draw(st.sampled_from(("none",) * 20 + FAULTS)),
        at=draw(st.integers(0, 1000)),
        cut=draw(st.none() | st.integers(1, 90)),
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Request]]:
    """Turns of requests; runs of the same kind, so that the short way is really taken."""
    turns = []
    for _ in range(draw(st.integers(1, 4))):
        model = draw(requests())
        turn = []
        for _ in range(draw(st.integers(1, 5))):
            other = draw(requests())
            if draw(st.integers(0, 3)):
                same = {"version", "client_id", "acks", "topic"}
                other = other._replace(**{name: getattr(model, name) for name in same})
            turn.append(other)
        turns.append(turn)
    return turns


# The two ways.


class Side:
    """A broker, and what it answered to each request."""

    def __init__(self, path: Path, *, one_connection: bool) -> None:
        self.world = WiredBroker(path)
        make_topics(self.world)
        self._client = self.world.connect() if one_connection else None
        self._turn: list[Client] = []
        self.seen: list[Any] = []

    def send(self, number: int, request: Request) -> None:
        if request.may_close:
            self.run_turn()
        client = self._client or self.world.connect()
        self._turn.append(client)
        client.send(request.frame(number), cut=request.cut)
        if request.may_close:
            self.run_turn()
        if client.is_closed:
            self.seen.append(f"{number}: closed")
            if client is self._client:
                self._client = self.world.connect()

    def run_turn(self) -> None:
        """The end of a turn, and of all patience."""
        self.world.run_turn()
        self.world.loop.advance(2.0)
        for client in dict.fromkeys(self._turn):
            self.seen += client.answers()
        self._turn.clear()

    def logs(self) -> dict[str, bytes]:
        return {
            f"{log.topic}-{log.partition}": Path(log.segments.active.file.path).read_bytes()
            for log in self.world.logs.logs.values()
        }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredBroker]:
    made = WiredBroker(tmp_path)
    make_topics(made)
    yield made
    made.close()


@settings(max_examples=100, deadline=None)
@given(turns=conversations())
def test_the_short_way_and_the_long_way_are_the_same(turns: list[list[Request]]) -> None:
    with TemporaryDirectory() as path:
        short = Side(Path(path) / "short", one_connection=True)
        long = Side(Path(path) / "long", one_connection=False)
        for side in (short, long):
            number = 0
            for turn in turns:
                for request in turn:
                    side.send(number, request)
                    number += 1
                side.run_turn()
            side.world.close()

        assert short.seen == long.seen
        assert short.logs() == long.logs()


def ask(version: int = 9, *, acks: int = 1, index: int = 0, values: bytes = b"v") -> Request:
    data = bytes(batch(values))
    return Request(version, "c", acks, "plain", index, data, "none", 0, None)


def answer(data: bytes, version: int = 9) -> ProduceResponse:
    skip = 4 + api(ApiKey.PRODUCE).response_header_version(version)
    decoded = ProduceResponse.decode(data[skip:], version)
    assert isinstance(decoded, ProduceResponse)
    return decoded


@pytest.mark.parametrize("version", range(7, 13))
@pytest.mark.parametrize("acks", [1, -1])
def test_a_failed_write_is_answered_alike_on_both_ways(
    world: WiredBroker, version: int, acks: int
) -> None:
    client, fresh = world.connect(), world.connect()
    client.send(ask(version, acks=acks).frame(1))
    world.run_turn()
    assert answer(client.answers()[0], version).responses[0].partition_responses[0].error_code == 0
    world.disk.room = 0

    client.send(ask(version, acks=acks).frame(2))
    fresh.send(ask(version, acks=acks).frame(2))
    world.run_turn()

    ways = [client.answers(), fresh.answers()]
    found = [answer(way[0], version).responses[0].partition_responses[0] for way in ways]
    for result in found:
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        result.error_message = None  # the long way explains
    assert found[0] == found[1]
    assert world.partition("plain").leader_log().end_offset == 1


def test_acks_all_waits_for_the_replicas_on_both_ways(world: WiredBroker) -> None:
    client = world.connect()
    topic_id = world.partition("followed").topic_id
    request = ask(acks=-1)._replace(topic="followed")
    client.send(request.frame(1))
    client.send(request.frame(2))
    world.run_turn()
    assert client.answers() == []

    world.change(topic_id, isr=[NODE_ID])
    world.run_turn()
    assert len(client.answers()) == 2
    client.send(request.frame(3))
    client.send(request.frame(4))
    world.change(topic_id, isr=[NODE_ID, OTHER])
    client.send(request.frame(5))
    world.run_turn()

    assert len(client.answers()) == 2


def test_a_connection_lost_before_its_batch_is_written_hides_no_failure_from_others(
    world: WiredBroker,
) -> None:
    gone, stays = world.connect(), world.connect()
    for client in (gone, stays):
        client.send(ask().frame(1))
    world.run_turn()
    stays.answers()
    world.disk.room = 0
    for client in (gone, stays):
        client.send(ask().frame(2))

    gone.lose()
    world.run_turn()

    result = answer(stays.answers()[0]).responses[0].partition_responses[0]
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("version", [8, 9])
def test_wherever_a_request_is_cut_off_its_connection_is_closed_with_one_line(
    world: WiredBroker, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    caplog.set_level(logging.DEBUG, "barnabas.net")  # lines that are too many are said there
    whole = ask(version).frame(2)
    for size in range(8, len(whole)):
        client = world.connect()
        client.send(ask(version).frame(1))
        client.send(whole[:size], cut=size // 2)  # so that nothing lies behind it in memory
        world.run_turn()

        assert client.is_closed
    assert {record.exc_info for record in caplog.records} == {None}
    assert len(caplog.records) == len(whole) - 8


def test_a_topic_made_anew_gets_what_is_sent_after_that(world: WiredBroker) -> None:
    client = world.connect()
    old = world.partition("plain").topic_id
    for number in (1, 2):
        client.send(ask(values=b"old").frame(number))
    world.run_turn()
    client.answers()
    world.delete(old)
    client.send(ask(values=b"nowhere").frame(3))
    world.run_turn()
    world.topic("plain", 1, topic_id=b"2" * 16)
    for number in (4, 5):
        client.send(ask(values=b"new").frame(number))
    world.run_turn()

    results = [answer(each).responses[0].partition_responses[0] for each in client.answers()]

    codes = [ErrorCode(result.error_code).name for result in results]
    assert codes == ["UNKNOWN_TOPIC_OR_PARTITION", "NONE", "NONE"]
    assert values_of(world.partition("plain").leader_log()) == [b"new", b"new"]


def test_leadership_that_moves_away_and_back_is_noticed(world: WiredBroker) -> None:
    client = world.connect()
    topic_id = world.topic("moving", 1, replicas=(NODE_ID, OTHER), isr=(NODE_ID, OTHER))
    request = ask()._replace(topic="moving")
    codes = []
    for number, leader in enumerate((None, None, OTHER, NODE_ID)):
        if leader is not None:
            world.change(topic_id, leader=leader)
        client.send(request.frame(number))
        world.run_turn()
        result = answer(client.answers()[0]).responses[0].partition_responses[0]
        codes.append(ErrorCode(result.error_code).name)

    assert codes == ["NONE", "NONE", "NOT_LEADER_OR_FOLLOWER", "NONE"]


def test_a_transaction_without_an_id_is_refused_on_the_short_way_too(world: WiredBroker) -> None:
    client = world.connect()
    data = bytes(batch(b"v", producer_id=9, epoch=0, sequence=0, transactional=True))
    client.send(ask().frame(1))
    client.send(ask()._replace(records=data).frame(2))
    world.run_turn()

    codes = [
        ErrorCode(answer(each).responses[0].partition_responses[0].error_code)
        for each in client.answers()
    ]
    assert codes == [ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    log = world.partition("plain").leader_log()
    assert log.last_stable_offset == log.end_offset == 1
