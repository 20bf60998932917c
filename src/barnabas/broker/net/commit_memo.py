"""The short way for OffsetCommit: a member's commits differ in little but their numbers.

A commit is the same, byte for byte, as the one before it on its connection, except for correlation
id, offsets and leader epochs, as long as the member reads the same partitions.  See `habits.py`.
Whether the member may commit is decided by the coordinator each time.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from barnabas.broker.dispatch import Later
from barnabas.broker.handlers.group_calls import knows_all
from barnabas.broker.net.answers import encoded
from barnabas.broker.net.frame_form import CORRELATION_ID, FrameForm
from barnabas.broker.net.group_place import GroupPlace
from barnabas.coordinator.group.commit_again import CommitAgain, Pattern
from barnabas.protocol.apis import ApiKey, api

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.state import Broker
    from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

SIZE_AND_CORRELATION = Struct(">ii")
NUMBERS = Struct(">qi")
"""Offset and leader epoch, as they stand together in every version from 6 on."""
MARK = 0x5EED_0FF5_E75
"""Stands for the offsets while their places are looked for."""
VERSION_MIN = 6
FLEXIBLE_SINCE = 8
PARTITIONS_MAX = 64
"""Commits of more are rare, and their own work outweighs what is saved."""
FRAME_BYTES_MAX = 8 * 1024
"""What a connection may keep for this, twice or so: there are many, and a frame can be large."""
NOBODY = Later()
"""For a place in an out list that nobody has to be told of if the client goes."""


class CommitMemo:
    """What the commits of one connection have in common."""

    __slots__ = (
        "_broker",
        "_form",
        "_place",
        "body",
        "pattern",
        "was_used",
    )

    def __init__(
        self, broker: Broker, data: bytes, request: OffsetCommitRequest, places: list[int]
    ) -> None:
        """`data` is a frame, and `places` where its numbers stand."""
        version = int.from_bytes(data[2:4], "big")
        self.was_used = False
        self._broker = broker
        self.pattern = Pattern(request, version)
        self._place = GroupPlace(broker, request.group_id, request.topics)
        self._form = FrameForm(data, places, "qi")
        body = self.pattern.accepted.encode(version)
        self.body = b"\0" + body if version >= FLEXIBLE_SINCE else body

    def handle(self, connection: Connection, frame: memoryview) -> bool:
        """Have it decided, if this is such a commit; False: nothing was done."""
        values = self._form.values(frame)
        if values is None or not self._place.is_known():
            return False
        self.was_used = True
        event = UnderWay(self, connection, values)
        self._broker.groups.again(self._place.index, event, event.answered)
        return True


class UnderWay(CommitAgain):
    """Such a commit until it is answered."""

    __slots__ = ("_connection", "_correlation_id", "_memo", "_slot")

    def __init__(self, memo: CommitMemo, connection: Connection, values: tuple[Any, ...]) -> None:
        """`values` are the frame's, see `FrameForm`."""
        super().__init__(memo.pattern, values[3::3], values[4::3])
        self._memo = memo
        self._connection = connection
        self._correlation_id = values[CORRELATION_ID]
        self._slot = connection.answer_later(NOBODY)

    def answered(self, answer: OffsetCommitResponse) -> None:
        connection = self._connection
        if connection.closed:
            return
        if answer is self.pattern.accepted:
            body = self._memo.body
            start = SIZE_AND_CORRELATION.pack(4 + len(body), self._correlation_id)
            connection.fill(self._slot, [start + body])
        else:
            described = api(ApiKey.OFFSET_COMMIT)
            version = self.pattern.version
            connection.fill(self._slot, encoded(described, version, self._correlation_id, answer))


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
