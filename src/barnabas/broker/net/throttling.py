"""Clients that use more than their quota: told how long (`throttle_time_ms`), and not read from.

As Apache Kafka does since 2.0 (KIP-219), the answer leaves at once and the connection rests; a
client that goes on sending all the same waits in its own buffers.
"""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    import asyncio

    from barnabas.broker.dispatch import RequestContext
    from barnabas.broker.net.connection import Connection

T = TypeVar("T")

FOREVER = float("inf")
NOT_TIMED = frozenset(
    {ApiKey.WRITE_TXN_MARKERS, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.OFFSET_FOR_LEADER_EPOCH}
)
"""What brokers ask of each other, besides fetches: they must not wait because of a client's quota.
Clients ask some of it too, seldom, and get it for nothing."""


class Mute(NamedTuple):
    """Until when nothing is read from a connection."""

    until: float
    timer: asyncio.TimerHandle


def mute(connection: Connection, seconds: float) -> None:
    """Read nothing more for so long; what was received waits, too.  Answers still leave."""
    loop, known = connection.turn.loop, connection.muted
    until = loop.time() + seconds
    if seconds <= 0 or connection.closed or (known is not None and known.until >= until):
        return
    if known is not None:
        known.timer.cancel()
    connection.muted = Mute(until, loop.call_at(until, partial(unmute, connection)))
    connection.block()


def unmute(connection: Connection) -> None:
    """The time is up, or the quota has changed: then it is seen anew what is owed."""
    known = connection.muted
    if known is not None and known.until < FOREVER:
        known.timer.cancel()
        connection.muted = None
        connection.last_active = connection.turn.now
        connection.turn.schedule(connection)


def close_after(connection: Connection, seconds: float) -> None:
    """It came too soon: nothing is ever read from it, and its client learns that late."""
    loop = connection.turn.loop
    connection.muted = Mute(FOREVER, loop.call_at(loop.time() + seconds, connection.close))
    connection.block()


def charge_bytes(connection: Connection, ctx: RequestContext, size: int, now: float) -> None:
    """A request of `size` bytes has come: if it is a produce, it counts before it is handled."""
    bucket = ctx.limits.produce if ctx.limits is not None else None
    if bucket is not None and ctx.api_key == ApiKey.PRODUCE:
        bucket.spend(size, now)
        ctx.pause_s = bucket.pause(now)
        mute(connection, ctx.pause_s)  # now: what stands behind it in the buffer must wait, too


def charge_time(connection: Connection, ctx: RequestContext, began: float, now: float) -> None:
    """A handler has run from `began` to `now`.  There is one thread: its time is all there is."""
    limits = ctx.limits
    if limits is not None and limits.requests is not None and ctx.api_key not in NOT_TIMED:
        limits.requests.spend((now - began) * 100, now)
        pause_s = min(limits.requests.pause(now), limits.request_pause_s_max)
        mute(connection, pause_s)
        ctx.pause_s = max(ctx.pause_s, pause_s)


def throttled(connection: Connection, ctx: RequestContext, answer: T) -> T:
    """The answer, in which the client is told how long it waits, by whatever quota.

    For what was charged when the request came it waits already; what its handler found is new.
    """
    found_ms = getattr(answer, "throttle_time_ms", None)
    if found_ms is None:
        return answer
    mute(connection, found_ms / 1000)
    own_ms = math.ceil(ctx.pause_s * 1000)
    if own_ms <= found_ms:
        return answer
    told: Any = copy(answer)  # some answers are the same object for everybody
    told.throttle_time_ms = own_ms
    return cast("T", told)
