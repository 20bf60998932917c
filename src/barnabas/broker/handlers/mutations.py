"""controller_mutation_rate (KIP-599): how many partitions a client may make and delete a second.

Clients that know the error are refused while too much is owed; older ones are served, and wait.
What was not carried out in the end is given back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode, ThrottlingQuotaExceeded
from barnabas.broker.handlers.forward import forward

if TYPE_CHECKING:
    from barnabas.broker.dispatch import Later, RequestContext
    from barnabas.broker.quotas.bucket import Bucket
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """An API whose request has `topics` that cost so many partitions each."""

    strict_since: int
    """The version since which clients know THROTTLING_QUOTA_EXCEEDED."""
    partitions: Callable[[Broker, Any], int]
    """How many are made or deleted for one of the topics."""
    result: Callable[[Any], Any]
    """A result that tells which topic it is of."""
    response: Callable[[], Any]
    results: Callable[[Any], list[Any]]
    """The list of results in a response."""


def forward_limited(
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    mutation: Mutation,
    finish: Callable[[Message], Message] | None = None,
) -> Message | Later:
    """As `forward`, as far as the client's quota goes."""
    bucket = ctx.limits.mutations if ctx.limits is not None else None
    if bucket is None:
        return forward(broker, request, timeout_ms=request.timeout_ms, finish=finish)
    limited = _Limited(broker, ctx, bucket, mutation)
    request.topics = [topic for topic in request.topics if limited.allows(topic)]

    def finished(decided: Message) -> Message:
        response = limited.finished(decided)
        return response if finish is None else finish(response)

    if not request.topics:
        return finished(mutation.response())
    return forward(broker, request, timeout_ms=request.timeout_ms, finish=finished)


def may_create(broker: Broker, ctx: RequestContext, partitions: int) -> bool:
    """Whether a client may have a topic made by merely using it."""
    bucket = ctx.limits.mutations if ctx.limits is not None else None
    if bucket is None:
        return True
    now = broker.clock.monotonic()
    if bucket.pause(now):
        return False
    bucket.spend(partitions, now)
    return True


class _Limited:
    """One request of a client that has a quota."""

    def __init__(
        self, broker: Broker, ctx: RequestContext, bucket: Bucket, mutation: Mutation
    ) -> None:
        self._broker = broker
        self._bucket = bucket
        self._mutation = mutation
        self._strict = ctx.api_version >= mutation.strict_since
        self._costs: dict[object, int] = {}
        """By name or id of the topic."""
        self._refused: list[Any] = []
        self._pause_s = 0.0

    def allows(self, topic: Any) -> bool:
        now = self._broker.clock.monotonic()
        owed_s = self._bucket.pause(now)
        if self._strict and owed_s:
            self._pause_s = owed_s
            self._refused.append(topic)
            return False
        cost = self._mutation.partitions(self._broker, topic)
        self._bucket.spend(cost, now)
        self._costs[topic.name or topic.topic_id] = cost
        if not self._strict:
            self._pause_s = self._bucket.pause(now)
        return True

    def finished(self, response: Any) -> Message:
        results = self._mutation.results(response)
        failed = sum(self._cost(result) for result in results if result.error_code)
        if failed:
            self._bucket.spend(-failed, self._broker.clock.monotonic())
        for topic in self._refused:
            result = self._mutation.result(topic)
            result.error_code = int(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
            result.error_message = str(ThrottlingQuotaExceeded())
            results.append(result)
        response.throttle_time_ms = math.ceil(self._pause_s * 1000)
        answer: Message = response
        return answer

    def _cost(self, result: Any) -> int:
        by_name = self._costs.get(result.name)
        if by_name is not None:
            return by_name
        return self._costs.get(getattr(result, "topic_id", None), 0)
