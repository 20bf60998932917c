"""Messages as a relay sees them pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from barnabas.lab.faults.passing import LENGTH_BYTES, Passing
from barnabas.protocol.apis import APIS
from barnabas.protocol.framing import read_request_header, request_frame, response_frame
from barnabas.protocol.message import Message

CORRELATION_ID = 7


def passing_request(
    message: Message,
    version: int,
    *,
    client: str | None = "client",
    broker: int = 1,
    peer: int | None = None,
    names: Mapping[bytes, str] | None = None,
) -> Passing:
    api = APIS[message.api_key]
    frame = request_frame(message, api, version, CORRELATION_ID, client)
    return Passing(
        frame,
        direction="request",
        api=api,
        version=version,
        client=client,
        broker=broker,
        peer=peer,
        names=names or {},
        body_at=read_request_header(frame, LENGTH_BYTES)[-1],
    )


def passing_response(
    message: Message,
    version: int,
    *,
    client: str | None = "client",
    broker: int = 1,
    peer: int | None = None,
    names: Mapping[bytes, str] | None = None,
) -> Passing:
    api = APIS[message.api_key]
    header = api.response_header_version(version)
    parts = response_frame(message, version, CORRELATION_ID, header)
    return Passing(
        b"".join(cast("list[bytes]", parts)),
        direction="response",
        api=api,
        version=version,
        client=client,
        broker=broker,
        peer=peer,
        names=names or {},
    )
