"""A message on its way through a relay: what rules look at.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from barnabas.lab.faults.places import places_in
from barnabas.protocol.framing import read_response_header

if TYPE_CHECKING:
    from barnabas.lab.faults.traffic import Place
    from barnabas.protocol.apis import Api

Direction = Literal["request", "response"]
LENGTH_BYTES = 4


class Passing:
    """One request or response, whole.  It is decoded when somebody asks, and once."""

    __slots__ = (
        "_body_at",
        "_message",
        "_names",
        "_places",
        "api",
        "broker",
        "client",
        "direction",
        "frame",
        "peer",
        "version",
    )

    def __init__(
        self,
        frame: bytes,
        *,
        direction: Direction,
        api: Api,
        version: int,
        client: str | None,
        broker: int,
        peer: int | None,
        names: Mapping[bytes, str],
        body_at: int = 0,
    ) -> None:
        """`broker`: the node that is asked, and answers.  `peer`: the node that asks; None if that
        is a client.  `body_at`: where a request's message begins in `frame`."""
        self.frame = frame
        """With its length in front."""
        self.direction: Direction = direction
        self.api = api
        self.version = version
        self.client = client
        self.broker = broker
        self.peer = peer
        self._names = names
        self._body_at = body_at
        self._message: Any = None
        self._places: frozenset[Place] | None = None

    @property
    def message(self) -> Any:
        """DecodeError if it makes no sense."""
        if self._message is None:
            content = memoryview(self.frame)[LENGTH_BYTES:]
            if self.direction == "request":
                kind, at = self.api.request, self._body_at - LENGTH_BYTES
            else:
                kind, at = self.api.response, self._header_end(content)
            self._message = kind.decode(content, self.version, at)
        return self._message

    def _header_end(self, content: memoryview) -> int:
        return read_response_header(content, self.api, self.version)[1]

    @property
    def places(self) -> frozenset[Place]:
        """The partitions that it names."""
        if self._places is None:
            self._places = places_in(self.message, self._names)
        return self._places
