"""DescribeUserScramCredentials (KIP-554): which users have which mechanisms; never a secret."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ClusterImage


@handles(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0))
def describe_user_scram_credentials(
    broker: Broker, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    return described(broker.image, request)


def described(
    image: ClusterImage, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Of the users that are named, or of all."""
    known: dict[str, list[CredentialInfo]] = {}
    for user, mechanism in sorted(image.scram):
        info = CredentialInfo(
            mechanism=mechanism, iterations=image.scram[user, mechanism].iterations
        )
        known.setdefault(user, []).append(info)
    asked = Counter(user.name for user in request.users or ()) or dict.fromkeys(known, 1)
    return DescribeUserScramCredentialsResponse(
        results=[_result(user, count, known.get(user)) for user, count in asked.items()],
    )


def _result(
    user: str, count: int, infos: list[CredentialInfo] | None
) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(user=user, error_message=None)
    if count > 1:
        result.error_code = int(ErrorCode.DUPLICATE_RESOURCE)
        result.error_message = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    elif infos is None:
        result.error_code = int(ErrorCode.RESOURCE_NOT_FOUND)
        result.error_message = f"Attempt to describe a user credential that does not exist: {user}"
    else:
        result.credential_infos = infos
    return result
