"""Producer ids: unique in the cluster, handed out from blocks that the controller allocates.

A block belongs to one broker; ids of a block that were not handed out before a restart are lost,
which is cheap: there are 2^63 of them.  Owned by the loop thread.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.requests")

Taken = Callable[[int], None]
"""Gets the producer id, or `NO_PRODUCER_ID`."""
NO_PRODUCER_ID = -1


LOW = 100
"""Ask for the next block when this one has no more ids left than that."""


class ProducerIds:
    """The blocks of one broker, and who waits for the next one."""

    __slots__ = ("_asking", "_blocks", "_waiting")

    def __init__(self) -> None:
        self._blocks: deque[range] = deque()
        self._waiting: deque[Taken] = deque()
        self._asking = False

    def take(self, broker: Broker, taken: Taken) -> None:
        """Hand out the next id: now, or when the controller has given us a block."""
        self._waiting.append(taken)
        self._serve(broker)

    def take_now(self, broker: Broker) -> int | None:
        """The next id, if there is one; more are asked for meanwhile."""
        found = self._next() if self._blocks else None
        self._serve(broker)
        return found

    def fill(self, broker: Broker, filled: Callable[[], None]) -> None:
        """Call back once `take_now` will find an id, or no more can be had."""

        def taken(producer_id: int) -> None:
            if producer_id != NO_PRODUCER_ID:
                self._blocks.appendleft(range(producer_id, producer_id + 1))
            filled()

        self.take(broker, taken)

    def _serve(self, broker: Broker) -> None:
        while self._waiting and self._blocks:
            self._waiting.popleft()(self._next())
        if not self._asking and sum(map(len, self._blocks)) <= LOW:
            self._ask(broker)

    def _next(self) -> int:
        block = self._blocks.popleft()
        if len(block) > 1:
            self._blocks.appendleft(block[1:])
        return block[0]

    def _ask(self, broker: Broker) -> None:
        own = broker.image.brokers.get(broker.node_id)
        if own is None:  # not registered yet: the controller would not know us
            self._refuse()
            return
        self._asking = True
        request = AllocateProducerIdsRequest(broker_id=broker.node_id, broker_epoch=own.epoch)
        broker.controller.submit(request, lambda response: self._allocated(broker, response))

    def _allocated(self, broker: Broker, response: Message) -> None:
        assert isinstance(response, AllocateProducerIdsResponse)
        self._asking = False
        if response.error_code != ErrorCode.NONE:
            logger.warning(
                "no producer ids: the controller answers %s", ErrorCode(response.error_code).name
            )
            self._refuse()
            return
        first = response.producer_id_start
        assert response.producer_id_len > 0, "a block has ids"
        self._blocks.append(range(first, first + response.producer_id_len))
        self._serve(broker)

    def _refuse(self) -> None:
        """Those who wait try again; nobody waits for a controller that cannot help."""
        waiting, self._waiting = self._waiting, deque()
        for taken in waiting:
            taken(NO_PRODUCER_ID)
