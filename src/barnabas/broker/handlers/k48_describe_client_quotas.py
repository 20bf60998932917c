"""DescribeClientQuotas (KIP-546): the quotas of entities that match a filter.

An entity matches if it has every part that is asked for: one by name, the default one, or any; with
`strict` it has no other parts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, InvalidRequest, UnsupportedVersion
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.controller.decider.client_quotas import CLIENT_ID, IP, USER
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import QuotaEntity


class Match(enum.IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


Wanted = dict[str, tuple[Match, str | None]]
"""Which parts an entity has to have, by kind."""


@handles(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1))
def describe_client_quotas(
    broker: Broker, ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    try:
        wanted = _wanted(request.components)
    except ApiError as error:
        return DescribeClientQuotasResponse(
            error_code=int(error.code), error_message=error.message, entries=None
        )
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in broker.image.quotas.items()
            if _matches(entity, wanted, strict=request.strict)
        ],
    )


def _wanted(components: Iterable[ComponentData]) -> Wanted:
    wanted: Wanted = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise InvalidRequest("Invalid empty entity type.")
        if kind in wanted:
            raise InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise UnsupportedVersion(f"Unsupported entity type {kind}")
        wanted[kind] = (_match(component), component.match)
    if IP in wanted and len(wanted) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    return wanted


def _match(component: ComponentData) -> Match:
    try:
        match = Match(component.match_type)
    except ValueError:
        raise InvalidRequest(f"Unknown match type {component.match_type}") from None
    if match is Match.EXACT and component.match is None:
        raise InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match is not Match.EXACT and component.match is not None:
        raise InvalidRequest(
            f"Request specified MATCH_TYPE_{match.name}, but also specified a match string."
        )
    return match


def _matches(entity: QuotaEntity, wanted: Wanted, *, strict: bool) -> bool:
    parts = dict(entity)
    if strict and len(parts) != len(wanted):
        return False
    return all(
        kind in parts and (match is Match.SPECIFIED or parts[kind] == name)
        for kind, (match, name) in wanted.items()
    )
