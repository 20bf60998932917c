"""DescribeUserScramCredentials, at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import NotController
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.k50_describe_user_scram_credentials import described
from barnabas.protocol.apis import CONTROLLER, ApiKey

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.protocol.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    )


@handles(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), on=CONTROLLER)
def describe_user_scram_credentials(
    part: ControllerPart, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    if part.active is None:
        raise NotController
    return described(part.active.controller.image, request)
