"""What is learnt from a heartbeat: those of a member differ in their epoch or generation at most.

That is true of heartbeats that tell nothing new, which are the rule.  What comes of a heartbeat is
decided by the coordinator each time.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any

from barnabas.broker.net.frame_form import FrameForm
from barnabas.broker.net.group_place import GroupPlace
from barnabas.broker.net.memo import CORRELATION, Answers, Memo, Received
from barnabas.coordinator.group.beat_again import BeatAgain, Beats
from barnabas.coordinator.group.classic.members import ALIVE, REBALANCING
from barnabas.coordinator.group.consumer.answers import Unchanged
from barnabas.coordinator.group.events import Call
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

EPOCH = 3
"""Where it stands among the values of a form."""
EPOCH_BYTES = 4
SIZE_BYTES = 4
"""Of an answer, before its correlation id ..."""
BODY_AT = 8
"""... behind which the rest of it begins."""
FRAME_BYTES_MAX = 512
"""What a connection may keep for this, three times or so."""


def learn(broker: Broker, received: Received) -> Memo | None:
    """A memo for heartbeats like this one, or None if it is not of the simple kind."""
    request = received.request
    host = f"/{received.peer_host}"
    beats = Beats(Call(request, received.version, received.client_id or "", host))
    if beats.is_classic:
        is_plain = bool(request.group_id)
    else:
        is_plain = beats.who is not None and broker.groups.serves_consumer_protocol
    if (
        not is_plain
        or len(received.frame) > FRAME_BYTES_MAX
        or broker.groups.topic not in broker.image.topics
        or not received.is_written_as_we_would
    ):
        return None
    form = FrameForm(received.frame, [received.body_at + _place(received, beats.epoch_name)], "i")
    place = GroupPlace(broker, request.group_id)
    answers = _classic(received.version) if beats.is_classic else BeatAnswers(received)
    last = BeatAgain(beats, getattr(request, beats.epoch_name))

    def event_of(values: tuple[Any, ...]) -> BeatAgain:
        """The same until the epoch is another; one before may still wait for its answer."""
        nonlocal last
        if values[EPOCH] != last.epoch:
            last = BeatAgain(beats, values[EPOCH])
        return last

    return Memo(broker, received, form, place, event_of=event_of, answers=answers)


def _place(received: Received, epoch_name: str) -> int:
    """Where in the body the epoch stands: there it differs when the epoch does."""
    request = received.request
    epoch = getattr(request, epoch_name)
    bodies = []
    for other in (0, -1):
        setattr(request, epoch_name, other)
        bodies.append(request.encode(received.version))
    setattr(request, epoch_name, epoch)
    return _first_difference(*bodies)


def _first_difference(one: bytes, other: bytes) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


class ClassicAnswers(Answers):
    """Of one version, for all connections: nearly all hear that all is well, or that they must
    join, which is written once."""

    __slots__ = ("_alive", "_rebalancing")

    def __init__(self, version: int) -> None:
        super().__init__(ApiKey.HEARTBEAT, version)
        self._alive, self._rebalancing = self.whole(ALIVE), self.whole(REBALANCING)

    def encoded(self, answer: Any, correlation_id: int) -> bytes:
        if answer is ALIVE:
            return _numbered(self._alive, correlation_id)
        if answer is REBALANCING:
            return _numbered(self._rebalancing, correlation_id)
        return _numbered(self.whole(answer), correlation_id)


@cache
def _classic(version: int) -> ClassicAnswers:
    return ClassicAnswers(version)


def _numbered(whole: bytes, correlation_id: int) -> bytes:
    """The answer, which has correlation id 0, with this one."""
    return whole[:SIZE_BYTES] + CORRELATION.pack(correlation_id) + whole[BODY_AT:]


class BeatAnswers(Answers):
    """A member is mostly told nothing but its epoch: then nothing else is written anew."""

    __slots__ = ("_form", "_interval_ms", "_member_id", "_texts")

    def __init__(self, received: Received) -> None:
        super().__init__(received.request.api_key, received.version)
        self._member_id: str = received.request.member_id
        self._interval_ms: int | None = None
        """For which the form holds, which is not made before it is needed."""

    def encoded(self, answer: Any, correlation_id: int) -> bytes:
        if type(answer) is not Unchanged:  # a refusal, or an assignment: not to be kept
            return _numbered(self.whole(answer), correlation_id)
        epoch, interval_ms = answer
        if interval_ms != self._interval_ms:
            self._learn(interval_ms)
        before, between, behind = self._texts
        return self._form.pack(before, correlation_id, between, epoch, behind)

    def _learn(self, interval_ms: int) -> None:
        """Find the epoch: there answers differ when it does."""
        one, other = (
            self.whole(Unchanged(epoch, interval_ms).message(self._member_id)) for epoch in (0, -1)
        )
        at = _first_difference(one, other)
        self._texts = one[:SIZE_BYTES], one[BODY_AT:at], one[at + EPOCH_BYTES :]
        lengths = [len(text) for text in self._texts]
        self._form = Struct(">{}si{}si{}s".format(*lengths))
        self._interval_ms = interval_ms
