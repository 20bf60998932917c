"""Heartbeats that are like one before, as most are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.coordinator.group.classic import members as classic
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.consumer import steady
from barnabas.protocol.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.shard import GroupShard
    from barnabas.coordinator.runtime_codec import BatchBuilder


class BeatAgain(NamedTuple):
    """The event: a heartbeat of either protocol.  See `Joining`."""

    call: Call

    def refuse(self, error: ApiError) -> Any:
        return self.call.refuse(error)

    def join(self, shard: GroupShard, batch: BatchBuilder, room_bytes: int, now_ms: int) -> Any:
        state, call = shard.state, self.call
        if not isinstance(call.request, HeartbeatRequest):
            return steady.join(state, call, batch, room_bytes, now_ms)
        group = state.groups.get(call.request.group_id)
        if not isinstance(group, ClassicGroup):
            return None
        return classic.heartbeat(state, group, call.request, now_ms).reply
