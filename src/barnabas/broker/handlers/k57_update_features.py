"""UpdateFeatures (KIP-584): finalize feature levels for the whole cluster; the controller decides.

v1: upgrade types, validate only.  v2: no result per feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.UPDATE_FEATURES, versions=(0, 2))
def update_features(
    broker: Broker, ctx: RequestContext, request: UpdateFeaturesRequest
) -> Message | Later:
    return forward(broker, request, timeout_ms=request.timeout_ms)
