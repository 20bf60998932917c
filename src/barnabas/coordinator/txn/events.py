"""What a transaction shard decides on, and how each event is refused.

An event holds the request as it came and the version it came in, because older clients must be
told some errors in other words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.txn.machine import (
    EPOCH_BUMPS,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
)
from barnabas.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from barnabas.protocol.messages.describe_transactions import (
    TransactionState as DescribedTransaction,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from barnabas.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PartitionErrors: TypeAlias = "Mapping[TopicPartition, ErrorCode]"
FENCED_SINCE_INIT: Final = 4
FENCED_SINCE: Final = 2
"""Earlier versions of a request know a fenced producer only as one with an invalid epoch."""


def told_code(code: ErrorCode, version: int, fenced_since: int) -> ErrorCode:
    """The code in the words of `version`."""
    if code is ErrorCode.PRODUCER_FENCED and version < fenced_since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId:
    """A producer with a transactional id starts, or goes on after an error (KIP-360)."""

    request: InitProducerIdRequest
    version: int

    def refuse(self, error: ApiError) -> InitProducerIdResponse:
        return InitProducerIdResponse(
            error_code=told_code(error.code, self.version, FENCED_SINCE_INIT),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """Partitions are added to a transaction, or a leader asks whether they were (`verify_only`).

    One transaction of an AddPartitionsToTxn request; `api.py` takes requests apart and puts the
    replies together.  The reply is an error code for each partition.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_version: int
    verify_only: bool = False

    def refuse(self, error: ApiError) -> PartitionErrors:
        return dict.fromkeys(self.partitions, error.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsets:
    """A transaction will commit positions of a group: `partition` is that of its coordinator."""

    request: AddOffsetsToTxnRequest
    version: int
    partition: TopicPartition

    def refuse(self, error: ApiError) -> AddOffsetsToTxnResponse:
        code = told_code(error.code, self.version, FENCED_SINCE)
        return AddOffsetsToTxnResponse(error_code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxn:
    """A producer commits or aborts."""

    request: EndTxnRequest
    version: int

    @property
    def client_version(self) -> int:
        return EPOCH_BUMPS if self.version >= 5 else 0

    def refuse(self, error: ApiError) -> EndTxnResponse:
        return EndTxnResponse(error_code=told_code(error.code, self.version, FENCED_SINCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkersWritten:
    """All of a `WriteMarkers` is done.  The reply is an error code.

    NONE: the transaction is complete, or this was about another one.  Anything else: it could not
    be written down, and must be said again later.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int

    def refuse(self, error: ApiError) -> ErrorCode:
        return error.code


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransaction:
    """One id of a DescribeTransactions request."""

    transactional_id: str

    def refuse(self, error: ApiError) -> DescribedTransaction:
        return DescribedTransaction(transactional_id=self.transactional_id, error_code=error.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactions:
    """What one shard has; `pattern` (KIP-1152) must match the whole transactional id."""

    request: ListTransactionsRequest
    pattern: str = ""

    def refuse(self, error: ApiError) -> ListTransactionsResponse:
        return ListTransactionsResponse(error_code=error.code)


TransactionEvent: TypeAlias = (
    InitProducerId
    | AddPartitions
    | AddOffsets
    | EndTxn
    | MarkersWritten
    | DescribeTransaction
    | ListTransactions
)
