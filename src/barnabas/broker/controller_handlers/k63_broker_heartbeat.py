"""BrokerHeartbeat (KIP-631): a broker says that it is there, wants to be let in, or to leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.protocol.message import Message


@handles(ApiKey.BROKER_HEARTBEAT, versions=(0, 1), on=CONTROLLER)
def broker_heartbeat(
    part: ControllerPart, ctx: RequestContext, request: BrokerHeartbeatRequest
) -> Later:
    later = Later()

    def decided(response: Message) -> None:
        assert isinstance(response, BrokerHeartbeatResponse)
        if response.error_code == ErrorCode.NONE:
            part.heard_of(request.broker_id, ctx.connection)
        later.resolve(response)

    part.submit(request, decided)
    return later
