"""ApiVersions, at a controller: the APIs of its own listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import CONTROLLER_HANDLERS, RequestContext, handles
from barnabas.broker.handlers.k18_api_versions import is_well_told, ranges
from barnabas.controller.decider.features import SUPPORTED
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart


@handles(ApiKey.API_VERSIONS, versions=(0, 4), on=CONTROLLER)
def api_versions(
    part: ControllerPart, ctx: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    if not is_well_told(ctx.api_version, request):
        return ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    image = part.active.controller.image if part.active is not None else None
    return ranges(CONTROLLER_HANDLERS, image, SUPPORTED, ctx.api_version)
