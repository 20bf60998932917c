"""Messages as a relay sees them pass."""

from __future__ import annotations

from typing import cast

from barnabas.lab.faults.passing import LENGTH_BYTES, Direction, Passing
from barnabas.protocol.apis import APIS
from barnabas.protocol.framing import read_request_header, request_frame, response_frame
from barnabas.protocol.message import Message

CORRELATION_ID = 7
CLIENT, BROKER = "client", 1
"""Who asks, and who is asked."""


def passing_request(message: Message, version: int) -> Passing:
    api = APIS[message.api_key]
    frame = request_frame(message, api, version, CORRELATION_ID, CLIENT)
    body_at = read_request_header(frame, LENGTH_BYTES)[-1]
    return _passing(frame, message, version, "request", body_at=body_at)


def passing_response(message: Message, version: int, *, peer: int | None = None) -> Passing:
    """`peer`: the node that asked; without it a client did."""
    header = APIS[message.api_key].response_header_version(version)
    parts = response_frame(message, version, CORRELATION_ID, header)
    return _passing(b"".join(cast("list[bytes]", parts)), message, version, "response", peer=peer)


def _passing(
    frame: bytes,
    message: Message,
    version: int,
    direction: Direction,
    *,
    peer: int | None = None,
    body_at: int = 0,
) -> Passing:
    return Passing(
        frame,
        direction=direction,
        api=APIS[message.api_key],
        version=version,
        client=CLIENT,
        broker=BROKER,
        peer=peer,
        names={},
        body_at=body_at,
    )
