"""Heartbeats that are like one before, as most are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.coordinator.group.classic import members as classic
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.consumer import steady
from barnabas.protocol.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.shard import GroupShard
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_codec import BatchBuilder
    from barnabas.coordinator.runtime_types import Decision


class Beats:
    """The heartbeats of a member on one connection: they differ in their epoch or generation."""

    __slots__ = ("epoch_name", "first", "is_classic", "who")

    def __init__(self, first: Call) -> None:
        self.first = first
        self.is_classic = isinstance(first.request, HeartbeatRequest)
        self.epoch_name = "generation_id" if self.is_classic else "member_epoch"
        self.who = None if self.is_classic else steady.sender(first)
        """None, too, if it is a newer heartbeat that has more to say."""

    def call(self, epoch: int) -> Call:
        """The request as a whole."""
        request = self.first.request
        fields = {name: getattr(request, name) for name in type(request).field_defaults}
        if fields[self.epoch_name] == epoch:
            return self.first
        return self.first._replace(request=type(request)(**{**fields, self.epoch_name: epoch}))


class BeatAgain:
    """The event: a heartbeat of either protocol.  See `Joining`."""

    __slots__ = ("_call", "beats", "epoch")

    def __init__(self, beats: Beats, epoch: int) -> None:
        self.beats = beats
        self.epoch = epoch
        self._call: Call | None = None

    @property
    def call(self) -> Call:
        """For who needs more of it than its epoch."""
        if self._call is None:
            self._call = self.beats.call(self.epoch)
        return self._call

    def refuse(self, error: ApiError) -> Any:
        return self.call.refuse(error)

    def join(self, shard: GroupShard, batch: BatchBuilder, room_bytes: int, now_ms: int) -> Any:
        state, beats = shard.state, self.beats
        if beats.who is not None:
            return steady.join(
                state, beats.who, self.epoch, batch, room_bytes=room_bytes, now_ms=now_ms
            )
        if not beats.is_classic:
            return None
        decision = classic_again(state, beats, self.epoch, now_ms)
        return None if decision is None else decision.reply


def classic_again(state: GroupState, beats: Beats, generation: int, now_ms: int) -> Decision | None:
    """Decide on a heartbeat of the classic protocol.

    None: there is no such group, or it speaks the newer one.
    """
    request: HeartbeatRequest = beats.first.request
    group = state.groups.get(request.group_id)
    if not isinstance(group, ClassicGroup):
        return None
    return classic.heartbeat(state, group, request, generation=generation, now_ms=now_ms)
