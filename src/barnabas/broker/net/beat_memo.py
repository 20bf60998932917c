"""The short way for heartbeats: those of a member differ in their epoch or generation at most.

See `habits.py`.  Only heartbeats without news are learnt from.  Mostly the answer is known at once,
and the same as before.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from barnabas.broker.dispatch import Later
from barnabas.broker.net.answers import encoded
from barnabas.broker.net.frame_form import CORRELATION_ID, FrameForm
from barnabas.broker.net.group_place import GroupPlace
from barnabas.coordinator.group.beat_again import BeatAgain
from barnabas.coordinator.group.events import Call
from barnabas.protocol.apis import api
from barnabas.protocol.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.parts import Slot
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

EPOCH = 3
"""Where it stands among the values of a form."""
FRAME_BYTES_MAX = 512
"""What a connection may keep for this, twice or so."""
CORRELATION = Struct(">i")
NOBODY = Later()
"""For a place in an out list that nobody has to be told of if the client goes."""


class BeatMemo:
    """What the heartbeats of one connection have in common."""

    __slots__ = (
        "_answer",
        "_broker",
        "_described",
        "_epoch",
        "_epoch_name",
        "_event",
        "_fields",
        "_form",
        "_parts",
        "_place",
        "_version",
        "was_used",
    )

    def __init__(self, broker: Broker, form: FrameForm, call: Call, epoch_name: str) -> None:
        self.was_used = False
        self._broker = broker
        self._form = form
        self._event = BeatAgain(call)
        """The last of them."""
        self._epoch_name = epoch_name
        request = call.request
        self._fields = {name: getattr(request, name) for name in type(request).field_defaults}
        self._epoch: int = self._fields[epoch_name]
        self._described = api(call.request.api_key)
        self._version = call.version
        self._place = GroupPlace(broker, request.group_id)
        self._answer: Message | None = None
        self._parts: tuple[bytes, bytes] = (b"", b"")
        """The last answer: what stands before and behind the correlation id."""

    def handle(self, connection: Connection, frame: memoryview) -> bool:
        """Have it decided, if this is such a heartbeat; False: nothing was done."""
        values = self._form.values(frame)
        if values is None or not self._place.is_known():
            return False
        self.was_used = True
        if values[EPOCH] != self._epoch:
            self._begin(values[EPOCH])
        beat = Beat(self, connection, values[CORRELATION_ID])
        self._broker.groups.again(self._place.index, self._event, beat.answered)
        if not beat.is_answered:
            beat.slot = connection.answer_later(NOBODY)
        return True

    def _begin(self, epoch: int) -> None:
        """The member has got to another epoch.  The event before may still wait for its answer."""
        call = self._event.call
        self._epoch = self._fields[self._epoch_name] = epoch
        request = type(call.request)(**self._fields)
        self._event = BeatAgain(Call(request, call.version, call.client_id, call.client_host))

    def encoded(self, answer: Message, correlation_id: int) -> bytes:
        if answer is not self._answer:
            (whole,) = encoded(self._described, self._version, 0, answer)
            self._answer, self._parts = answer, (whole[:4], whole[8:])
        before, behind = self._parts
        return before + CORRELATION.pack(correlation_id) + behind


class Beat:
    """One heartbeat until it is answered."""

    __slots__ = ("_connection", "_correlation_id", "_memo", "is_answered", "slot")

    def __init__(self, memo: BeatMemo, connection: Connection, correlation_id: int) -> None:
        self._memo = memo
        self._connection = connection
        self._correlation_id = correlation_id
        self.is_answered = False
        self.slot: Slot | None = None
        """Its place, if the answer was not known at once."""

    def answered(self, answer: Message) -> None:
        self.is_answered = True
        connection = self._connection
        if connection.closed:
            return
        parts = [self._memo.encoded(answer, self._correlation_id)]
        if self.slot is None:
            connection.answer(parts)
        else:
            connection.fill(self.slot, parts)


def learn(
    broker: Broker, connection: Connection, frame: memoryview, body_at: int, request: Any
) -> BeatMemo | None:
    """A memo for heartbeats like this one, or None if it is not of the simple kind."""
    if len(frame) > FRAME_BYTES_MAX or broker.groups.topic not in broker.image.topics:
        return None
    data, version = bytes(frame), int.from_bytes(frame[2:4], "big")
    if isinstance(request, HeartbeatRequest):
        epoch_name = "generation_id"
        is_plain = bool(request.group_id)
    else:
        epoch_name = "member_epoch"
        is_plain = (
            broker.groups.serves_consumer_protocol
            and request.subscribed_topic_names is None
            and request.topic_partitions is None
        )
    if not is_plain or data[body_at:] != request.encode(version):
        return None
    form = FrameForm(data, [body_at + _place(request, epoch_name, version)], "i")
    call = Call(request, version, connection.client_id or "", f"/{connection.peer_host}")
    return BeatMemo(broker, form, call, epoch_name)


def _place(request: Any, epoch_name: str, version: int) -> int:
    """Where in the body the epoch stands: there it differs when the epoch does."""
    epoch = getattr(request, epoch_name)
    bodies = []
    for other in (0, -1):
        setattr(request, epoch_name, other)
        bodies.append(request.encode(version))
    setattr(request, epoch_name, epoch)
    return next(at for at, (a, b) in enumerate(zip(*bodies, strict=True)) if a != b)
