"""Getting markers written: what is left to do, and what an answer means.  Pure.

The shell sends; for each `WriteMarkers` it keeps a `MarkerDelivery` until that is done, and begins
again with what remains as often as it must.  No outcome is lost by stopping: a coordinator that
takes over finds the transaction prepared in its log.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.events import MarkersWritten
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.coordinator.txn.records import grouped
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from barnabas.coordinator.txn.effects import WriteMarkers


class MarkerOutcome(enum.Enum):
    """What one partition's answer means for it."""

    WRITTEN = "written"
    AGAIN = "again"
    FENCED = "fenced"
    """A later epoch of the producer or of the coordinator was seen: somebody else has taken over,
    and everything that is left of this delivery is theirs."""


_WRITTEN: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,  # then nothing transactional is there either
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
_FENCED: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)


def outcome_of(code: int) -> MarkerOutcome:
    """Whatever we do not understand is tried again: a marker must not be missing."""
    if code in _WRITTEN:
        return MarkerOutcome.WRITTEN
    return MarkerOutcome.FENCED if code in _FENCED else MarkerOutcome.AGAIN


@dataclass(slots=True, kw_only=True)
class MarkerDelivery:
    """One transaction's markers on their way."""

    markers: WriteMarkers
    remaining: set[TopicPartition] = field(init=False)
    is_fenced: bool = False

    def __post_init__(self) -> None:
        self.remaining = set(self.markers.partitions)

    @property
    def key(self) -> tuple[str, int, int]:
        """Deliveries with the same key are the same one."""
        markers = self.markers
        return markers.transactional_id, markers.producer_id, markers.producer_epoch

    @property
    def is_done(self) -> bool:
        return not self.remaining and not self.is_fenced

    def answered(self, partition: TopicPartition, code: int) -> MarkerOutcome:
        outcome = outcome_of(code)
        if outcome is MarkerOutcome.WRITTEN:
            self.remaining.discard(partition)
        elif outcome is MarkerOutcome.FENCED:
            self.is_fenced = True
        return outcome

    def gone(self, partition: TopicPartition) -> None:
        """The partition was deleted: there is nothing to end."""
        self.remaining.discard(partition)

    def written(self) -> MarkersWritten:
        """What to tell the shard."""
        assert self.is_done
        markers = self.markers
        return MarkersWritten(
            transactional_id=markers.transactional_id,
            producer_id=markers.producer_id,
            producer_epoch=markers.producer_epoch,
        )


def markers_request(
    parts: Iterable[tuple[WriteMarkers, Iterable[TopicPartition]]],
) -> WriteTxnMarkersRequest:
    """What to send to the leader of these partitions: markers of several transactions at once."""
    return WriteTxnMarkersRequest(
        markers=[_marker(markers, partitions) for markers, partitions in parts]
    )


def _marker(markers: WriteMarkers, partitions: Iterable[TopicPartition]) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=markers.producer_id,
        producer_epoch=markers.producer_epoch,
        transaction_result=markers.is_commit,
        coordinator_epoch=markers.coordinator_epoch,
        topics=[
            WritableTxnMarkerTopic(name=topic.topic, partition_indexes=topic.partition_ids)
            for topic in grouped(partitions)
        ],
    )


def codes_of(response: WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], int]:
    """What a leader answered, by producer id and partition.

    It names only the producer id, and a producer has one delivery at a time.
    """
    return {
        (result.producer_id, TopicPartition(topic.name, partition.partition_index)): (
            partition.error_code
        )
        for result in response.markers
        for topic in result.topics
        for partition in topic.partitions
    }
