"""What is learnt from an OffsetCommit: a member's commits differ in little but their numbers.

A commit is the same, byte for byte, as the one before it on its connection, except for correlation
id, offsets and leader epochs, as long as the member reads the same partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.handlers.group_calls import knows_all
from barnabas.broker.net.frame_form import FrameForm
from barnabas.broker.net.group_place import GroupPlace
from barnabas.broker.net.memo import Answers, Memo, Received
from barnabas.coordinator.group.commit_again import CommitAgain, Pattern

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.messages.offset_commit import OffsetCommitRequest

NUMBERS = "qi"
"""Offset and leader epoch, as they stand together in every version from 6 on."""
NUMBERS_BYTES = 12
VERSION_MIN = 6
PARTITIONS_MAX = 64
"""Commits of more are rare, and their own work outweighs what is saved."""
KEPT_BYTES_MAX = 16 * 1024
"""What a connection may keep for this, three times or so: there are many, and names can be long."""


def learn(broker: Broker, received: Received) -> Memo | None:
    """A memo for commits like this one, or None if it is not of the simple kind."""
    request: OffsetCommitRequest = received.request
    if received.version < VERSION_MIN or _kept_bytes(received) > KEPT_BYTES_MAX:
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
    if not received.is_written_as_we_would:
        return None
    form = FrameForm(received.frame, _places(received), NUMBERS)
    place = GroupPlace(broker, request.group_id, request.topics)
    pattern = Pattern(request, received.version)

    def event_of(values: tuple[Any, ...]) -> CommitAgain:
        return CommitAgain(pattern, values[3::3], values[4::3])

    answers = Answers(request.api_key, received.version)
    return Memo(broker, received, form, place, event_of=event_of, answers=answers)


def _kept_bytes(received: Received) -> int:
    """The frame, and the names of group and topic once for each partition."""
    request: OffsetCommitRequest = received.request
    return len(received.frame) + sum(
        (len(request.group_id) + len(topic.name)) * len(topic.partitions)
        for topic in request.topics
    )


def _places(received: Received) -> list[int]:
    """Where the numbers stand: there the body differs when all of them do."""
    request: OffsetCommitRequest = received.request
    partitions = [p for topic in request.topics for p in topic.partitions]
    numbers = [(p.committed_offset, p.committed_leader_epoch) for p in partitions]
    bodies = []
    for other in (0, -1):  # no byte of one is in the other
        for p in partitions:
            p.committed_offset = p.committed_leader_epoch = other
        bodies.append(request.encode(received.version))
    for p, (offset, leader_epoch) in zip(partitions, numbers, strict=True):
        p.committed_offset, p.committed_leader_epoch = offset, leader_epoch
    open_bytes = [at for at, (a, b) in enumerate(zip(*bodies, strict=True)) if a != b]
    assert len(open_bytes) == NUMBERS_BYTES * len(partitions), "nothing else differs"
    return [received.body_at + at for at in open_bytes[::NUMBERS_BYTES]]
