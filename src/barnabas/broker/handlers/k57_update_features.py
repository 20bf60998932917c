"""UpdateFeatures (KIP-584): finalize feature levels for the whole cluster; the controller decides.

v1: upgrade types, validate only.  v2: no result per feature.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.controller.decider.features import UpgradeType
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

NO_RESULTS_SINCE = 2


@handles(ApiKey.UPDATE_FEATURES, versions=(0, 2))
def update_features(
    broker: Broker, ctx: RequestContext, request: UpdateFeaturesRequest
) -> Message | Later:
    for update in request.feature_updates:
        if update.allow_downgrade:  # as newer versions say it: see DeleteTopics
            update.upgrade_type = int(UpgradeType.SAFE_DOWNGRADE)
            update.allow_downgrade = False
    names = [update.feature for update in request.feature_updates]
    return forward(
        broker,
        request,
        timeout_ms=request.timeout_ms,
        finish=partial(_with_results, names) if ctx.api_version < NO_RESULTS_SINCE else None,
    )


def _with_results(names: list[str], response: Message) -> Message:
    """What succeeded as a whole is said of each feature."""
    assert isinstance(response, UpdateFeaturesResponse)
    if not response.error_code and not response.results:
        response.results = [
            UpdatableFeatureResult(feature=name, error_message="NONE") for name in names
        ]
    return response
