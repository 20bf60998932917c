"""EndTxn: a producer commits or aborts its transaction.

Answered when the outcome is settled; the markers follow.

v2: PRODUCER_FENCED.  v3: flexible.  v4: TRANSACTION_ABORTABLE.  v5: the next epoch (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.end_txn import EndTxnRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.END_TXN, versions=(0, 5))
def end_txn(broker: Broker, ctx: RequestContext, request: EndTxnRequest) -> Later:
    from barnabas.coordinator.txn.events import EndTxn

    later = Later()
    event = EndTxn(request=request, version=ctx.api_version)
    broker.transactions.schedule(request.transactional_id, event, later.resolve)
    return later
