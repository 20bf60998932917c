"""Passing requests on to the group coordinator; one answer from several shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ApiError
from barnabas.broker.dispatch import Later, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.coordinator.group.events import Call
    from barnabas.protocol.message import Message


def call(ctx: RequestContext, request: Message) -> Call:
    """The request, with who sent it, as DescribeGroups shows it."""
    from barnabas.coordinator.group.events import Call

    return Call(
        request=request,
        version=ctx.api_version,
        client_id=ctx.client_id or "",
        client_host=f"/{ctx.peer_host}",
    )


def ask_group(broker: Broker, ctx: RequestContext, group_id: str, request: Message) -> Later:
    """The answer of the shard in charge of the group."""
    later = Later()
    broker.groups.schedule(group_id, call(ctx, request), later.resolve)
    return later


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


def by_partition(broker: Broker, names: Iterable[str]) -> dict[int, list[str]]:
    """The names by the partition in charge; -1 for all of them if there is no partition yet."""
    found: dict[int, list[str]] = {}
    for name in names:
        try:
            index = broker.groups.partition_of(name)
        except ApiError:
            index = -1
        found.setdefault(index, []).append(name)
    return found
