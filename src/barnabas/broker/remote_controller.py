"""The controller, for a broker that does not have it in its own process.

A request is sent to the active controller until it has been carried out or its time is up.  Before
its answer is passed on, this broker has applied what the controller has committed: a client that is
told "created" can produce at once, to the broker that told it.  Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import NotController, RequestTimedOut
from barnabas.broker.metadata_follower import METADATA_TOPIC
from barnabas.controller import decider
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_link import ControllerLink
    from barnabas.broker.metadata_follower import MetadataFollower
    from barnabas.protocol.message import Message

NOTHING_TO_SEE = frozenset(
    {ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.ALLOCATE_PRODUCER_IDS}
)
"""What these change, nobody looks for in the image."""


class RemoteController:
    """A `ControllerPort` over the network."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        link: ControllerLink,
        follower: MetadataFollower,
        *,
        timeout_s: float,
    ) -> None:
        self.link = link
        self.follower = follower
        self.loop = loop
        self._timeout_s = timeout_s

    def submit(self, request: Message, done: Callable[[Message], None]) -> None:
        """See `ControllerPort`.  Refused with REQUEST_TIMED_OUT if no controller could be had; it
        may have been carried out all the same, if the controller died while it did so."""
        timeout_ms = getattr(request, "timeout_ms", 0)
        timeout_s = max(timeout_ms / 1000, self._timeout_s)
        _Call(self, request, done, timeout_s).send()


class _Call:
    """One request: sent, perhaps again, then held until this broker has seen its effects."""

    __slots__ = ("_controller", "_deadline", "_done", "_is_over", "_request", "_timer")

    def __init__(
        self,
        controller: RemoteController,
        request: Message,
        done: Callable[[Message], None],
        timeout_s: float,
    ) -> None:
        self._controller = controller
        self._request = request
        self._done = done
        self._is_over = False
        self._deadline = controller.loop.time() + timeout_s
        self._timer = controller.loop.call_later(
            timeout_s, self._finish, decider.refuse(request, RequestTimedOut())
        )

    def send(self) -> None:
        if not self._is_over:
            left_s = self._deadline - self._controller.loop.time()
            self._controller.link.send(self._request, self._answered, timeout_s=max(left_s, 0.001))

    def _answered(self, response: Message | None) -> None:
        if response is None or response == decider.refuse(self._request, NotController()):
            self._again(self.send)
        elif self._request.api_key in NOTHING_TO_SEE:
            self._finish(response)
        else:
            # From now on it has been carried out: when the time is up, that is the answer.
            self._timer.cancel()
            left_s = max(self._deadline - self._controller.loop.time(), 0.0)
            self._timer = self._controller.loop.call_later(left_s, self._finish, response)
            self._see(response)

    def _see(self, response: Message) -> None:
        """Ask how far the journal is by now, and wait until that is applied here."""

        def answered(quorum: Any) -> None:
            if self._is_over:
                return
            found = quorum.topics[0].partitions[0] if quorum is not None else None
            if found is None or found.error_code:
                self._again(lambda: self._see(response))
            else:
                self._controller.follower.when_reached(
                    found.high_watermark - 1, lambda: self._finish(response)
                )

        topic = RequestTopicData(
            topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)]
        )
        if not self._is_over:
            self._controller.link.send(DescribeQuorumRequest(topics=[topic]), answered)

    def _again(self, call: Callable[[], None]) -> None:
        if not self._is_over:
            self._controller.loop.call_later(self._controller.link.retry_s, call)

    def _finish(self, response: Message) -> None:
        if not self._is_over:
            self._is_over = True
            self._timer.cancel()
            self._done(response)
