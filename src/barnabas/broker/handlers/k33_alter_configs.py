"""AlterConfigs: replace all settings of a resource; the controller decides.

Kept for old clients: IncrementalAlterConfigs changes single settings without reading them first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.ALTER_CONFIGS, versions=(0, 2))
def alter_configs(
    broker: Broker, ctx: RequestContext, request: AlterConfigsRequest
) -> Message | Later:
    return forward(broker, request)
