"""What clients say again and again on a connection, so that there is a short way for it.

Members of groups send heartbeats and commits, each the same as the one before but for a few
numbers.  When the second of a kind came the long way (codec, handler), a memo is made of it; one
that fits it later needs no decoding, no message objects and no handler.  What does not fit goes the
long way.  What is answered is decided by the coordinator each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.state import Broker


class Memo(Protocol):
    """What requests of one kind on one connection have in common."""

    was_used: bool

    def handle(self, connection: Connection, frame: memoryview) -> bool:
        """Have it decided, if this is such a request; False: nothing was done."""


Learn: TypeAlias = "Callable[[Broker, Connection, memoryview, int, Any], Memo | None]"
"""Makes a memo of a frame, the place where its header ends, and the request in it.  None: it is not
of the simple kind."""


def _learn_commit(
    broker: Broker, connection: Connection, frame: memoryview, body_at: int, request: Any
) -> Memo | None:
    from barnabas.broker.net import commit_memo  # brings the coordinator with it

    return commit_memo.learn(broker, frame, body_at, request)


def _learn_beat(
    broker: Broker, connection: Connection, frame: memoryview, body_at: int, request: Any
) -> Memo | None:
    from barnabas.broker.net import beat_memo

    return beat_memo.learn(broker, connection, frame, body_at, request)


LEARN: Mapping[int, Learn] = {
    ApiKey.OFFSET_COMMIT: _learn_commit,
    ApiKey.HEARTBEAT: _learn_beat,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _learn_beat,
}
"""By api key, which is less than 256 for all of them."""


class Habit:
    """The requests of one kind on one connection."""

    __slots__ = ("_learn", "_size", "memo")

    def __init__(self, api_key: int) -> None:
        self._learn = LEARN[api_key]
        self._size = 0
        self.memo: Memo | None = None
        """For those that are like the last; None until that is known to happen."""

    def note(
        self,
        broker: Broker,
        connection: Connection,
        frame: memoryview,
        body_at: int,
        request: Any,
    ) -> None:
        """A request went the long way; `body_at` is where the frame's header ends.

        It is learnt from if one of its size came before.  What was learnt and never used shows that
        this client's requests are all different: no more is learnt from it.
        """
        size, self._size = self._size, len(frame)
        if size == len(frame) and (self.memo is None or self.memo.was_used):
            self.memo = self._learn(broker, connection, frame, body_at, request)
