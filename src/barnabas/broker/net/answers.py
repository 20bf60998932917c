"""An answer as it is sent: length, header, message."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from barnabas.storage.fs import FileSlice

if TYPE_CHECKING:
    from barnabas.protocol.apis import Api
    from barnabas.protocol.message import Message

SIZE_AND_CORRELATION = Struct(">ii")


def encoded(described: Api, version: int, correlation_id: int, answer: Message) -> list[Any]:
    """Bytes and slices of files, to be sent one after the other."""
    parts: list[Any] = answer.parts(version)
    size = 4 + (len(parts[0]) if len(parts) == 1 else sum(map(len, parts)))
    if described.response_header_version(version) == 0:
        head = SIZE_AND_CORRELATION.pack(size, correlation_id)
    else:
        head = SIZE_AND_CORRELATION.pack(size + 1, correlation_id) + b"\0"
    if len(parts) == 1:
        return [head + parts[0]]
    return [head, *(part if isinstance(part, FileSlice) else bytes(part) for part in parts)]
