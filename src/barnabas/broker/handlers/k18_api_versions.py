"""ApiVersions: which APIs this broker answers, in which versions; and the cluster's features.

The first request of every client.  The ranges are those of the handler table.  A version that we do
not know is answered in version 0 with UNSUPPORTED_VERSION and the ranges (by `net/requests.py`).

v3: flexible body (the response *header* stays as in v0, so that any client can read it), client
software name and version (KIP-511), features (KIP-584).  v4: features whose range starts at 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import HANDLERS, RequestContext, Table, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ClusterImage, VersionRange

SOFTWARE_SINCE = 3
RANGES_FROM_ZERO_SINCE = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?")


@handles(ApiKey.API_VERSIONS, versions=(0, 4))
def api_versions(
    broker: Broker, ctx: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    if not is_well_told(ctx.api_version, request):
        return ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    own = broker.image.brokers.get(broker.node_id)
    return ranges(HANDLERS, broker.image, own.features if own else {}, ctx.api_version)


def is_well_told(version: int, request: ApiVersionsRequest) -> bool:
    """Whether the client's software has a name and a version as they should be."""
    return version < SOFTWARE_SINCE or bool(
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    )


def ranges(
    table: Table, image: ClusterImage | None, features: Mapping[str, VersionRange], version: int
) -> ApiVersionsResponse:
    """The APIs of `table`, the levels of `features` that this node supports, and those of `image`
    that are in force."""
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=entry.version_min, max_version=entry.version_max)
            for key, entry in sorted(table.items())
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.min, max_version=levels.max)
            for name, levels in sorted(features.items())
            if levels.min > 0 or version >= RANGES_FROM_ZERO_SINCE
        ],
        finalized_features_epoch=image.applied_offset if image is not None else -1,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(image.features.items() if image is not None else ())
        ],
    )
