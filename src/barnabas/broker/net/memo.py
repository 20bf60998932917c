"""The short way of requests that are like the last: no codec, no message objects, no handler.

A memo knows the form of such a request and how its answer is written.  What is answered is decided
by the coordinator each time.  See `habits.py` for when there is one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.broker.dispatch import NOBODY
from barnabas.broker.net.answers import encoded
from barnabas.broker.net.frame_form import CORRELATION_ID, FrameForm
from barnabas.protocol.apis import api

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.group_place import GroupPlace
    from barnabas.broker.net.parts import Slot
    from barnabas.broker.state import Broker
    from barnabas.coordinator.runtime_types import Joining
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.requests")

CORRELATION = Struct(">i")


class Received(NamedTuple):
    """A request that went the long way, for who wants to learn from it."""

    frame: bytes
    body_at: int
    """Where its header ends."""
    request: Any
    version: int
    client_id: str | None
    peer_host: str

    @property
    def is_written_as_we_would(self) -> bool:
        body: bytes = self.request.encode(self.version)
        return self.frame[self.body_at :] == body


class Memo:
    """What requests of one kind on one connection have in common."""

    __slots__ = ("_answers", "_broker", "_event_of", "_form", "_place", "client_id", "uses")

    def __init__(
        self,
        broker: Broker,
        received: Received,
        form: FrameForm,
        place: GroupPlace,
        *,
        event_of: Callable[[tuple[Any, ...]], Joining],
        answers: Answers,
    ) -> None:
        """`event_of` gets the values of a frame, see `FrameForm`."""
        self._broker = broker
        self._form = form
        self._place = place
        self._event_of = event_of
        self._answers = answers
        self.client_id = received.client_id
        self.uses = 0

    def handle(self, connection: Connection, frame: memoryview) -> bool:
        """Have it decided, if this is such a request; False: nothing was done."""
        values = self._form.values(frame)
        if values is None or not self._place.is_known():
            return False
        self.uses += 1
        asked = Asked(self._answers, connection, values[CORRELATION_ID])
        self._broker.groups.again(self._place.index, self._event_of(values), asked.answer)
        if not asked.is_answered:
            asked.slot = connection.answer_later(NOBODY)
        return True


class Answers:
    """Writes the answers of memos.  The same object as the last is not encoded again."""

    __slots__ = ("_behind", "_described", "_last", "_size", "_version")

    def __init__(self, api_key: int, version: int) -> None:
        self._described = api(api_key)
        self._version = version
        self._last: Message | None = None
        self._size = self._behind = b""
        """Of the last, what stands before and behind the correlation id."""

    def encoded(self, answer: Any, correlation_id: int) -> bytes:
        """`answer` is what the coordinator replied: here a message."""
        if answer is not self._last:
            whole = self.whole(answer)
            self._last, self._size, self._behind = answer, whole[:4], whole[8:]
        return self._size + CORRELATION.pack(correlation_id) + self._behind

    def whole(self, answer: Message) -> bytes:
        """With correlation id 0."""
        (whole,) = encoded(self._described, self._version, 0, answer)
        assert isinstance(whole, bytes), "there are no records in it"
        return whole

    def __str__(self) -> str:
        return self._described.name


class Asked:
    """One request on the short way until it is answered."""

    __slots__ = ("_answers", "_connection", "_correlation_id", "is_answered", "slot")

    def __init__(self, answers: Answers, connection: Connection, correlation_id: int) -> None:
        self._answers = answers
        self._connection = connection
        self._correlation_id = correlation_id
        self.is_answered = False
        self.slot: Slot | None = None
        """Its place among the answers, if it was not answered at once."""

    def answer(self, answer: Any) -> None:
        """What is wrong with it concerns this connection only."""
        self.is_answered = True
        connection = self._connection
        if connection.closed:
            return
        try:
            parts = [self._answers.encoded(answer, self._correlation_id)]
        except Exception:
            logger.exception("closing %s: %s could not be answered", connection, self._answers)
            connection.close()
            return
        if self.slot is None:
            connection.answer(parts)
        else:
            connection.fill(self.slot, parts)
