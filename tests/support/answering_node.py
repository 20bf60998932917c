"""A node of a few lines on the running event loop: what it answers is a function of the request."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.framing import encode_response_header, frame, read_request_header
from barnabas.protocol.message import Message
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

Respond = Callable[[Any], "Message | bytes | None"]
"""The answer to a decoded request; bytes are sent as they are, None ends the connection."""


class AnsweringNode:
    """Use as an async context manager; `ranges` is what it says of its versions."""

    def __init__(
        self, respond: Respond, *, ranges: dict[int, tuple[int, int]], port: int = 0
    ) -> None:
        self.port = port
        self._respond = respond
        self._ranges = ranges
        self.requests: list[tuple[int, Any]] = []
        """Version and request, as they came."""
        self.client_ids: set[str | None] = set()
        self.accepted = 0
        self.gate: Awaitable[object] | None = None
        """Nothing is answered before that."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> AnsweringNode:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop_all(self) -> None:
        """Break every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            request = await reader.readexactly(size)
            key, version, correlation_id, client_id, pos = read_request_header(request)
            self.client_ids.add(client_id)
            if self.gate is not None:
                await self.gate
            api = APIS[key]
            if key == ApiKey.API_VERSIONS:
                answer: Message | bytes | None = ApiVersionsResponse(
                    api_keys=[
                        ApiVersion(api_key=k, min_version=low, max_version=high)
                        for k, (low, high) in self._ranges.items()
                    ]
                )
            else:
                message = api.request.decode(request, version, pos)
                self.requests.append((version, message))
                answer = self._respond(message)
            if answer is None:
                return
            if isinstance(answer, Message):
                header = encode_response_header(api, version, correlation_id)
                answer = frame(header + answer.encode(version))
            writer.write(answer)
            await writer.drain()
