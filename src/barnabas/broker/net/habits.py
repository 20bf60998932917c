"""What clients say again and again on a connection, so that there is a short way for it.

Members of groups send heartbeats and commits, each the same as the one before but for a few
numbers.  When the second of a kind came the long way (codec, handler), a memo is made of it
(`memo.py`); one that fits it later takes the short way.  What does not fit goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.broker.net.memo import Received
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.memo import Memo
    from barnabas.broker.state import Broker

FRAME_BYTES_MAX = 8 * 1024
"""There are many connections: of longer requests no memo is made."""
CHANCES = 3
"""How often in a row a memo is made that is hardly used: then this client's requests are all
different."""
WORTH_IT = 8
"""Uses of a memo that make up for making it."""


def _learn_commit(broker: Broker, received: Received) -> Memo | None:
    from barnabas.broker.net import commit_memo  # brings the coordinator with it

    return commit_memo.learn(broker, received)


def _learn_beat(broker: Broker, received: Received) -> Memo | None:
    from barnabas.broker.net import beat_memo

    return beat_memo.learn(broker, received)


Learn: TypeAlias = "Callable[[Broker, Received], Memo | None]"

LEARN: Mapping[int, Learn] = {
    ApiKey.OFFSET_COMMIT: _learn_commit,
    ApiKey.HEARTBEAT: _learn_beat,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _learn_beat,
}
"""By api key, which is less than 256 for all of them."""


class Habit:
    """The requests of one kind on one connection."""

    __slots__ = ("_chances", "_learn", "_size", "_useless_size", "memo")

    def __init__(self, api_key: int) -> None:
        self._learn = LEARN[api_key]
        self._size = self._useless_size = 0
        """Of the last request, and of one of which no memo could be made."""
        self._chances = CHANCES
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

        It is learnt from if one of its size came before.
        """
        size, self._size = self._size, len(frame)
        if self.memo is not None and self.memo.uses >= WORTH_IT:
            self._chances = CHANCES
        if (
            size != len(frame)
            or len(frame) > FRAME_BYTES_MAX
            or len(frame) == self._useless_size
            or not self._chances
        ):
            return
        version = int.from_bytes(frame[2:4], "big")
        received = Received(
            bytes(frame), body_at, request, version, connection.client_id, connection.peer_host
        )
        memo = self._learn(broker, received)
        if memo is None:
            self._useless_size = len(frame)
            return
        self._chances -= 1
        self.memo = memo
