"""AlterUserScramCredentials (KIP-554): decided by the controller.  Passwords arrive salted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0))
def alter_user_scram_credentials(
    broker: Broker, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> Message | Later:
    if not request.deletions and not request.upsertions:
        return AlterUserScramCredentialsResponse()
    return forward(broker, request)
