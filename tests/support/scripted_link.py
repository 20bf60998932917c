"""The way to a controller that is a function: what it answers, the test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from barnabas.controller import journal_format as fmt
from barnabas.controller.embedded_journal import TOPIC_ID
from barnabas.protocol.message import Message
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

Respond = Callable[[Any], Message | None]


class ScriptedLink:
    """In place of a `ControllerLink`.  None: the controller does not answer."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.requests: list[Any] = []
        self.retry_s = 0.001
        self.timeout_s = 5.0
        self.is_closed = False

    def send(self, request: Message, done: Callable[[Any], None], *, timeout_s: float = 0) -> None:
        self.requests.append(request)
        asyncio.get_running_loop().call_soon(lambda: done(self.respond(request)))

    def follow(self, request: Message, done: Callable[[Any], None]) -> None:
        self.send(request, done)

    async def ask(self, request: Message) -> Any:
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send(request, lambda response: answered.done() or answered.set_result(response))  # type: ignore[func-returns-value]
        return await answered

    def close(self) -> None:
        self.is_closed = True

    def sent(self, kind: type) -> list[Any]:
        return [request for request in self.requests if type(request) is kind]


def run_bytes(*records: Message, base_offset: int, epoch: int = 1) -> bytes:
    """A committed run, as it is fetched."""
    return fmt.encode_run(records, base_offset=base_offset, epoch=epoch, now_ms=0)[0]


def fetched(data: bytes = b"", *, high_watermark: int, **fields: Any) -> FetchResponse:
    """The answer to a fetch of the metadata log."""
    partition = PartitionData(high_watermark=high_watermark, records=data, **fields)
    return FetchResponse(
        responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])]
    )


def quorum(*, high_watermark: int, error_code: int = 0) -> DescribeQuorumResponse:
    partition = ResponsePartitionData(high_watermark=high_watermark, error_code=error_code)
    return DescribeQuorumResponse(topics=[ResponseTopicData(partitions=[partition])])
