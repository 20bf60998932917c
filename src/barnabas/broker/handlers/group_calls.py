"""Passing requests on to the coordinators; one answer from several replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from barnabas.broker.dispatch import Later, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ClusterImage
    from barnabas.coordinator.group.events import Call
    from barnabas.protocol.message import Message


def call(ctx: RequestContext, request: Message) -> Call:
    """The request, with who sent it, as DescribeGroups shows it."""
    return _call_type()(request, ctx.api_version, ctx.client_id or "", f"/{ctx.peer_host}")


@cache
def _call_type() -> type[Call]:
    """Not imported before somebody has a group."""
    from barnabas.coordinator.group.events import Call

    return Call


def ask_groups(broker: Broker, ctx: RequestContext, request: Message) -> Message | Later:
    """The group coordinator's answer; to most heartbeats it comes at once."""
    later = Later()
    broker.groups.handle(call(ctx, request), later.resolve)
    return later.settled()


def take_unknown(broker: Broker, request: Any) -> list[Any]:
    """Take the partitions that do not exist out of `request.topics`, and return them."""
    if knows_all(broker.image, request.topics):
        return []
    known, unknown = [], []
    for topic in request.topics:
        found = broker.image.topics.get(topic.name)
        indexes = range(0 if found is None else len(found.partitions))
        there = [p for p in topic.partitions if p.partition_index in indexes]
        missing = [p for p in topic.partitions if p.partition_index not in indexes]
        if there:
            known.append(type(topic)(name=topic.name, partitions=there))
        if missing:
            unknown.append(type(topic)(name=topic.name, partitions=missing))
    request.topics = known
    return unknown


def knows_all(image: ClusterImage, topics: Iterable[Any]) -> bool:
    """Whether every partition exists, which is the rule."""
    for topic in topics:
        found = image.topics.get(topic.name)
        if found is None:
            return False
        count = len(found.partitions)
        for partition in topic.partitions:
            if not 0 <= partition.partition_index < count:
                return False
    return True


def add_refused(response: Any, refused: Iterable[Any]) -> None:
    """Add the answers for what `take_unknown` has taken: each topic is there once."""
    answered = {topic.name: topic for topic in response.topics}
    for topic in refused:
        if topic.name in answered:
            answered[topic.name].partitions.extend(topic.partitions)
        else:
            response.topics.append(topic)


class Gather:
    """Waits for several replies; then `finish` makes one answer of them, in the order of asking."""

    def __init__(self, finish: Callable[[list[Any]], Message]) -> None:
        self.later = Later()
        self._finish = finish
        self._replies: list[Any] = []
        self._missing = 1  # until `asked_all`

    def expect(self) -> Callable[[Any], None]:
        """Where the next reply goes."""
        at = len(self._replies)
        self._replies.append(None)
        self._missing += 1

        def put(reply: Any) -> None:
            self._replies[at] = reply
            self._one_less()

        return put

    def asked_all(self) -> Later:
        self._one_less()
        return self.later

    def _one_less(self) -> None:
        self._missing -= 1
        if not self._missing:
            self.later.resolve(self._finish(self._replies))
