"""ListTransactions (KIP-664): the transactional ids that this broker coordinates.

v1: filter by how long the transaction is open (KIP-994).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.LIST_TRANSACTIONS, versions=(0, 1))
def list_transactions(
    broker: Broker, ctx: RequestContext, request: ListTransactionsRequest
) -> Later:
    from barnabas.coordinator.txn.events import ListTransactions
    from barnabas.coordinator.txn.listing import list_transactions as of_nothing
    from barnabas.coordinator.txn.listing import merged

    transactions = broker.transactions
    gather = Gather(merged)
    gather.expect()(of_nothing((), request, pattern="", now_ms=transactions.now_ms()))
    for index in transactions.led_partitions():
        transactions.schedule_at(index, ListTransactions(request=request), gather.expect())
    return gather.asked_all()
