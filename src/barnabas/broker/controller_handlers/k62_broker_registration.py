"""BrokerRegistration (KIP-631): a broker that starts says who it is, and gets its epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.protocol.message import Message


@handles(ApiKey.BROKER_REGISTRATION, versions=(0, 4), on=CONTROLLER)
def broker_registration(
    part: ControllerPart, ctx: RequestContext, request: BrokerRegistrationRequest
) -> Later:
    later = Later()

    def decided(response: Message) -> None:
        assert isinstance(response, BrokerRegistrationResponse)
        if response.error_code == ErrorCode.NONE:
            part.heard_of(request.broker_id, ctx.connection)
        later.resolve(response)

    part.submit(request, decided)
    return later
