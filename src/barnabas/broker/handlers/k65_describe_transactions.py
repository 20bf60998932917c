"""DescribeTransactions (KIP-664): state, producer and partitions of transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0))
def describe_transactions(
    broker: Broker, ctx: RequestContext, request: DescribeTransactionsRequest
) -> Later:
    from barnabas.coordinator.txn.events import DescribeTransaction

    gather = Gather(lambda found: DescribeTransactionsResponse(transaction_states=found))
    for name in request.transactional_ids:
        event = DescribeTransaction(transactional_id=name)
        broker.transactions.schedule(name, event, gather.expect())
    return gather.asked_all()
