"""What is learnt from a heartbeat: those of a member differ in their epoch or generation at most.

That is true of heartbeats that tell nothing new, which are the rule.  Others may be learnt from,
too: what comes of a heartbeat is decided by the coordinator each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.net.frame_form import FrameForm
from barnabas.broker.net.group_place import GroupPlace
from barnabas.broker.net.memo import Memo, Received
from barnabas.coordinator.group.beat_again import BeatAgain
from barnabas.coordinator.group.events import Call
from barnabas.protocol.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

EPOCH = 3
"""Where it stands among the values of a form."""
FRAME_BYTES_MAX = 512
"""What a connection may keep for this, three times or so."""


def learn(broker: Broker, received: Received) -> Memo | None:
    """A memo for heartbeats like this one, or None if it is not of the simple kind."""
    request = received.request
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
    if (
        not is_plain
        or len(received.frame) > FRAME_BYTES_MAX
        or broker.groups.topic not in broker.image.topics
        or not received.is_written_as_we_would
    ):
        return None
    form = FrameForm(received.frame, [received.body_at + _place(received, epoch_name)], "i")
    place = GroupPlace(broker, request.group_id)
    return Memo(broker, received, form, place, Beats(received, epoch_name).event_of)


def _place(received: Received, epoch_name: str) -> int:
    """Where in the body the epoch stands: there it differs when the epoch does."""
    request = received.request
    epoch = getattr(request, epoch_name)
    bodies = []
    for other in (0, -1):
        setattr(request, epoch_name, other)
        bodies.append(request.encode(received.version))
    setattr(request, epoch_name, epoch)
    return next(at for at, (a, b) in enumerate(zip(*bodies, strict=True)) if a != b)


class Beats:
    """The heartbeats of one connection as events: the same one until the epoch is another."""

    __slots__ = ("_epoch", "_epoch_name", "_event", "_fields")

    def __init__(self, received: Received, epoch_name: str) -> None:
        request = received.request
        self._epoch_name = epoch_name
        self._fields = {name: getattr(request, name) for name in type(request).field_defaults}
        self._epoch: int = self._fields[epoch_name]
        host = f"/{received.peer_host}"
        self._event = BeatAgain(Call(request, received.version, received.client_id or "", host))

    def event_of(self, values: tuple[Any, ...]) -> BeatAgain:
        """`values` are the frame's, see `FrameForm`."""
        if values[EPOCH] != self._epoch:
            self._begin(values[EPOCH])
        return self._event

    def _begin(self, epoch: int) -> None:
        """Another epoch.  The event before may still wait for its answer, so it stays as it is."""
        call = self._event.call
        self._epoch = self._fields[self._epoch_name] = epoch
        request = type(call.request)(**self._fields)
        self._event = BeatAgain(Call(request, call.version, call.client_id, call.client_host))
