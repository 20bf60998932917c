"""Ending transactions in partitions: the markers that the coordinator wants written.

Loop thread only.  Nothing here is durable: a transaction whose markers are not all written is found
prepared in the log of `__transaction_state`, and its markers are asked for again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.base.errors import ErrorCode, code_for
from barnabas.broker.coordination import when_replicated
from barnabas.broker.groups import OFFSETS_TOPIC
from barnabas.controller.image_types import NO_LEADER
from barnabas.coordinator.runtime_types import Producer
from barnabas.coordinator.txn.markers import (
    MarkerDelivery,
    MarkerOutcome,
    codes_of,
    markers_request,
)
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.coordinator.txn.effects import WriteMarkers
    from barnabas.coordinator.txn.machine import TopicPartition
    from barnabas.protocol.message import Message
    from barnabas.replication.partition import Partition

logger = logging.getLogger("barnabas.transactions")

TIMEOUT_S: Final = 30.0
"""After it, a broker that has not answered is asked again, over another connection."""
RETRY_S: Final = 0.1
"""How long to wait before partitions that did not take their marker are tried again."""


class Marker(NamedTuple):
    """How a producer's transaction ended."""

    producer: Producer
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int


def write_marker(
    broker: Broker, where: TopicPartition, marker: Marker, done: Callable[[ErrorCode], None]
) -> None:
    """End a transaction in a partition that this broker leads.

    `done` is told, maybe at once, when every in-sync replica has the marker, or why not.
    """

    def finished(error: Exception | None) -> None:
        done(ErrorCode.NONE if error is None else code_for(error))

    try:
        found = broker.replicas.get(*where)
        if where.topic == OFFSETS_TOPIC:
            _end_in_groups(broker, found, marker, finished)
        else:
            _append(broker, found, marker, finished)
    except Exception as error:
        code = code_for(error)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            logger.exception("%s-%d: a marker could not be written", *where)
        done(code)
        return
    broker.transactions.verifying.settled(where, marker.producer.producer_id)


def _append(
    broker: Broker, found: Partition, marker: Marker, finished: Callable[[Exception | None], None]
) -> None:
    appended = broker.replicas.append_marker(
        found,
        producer_id=marker.producer.producer_id,
        producer_epoch=marker.producer.producer_epoch,
        is_commit=marker.is_commit,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
        now_ms=broker.clock.now_ms(),
    )
    when_replicated(broker.replicas, found, appended.last_offset, finished)


def _end_in_groups(
    broker: Broker, found: Partition, marker: Marker, finished: Callable[[Exception | None], None]
) -> None:
    """Through the group coordinator, which makes the transaction's offsets count."""
    producers = found.leader_log().producers
    producers.check_marker(
        producers.entry_for(marker.producer.producer_id),
        marker.producer.producer_epoch,
        marker.coordinator_epoch,
        marker.transaction_version,
    )
    broker.groups.end_transaction(
        found.index,
        marker.producer,
        committed=marker.is_commit,
        coordinator_epoch=marker.coordinator_epoch,
        done=finished,
    )


@dataclass(slots=True, eq=False)
class _Sending:
    """A delivery, and what is on its way for it."""

    delivery: MarkerDelivery
    under_way: set[TopicPartition] = field(default_factory=set)
    is_telling: bool = False


class _Part(NamedTuple):
    """The partitions of one delivery that one broker leads."""

    sending: _Sending
    partitions: list[TopicPartition]


class Markers:
    """The transactions of this coordinator that are being ended."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        self._broker = broker
        self._loop = loop
        self._schedule_turn = schedule_turn
        self._sendings: dict[tuple[str, int, int], _Sending] = {}
        self._outbox: dict[int, list[_Part]] = {}
        """By leader: what leaves at the end of this loop turn."""
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sendings)

    def begin(self, markers: WriteMarkers) -> None:
        """Write the markers, however long it takes, and then tell the shard."""
        sending = _Sending(MarkerDelivery(markers=markers))
        known = self._sendings.get(sending.delivery.key)
        if known is not None and known.delivery.markers == markers:
            return
        self._sendings[sending.delivery.key] = sending
        self._send(sending)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._sendings.clear()

    def _send(self, sending: _Sending) -> None:
        delivery, markers = sending.delivery, sending.delivery.markers
        marker = Marker(
            Producer(markers.producer_id, markers.producer_epoch),
            markers.is_commit,
            markers.coordinator_epoch,
            markers.transaction_version,
        )
        elsewhere: dict[int, list[TopicPartition]] = {}
        for where in sorted(delivery.remaining - sending.under_way):
            state = self._broker.image.partition(*where)
            if state is None:
                delivery.gone(where)
            elif state.leader == self._broker.node_id:
                sending.under_way.add(where)
                write_marker(self._broker, where, marker, partial(self._answered, sending, where))
            elif state.leader == NO_LEADER:
                self._try_again_later()
            else:
                sending.under_way.add(where)
                elsewhere.setdefault(state.leader, []).append(where)
        for leader, partitions in elsewhere.items():
            self._post(leader, _Part(sending, partitions))
        if delivery.is_done:
            self._tell(sending)
        self._schedule_turn()

    # -- partitions that other brokers lead

    def _post(self, leader: int, part: _Part) -> None:
        """Send with whatever else goes to that leader in this loop turn."""
        if not self._outbox:
            self._loop.call_soon(self._send_outbox)
        self._outbox.setdefault(leader, []).append(part)

    def _send_outbox(self) -> None:
        outbox, self._outbox = self._outbox, {}
        for leader, parts in outbox.items():
            request = markers_request(
                (part.sending.delivery.markers, part.partitions) for part in parts
            )
            self._broker.connections.send(
                leader, request, partial(self._leader_answered, parts), timeout_s=TIMEOUT_S
            )

    def _leader_answered(self, parts: list[_Part], response: Message | None) -> None:
        assert response is None or isinstance(response, WriteTxnMarkersResponse)
        codes = codes_of(response) if response is not None else {}
        for sending, partitions in parts:
            producer_id = sending.delivery.markers.producer_id
            for where in partitions:
                code = codes.get((producer_id, where), ErrorCode.NETWORK_EXCEPTION)
                self._answered(sending, where, code)

    # -- answers

    def _answered(self, sending: _Sending, where: TopicPartition, code: int) -> None:
        delivery = sending.delivery
        sending.under_way.discard(where)
        if self._sendings.get(delivery.key) is not sending:
            return
        outcome = delivery.answered(where, code)
        if outcome is MarkerOutcome.FENCED:
            name = ErrorCode(code).name
            logger.warning("%s: its markers are refused: %s", delivery.key[0], name)
            del self._sendings[delivery.key]
        elif outcome is MarkerOutcome.AGAIN:
            self._try_again_later()
        elif delivery.is_done:
            self._tell(sending)

    def _tell(self, sending: _Sending) -> None:
        if not sending.is_telling:
            sending.is_telling = True
            event = sending.delivery.written()
            self._broker.transactions.schedule(
                event.transactional_id, event, partial(self._told, sending)
            )

    def _told(self, sending: _Sending, code: ErrorCode) -> None:
        sending.is_telling = False
        if code is not ErrorCode.NONE:
            self._try_again_later()
        elif self._sendings.get(sending.delivery.key) is sending:
            del self._sendings[sending.delivery.key]

    def _try_again_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(RETRY_S, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        for key, sending in list(self._sendings.items()):
            if not self._broker.transactions.is_in_charge_of(key[0]):
                del self._sendings[key]  # the next coordinator finds it in its log
            else:
                self._send(sending)
