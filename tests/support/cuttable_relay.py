"""A relay to one address, on the event loop, that can be cut and mended: a network that fails."""

from __future__ import annotations

import asyncio


class CuttableRelay:
    """Use as an async context manager; clients connect to `port`."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self._target_port = target_port
        self._is_cut = False
        self._ignored = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> CuttableRelay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """End every connection; those who come get none."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    def ignore(self, connections: int) -> None:
        """So many that come next are accepted, and nothing is ever said on them."""
        self._ignored = connections

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        if self._ignored:
            self._ignored -= 1
            self._writers.add(writer)
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        ends = {writer, back}
        self._writers |= ends
        await asyncio.gather(_pass(reader, back), _pass(there, writer))
        self._writers -= ends


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass  # cut: so is the other side
    writer.close()
