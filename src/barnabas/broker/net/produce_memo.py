"""The short way for Produce: a producer's requests differ in little but their records.

A request to one partition is the same, byte for byte, as the one before it, except for correlation
id, partition index and records.  After the first such request went the long way (codec, handler),
its prefix and the layout of its answer are remembered; a later request that begins with the same
bytes needs no decoding and no message objects.  Whatever does not fit, and every error, goes the
long way, so this file decides nothing: it only skips work.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.broker.dispatch import NOBODY
from barnabas.broker.handlers.shared import INTERNAL_TOPICS
from barnabas.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas.records.header import LOW_ATTRIBUTES, TRANSACTIONAL
from barnabas.records.validate import TakesLong
from barnabas.replication.held import hold

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.broker.net.connection import Connection
    from barnabas.protocol.messages.produce import ProduceRequest
    from barnabas.replication.partition import Partition
    from barnabas.replication.replicas import ReplicaManager

INT32 = Struct(">i")
RESULT = Struct(">ihqqq")
"""Partition index, error code, base offset, log append time, log start offset, as they stand
together in every version from 5 on."""
ERROR = Struct(">hqqq")
"""The same without the index: of a batch that is not known to be replicated."""
VERSION_MIN = 7
FLEXIBLE_SINCE = 9
HEADER_BYTES = 8
"""Api key, version, correlation id: before the remembered prefix."""
MARK = 0x5EED_0FF5_E75
"""Stands for the offsets while the layout of an answer is taken."""


class ProduceMemo:
    """What one connection's produce requests to one topic have in common."""

    __slots__ = (
        "_acks",
        "_bytes_min",
        "_clock",
        "_head",
        "_lanes",
        "_prefix",
        "_prefix_end",
        "_replicas",
        "_tail_bytes",
        "_timeout_s",
        "_topic",
        "_version",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        frame: memoryview,
        request: ProduceRequest,
        index_at: int,
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._version = version = int.from_bytes(frame[2:4], "big")
        self._acks = request.acks
        self._timeout_s = request.timeout_ms / 1000
        self._topic = request.topic_data[0].name
        self._tail_bytes = 3 if version >= FLEXIBLE_SINCE else 0
        self._head = bytes(frame[:4])
        self._prefix = bytes(frame[HEADER_BYTES:index_at])
        self._prefix_end = index_at
        self._bytes_min = index_at + 9
        """Index and length are inside the frame, however long the length is written."""
        self._lanes: dict[int, _Lane] = {}

    def handle(
        self, connection: Connection, data: bytearray, view: memoryview, start: int, end: int
    ) -> bool:
        """Append and answer, if this is such a request; False: nothing was done."""
        if (
            end - start < self._bytes_min
            or not data.startswith(self._head, start)
            or not data.startswith(self._prefix, start + HEADER_BYTES)
        ):
            return False
        pos = start + self._prefix_end
        lane = self._lanes.get(INT32.unpack_from(data, pos)[0])
        if lane is None:
            lane = self._new_lane(INT32.unpack_from(data, pos)[0])
            if lane is None:
                return False
        pos += 4
        stop = end - self._tail_bytes
        if self._tail_bytes:
            length, pos = _varint(data, pos)
            if pos + length - 1 != stop or data[stop] or data[stop + 1] or data[stop + 2]:
                return False
        else:
            length = INT32.unpack_from(data, pos)[0]
            pos += 4
            if pos + length != stop:
                return False
        if stop - pos <= LOW_ATTRIBUTES or data[pos + LOW_ATTRIBUTES] & TRANSACTIONAL:
            return False
        partition = lane.partition
        if not partition.is_leader:
            self._lanes.clear()  # leadership moved, or the topic went: look again next time
            return False
        try:
            appended = partition.append(
                view[pos:stop], acks=self._acks, now_ms=self._clock.now_ms(), patient=False
            )
        except (ApiError, TakesLong):
            return False  # nothing was appended: the long way makes the same error an answer
        replicas = self._replicas
        if not partition.dirty:
            partition.dirty = True
            replicas.dirty.append(partition)
        answer = lane.pack(
            lane.size,
            INT32.unpack_from(data, start + 4)[0],
            lane.before,
            0,
            appended.base_offset,
            appended.log_append_time,
            appended.log_start_offset,
            lane.after,
        )
        if partition.is_alone or self._acks == 1:
            out = connection.out
            partition.unconfirmed.append((out, len(out), lane.error_at))
            out.append(answer)
        else:
            hold(
                replicas.produces,
                partition.held,
                appended.last_offset,
                connection.turn.now + self._timeout_s,
                HeldAnswer(connection, answer, lane.error_at),
            )
        return True

    def _new_lane(self, index: int) -> _Lane | None:
        partition = self._replicas.find(self._topic, index)
        if partition is None:
            return None
        lane = self._lanes[index] = _Lane(partition, self._version)
        return lane


class HeldAnswer:
    """An encoded answer whose place in the out list is kept until the replicas have the batch."""

    __slots__ = ("_answer", "_connection", "_error_at", "_slot")

    def __init__(self, connection: Connection, answer: bytes, error_at: int) -> None:
        self._connection = connection
        self._answer = answer
        self._error_at = error_at
        self._slot = connection.answer_later(NOBODY)

    def give(self, code: ErrorCode) -> None:
        answer = self._answer
        if code:
            at = self._error_at
            answer = answer[:at] + ERROR.pack(code, -1, -1, -1) + answer[at + ERROR.size :]
        self._slot.parts = [answer]
        self._connection.turn.schedule(self._connection)


class _Lane:
    """One partition, and the constant bytes of its answers."""

    __slots__ = ("after", "before", "error_at", "pack", "partition", "size")

    def __init__(self, partition: Partition, version: int) -> None:
        self.partition = partition
        answer = PartitionProduceResponse(
            index=partition.index, base_offset=MARK, log_append_time_ms=-1, log_start_offset=MARK
        )
        body = ProduceResponse(
            responses=[TopicProduceResponse(name=partition.topic, partition_responses=[answer])]
        ).encode(version)
        if version >= FLEXIBLE_SINCE:
            body = b"\0" + body  # the response header's tagged fields
        result = RESULT.pack(partition.index, ErrorCode.NONE, MARK, -1, MARK)
        at = body.index(result)
        self.before = body[: at + 4]
        self.after = body[at + RESULT.size :]
        self.pack = Struct(f">ii{len(self.before)}shqqq{len(self.after)}s").pack
        self.size = 4 + len(body)
        self.error_at = 8 + len(self.before)


def learn(
    replicas: ReplicaManager, clock: Clock, frame: memoryview, body_at: int, request: ProduceRequest
) -> ProduceMemo | None:
    """A memo for requests like this one, or None if it is not of the simple kind.

    `body_at` is where the frame's header ends.
    """
    version = int.from_bytes(frame[2:4], "big")
    if (
        request.acks not in (1, -1)
        or request.transactional_id is not None
        or version < VERSION_MIN
        or len(request.topic_data) != 1
        or len(request.topic_data[0].partition_data) != 1
        or not request.topic_data[0].partition_data[0].records
        or request.topic_data[0].name in INTERNAL_TOPICS  # the handler says who may
    ):
        return None
    index_at = _index_at(frame, body_at, request, version)
    return None if index_at is None else ProduceMemo(replicas, clock, frame, request, index_at)


def _index_at(frame: memoryview, body_at: int, request: ProduceRequest, version: int) -> int | None:
    """Where the partition index stands.  None if the request could have been written shorter.

    A sender may write a length in more bytes than it needs, or tagged fields that we do not know:
    then nothing stands where it is looked for.  The shortest way to write a request is the only one
    of its length.
    """
    data = request.topic_data[0].partition_data[0]
    records, data.records = data.records, b""
    shortest = len(request.encode(version))  # with four bytes behind the index
    data.records = records
    assert records is not None
    index_at = body_at + shortest - 8
    shortest += len(records)
    if version >= FLEXIBLE_SINCE:
        shortest += _varint_bytes(len(records) + 1) - 1
    return index_at if body_at + shortest == len(frame) else None


def _varint_bytes(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


def _varint(data: bytearray, pos: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes; a longer one yields a length that cannot fit."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    return -1, pos
