"""What DescribeTransactions and ListTransactions say.  Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRegularExpression
from barnabas.coordinator.txn.machine import STATES_BY_LABEL, Transaction
from barnabas.coordinator.txn.records import grouped
from barnabas.protocol.messages.describe_transactions import TopicData
from barnabas.protocol.messages.describe_transactions import (
    TransactionState as DescribedTransaction,
)
from barnabas.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from barnabas.protocol.messages.list_transactions import (
    TransactionState as ListedTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def describe(transaction: Transaction) -> DescribedTransaction:
    return DescribedTransaction(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            TopicData(topic=topic.topic, partitions=topic.partition_ids)
            for topic in grouped(transaction.partitions)
        ],
    )


def list_transactions(
    transactions: Iterable[Transaction],
    request: ListTransactionsRequest,
    *,
    pattern: str,
    now_ms: int,
) -> ListTransactionsResponse:
    """Those that pass all filters.  A filter that is not given lets everything pass."""
    states = {STATES_BY_LABEL[name] for name in request.state_filters if name in STATES_BY_LABEL}
    producers = frozenset(request.producer_id_filters)
    duration_ms = request.duration_filter
    matches = _compiled(pattern).fullmatch if pattern else None
    return ListTransactionsResponse(
        unknown_state_filters=[n for n in request.state_filters if n not in STATES_BY_LABEL],
        transaction_states=[
            ListedTransaction(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.label,
            )
            for transaction in transactions
            if (not producers or transaction.producer_id in producers)
            and (not request.state_filters or transaction.state in states)
            and (duration_ms < 0 or now_ms - transaction.started_ms > duration_ms)
            and (matches is None or matches(transaction.transactional_id))
        ],
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidRegularExpression(
            f"The pattern {pattern!r} for transactional ids is not valid: {error}."
        ) from None


def merged(parts: Iterable[ListTransactionsResponse]) -> ListTransactionsResponse:
    """The answer of a broker from those of its shards; the first error stands for all."""
    whole = ListTransactionsResponse()
    for part in parts:
        if part.error_code:
            return ListTransactionsResponse(error_code=part.error_code)
        whole.unknown_state_filters = part.unknown_state_filters
        whole.transaction_states = whole.transaction_states + part.transaction_states
    return whole
