"""Requests to a controller that is a function: carried out, tried again, given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from scripted_link import ScriptedLink, quorum

from barnabas.base.errors import ErrorCode, NotController
from barnabas.broker.remote_controller import RemoteController
from barnabas.controller import decider
from barnabas.protocol.message import Message
from barnabas.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest

PATIENCE_S = 30
CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t")], timeout_ms=1)
CREATED = CreateTopicsResponse(topics=[CreatableTopicResult(name="t")])


class Applied:
    """In place of a follower: what is applied, the test says."""

    def __init__(self, offset: int = -1) -> None:
        self.offset = offset
        self.waiting: list[tuple[int, Callable[[], None]]] = []

    def when_reached(self, offset: int, call: Callable[[], None]) -> None:
        self.waiting.append((offset, call))
        self.apply(self.offset)

    def apply(self, offset: int) -> None:
        self.offset = offset
        ready = [call for wanted, call in self.waiting if wanted <= offset]
        self.waiting = [one for one in self.waiting if one[0] > offset]
        for call in ready:
            call()


def submit(
    link: ScriptedLink, follower: Applied, request: Message, *, timeout_s: float = PATIENCE_S
) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()
    remote = RemoteController(loop, link, follower, timeout_s=timeout_s)  # type: ignore[arg-type]
    remote.submit(request, answered.set_result)
    return answered


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


def test_the_answer_waits_until_this_broker_has_applied_what_the_controller_committed() -> None:
    async def scenario() -> None:
        asked = asyncio.Event()

        def respond(request: Any) -> Message:
            if isinstance(request, DescribeQuorumRequest):
                asyncio.get_running_loop().call_soon(asked.set)
                return quorum(high_watermark=6)
            return CREATED

        follower = Applied(4)
        answered = submit(ScriptedLink(respond), follower, CREATE)
        await asked.wait()
        assert not answered.done()
        follower.apply(5)
        assert answered.result() is CREATED

    run(scenario())


def test_what_nobody_looks_for_in_the_metadata_is_answered_at_once() -> None:
    async def scenario() -> None:
        block = AllocateProducerIdsResponse(producer_id_len=10)
        link = ScriptedLink(lambda request: block)
        assert await submit(link, Applied(), AllocateProducerIdsRequest()) is block
        assert link.sent(DescribeQuorumRequest) == []

    run(scenario())


def test_it_is_sent_again_until_somebody_is_the_controller() -> None:
    async def scenario() -> None:
        answers = [
            None,
            decider.refuse(CREATE, NotController()),
            CREATED,
            None,
            quorum(high_watermark=-1, error_code=6),
            quorum(high_watermark=0),
        ]
        link = ScriptedLink(lambda request: answers.pop(0))
        assert await submit(link, Applied(), CREATE) is CREATED
        assert len(link.sent(CreateTopicsRequest)) == 3
        assert len(link.sent(DescribeQuorumRequest)) == 3

    run(scenario())


def test_a_refusal_for_another_reason_is_the_answer() -> None:
    async def scenario() -> None:
        exists = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=36)])
        answers = [exists, quorum(high_watermark=0)]
        assert await submit(ScriptedLink(lambda _: answers.pop(0)), Applied(), CREATE) is exists

    run(scenario())


def test_when_no_controller_answers_in_time_it_is_refused() -> None:
    async def scenario() -> None:
        link = ScriptedLink(lambda request: None)
        response = await submit(link, Applied(), CREATE, timeout_s=0.01)
        assert response.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        await asyncio.sleep(0.005)
        count = len(link.requests)
        await asyncio.sleep(0.01)
        assert len(link.requests) == count

    run(scenario())


def test_what_was_carried_out_is_told_when_the_time_is_up() -> None:
    """Although this broker has not applied it: its effects are real."""

    async def scenario() -> None:
        answers = [CREATED, quorum(high_watermark=100)]
        link = ScriptedLink(lambda request: answers.pop(0))
        assert await submit(link, Applied(), CREATE, timeout_s=0.01) is CREATED

    run(scenario())
