"""The short way for OffsetCommit: a member's commits differ in little but their numbers.

A commit is the same, byte for byte, as the one before it on its connection, except for correlation
id, offsets and leader epochs, as long as the member reads the same partitions.  When the second of
them came the long way (codec, handler), the places of its numbers and its answer are remembered; a
later one that is the same everywhere else needs no decoding and no message objects.  Whether the
member may commit is decided by the coordinator each time.  Whatever does not fit goes the long way.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later
from barnabas.broker.handlers.group_calls import knows_all
from barnabas.broker.net.answers import encoded
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.parts import Slot
    from barnabas.broker.state import Broker

INT32 = Struct(">i")
SIZE_AND_CORRELATION = Struct(">ii")
NUMBERS = Struct(">qi")
"""Offset and leader epoch, as they stand together in every version from 6 on."""
MARK = 0x5EED_0FF5_E75
"""Stands for the offsets while their places are looked for."""
VERSION_MIN = 6
FLEXIBLE_SINCE = 8
HEADER_BYTES = 8
"""Api key, version, correlation id."""
PARTITIONS_MAX = 64
"""Commits of more are rare, and their own work outweighs what is saved."""
FRAME_BYTES_MAX = 8 * 1024
"""What a connection may keep for this, twice or so: there are many, and a frame can be large."""
NOBODY = Later()
"""For a place in an out list that nobody has to be told of if the client goes."""


class Commits:
    """The commits of one connection."""

    __slots__ = ("_broker", "_size", "memo")

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._size = 0
        self.memo: CommitMemo | None = None
        """For those that are like the last; None until that is known to happen."""

    def note(self, frame: memoryview, body_at: int, request: OffsetCommitRequest) -> None:
        """A commit went the long way; `body_at` is where the frame's header ends.

        It is learnt from if one of its size came before.  What was learnt and never used shows that
        this client's commits are all different: no more is learnt from it.
        """
        size, self._size = self._size, len(frame)
        if size == len(frame) and (self.memo is None or self.memo.was_used):
            self.memo = learn(self._broker, frame, body_at, request)


class CommitMemo:
    """What the commits of one connection have in common."""

    __slots__ = (
        "_body",
        "_broker",
        "_fixed",
        "_image_at",
        "_image_epoch",
        "_index",
        "_pattern",
        "_places",
        "_size",
        "was_used",
    )

    def __init__(
        self, broker: Broker, data: bytes, request: OffsetCommitRequest, places: list[int]
    ) -> None:
        """`data` is a frame, and `places` where its numbers stand."""
        from barnabas.coordinator.group.commit_again import Pattern

        version = int.from_bytes(data[2:4], "big")
        self.was_used = False
        self._broker = broker
        self._pattern = Pattern(request, version)
        self._places = places
        self._index = broker.groups.partition_of(request.group_id)
        self._image_epoch = broker.image.applied_epoch
        self._image_at = broker.image.applied_offset
        """The partitions exist, and that of the group is the same, as long as the metadata is."""
        self._size = len(data)
        starts = [HEADER_BYTES, *(place + NUMBERS.size for place in places)]
        stops = [*places, len(data)]
        self._fixed = [(0, data[:4])]
        self._fixed += [(a, data[a:b]) for a, b in zip(starts, stops, strict=True)]
        body = self._pattern.accepted.encode(version)
        self._body = b"\0" + body if version >= FLEXIBLE_SINCE else body

    def handle(self, connection: Connection, frame: memoryview) -> bool:
        """Have it decided, if this is such a commit; False: nothing was done."""
        broker = self._broker
        if len(frame) != self._size:
            return False
        image = broker.image
        if image.applied_offset != self._image_at or image.applied_epoch != self._image_epoch:
            return False
        data = bytes(frame)
        for at, fixed in self._fixed:
            if not data.startswith(fixed, at):
                return False
        self.was_used = True
        numbers = [NUMBERS.unpack_from(data, place) for place in self._places]
        slot = connection.answer_later(NOBODY)
        (correlation_id,) = INT32.unpack_from(data, 4)
        broker.groups.commit_again(
            self._index,
            self._pattern,
            numbers,
            partial(self._answer, connection, slot, correlation_id),
        )
        return True

    def _answer(
        self, connection: Connection, slot: Slot, correlation_id: int, answer: OffsetCommitResponse
    ) -> None:
        if connection.closed:
            return
        pattern, body = self._pattern, self._body
        if answer is pattern.accepted:
            parts = [SIZE_AND_CORRELATION.pack(4 + len(body), correlation_id) + body]
        else:
            described = api(ApiKey.OFFSET_COMMIT)
            parts = encoded(described, pattern.version, correlation_id, answer)
        connection.fill(slot, parts)


def learn(
    broker: Broker, frame: memoryview, body_at: int, request: OffsetCommitRequest
) -> CommitMemo | None:
    """A memo for commits like this one, or None if it is not of the simple kind."""
    version = int.from_bytes(frame[2:4], "big")
    if version < VERSION_MIN or len(frame) > FRAME_BYTES_MAX:
        return None
    partitions = [p for topic in request.topics for p in topic.partitions]
    if not 0 < len(partitions) <= PARTITIONS_MAX:
        return None
    longest = broker.config.int("offset.metadata.max.bytes")
    if any(len((p.committed_metadata or "").encode()) > longest for p in partitions):
        return None
    topics = broker.image.topics
    if broker.groups.topic not in topics or not knows_all(broker.image, request.topics):
        return None
    data = bytes(frame)
    places = _places(data, body_at, request, version)
    return None if places is None else CommitMemo(broker, data, request, places)


def _places(
    data: bytes, body_at: int, request: OffsetCommitRequest, version: int
) -> list[int] | None:
    """Where the numbers stand.  None if the request was not written as we would write it."""
    if data[body_at:] != request.encode(version):
        return None
    partitions = [p for topic in request.topics for p in topic.partitions]
    numbers = [(p.committed_offset, p.committed_leader_epoch) for p in partitions]
    for number, p in enumerate(partitions):
        p.committed_offset, p.committed_leader_epoch = MARK, number
    marked = request.encode(version)
    for p, (offset, leader_epoch) in zip(partitions, numbers, strict=True):
        p.committed_offset, p.committed_leader_epoch = offset, leader_epoch
    places: list[int] = []
    at = 0
    for number in range(len(partitions)):
        at = marked.index(NUMBERS.pack(MARK, number), at)
        places.append(body_at + at)
        at += NUMBERS.size
    return places
