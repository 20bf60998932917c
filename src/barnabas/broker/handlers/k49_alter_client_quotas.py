"""AlterClientQuotas (KIP-546): decided by the controller, enforced by brokers for their clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1))
def alter_client_quotas(
    broker: Broker, ctx: RequestContext, request: AlterClientQuotasRequest
) -> Message | Later:
    return forward(broker, request) if request.entries else AlterClientQuotasResponse()
