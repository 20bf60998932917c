"""AlterConfigs: replace all settings of a resource.  Kept for old clients; see k44."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRequest
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.config_changes import check_kind, merge, screen
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.ALTER_CONFIGS, versions=(0, 2))
def alter_configs(
    broker: Broker, ctx: RequestContext, request: AlterConfigsRequest
) -> Message | Later:
    def check(resource: AlterConfigsResource) -> bool:
        for config in resource.configs:
            if config.value is None:
                raise InvalidRequest(f"{config.name} has no value: leave it out instead.")
        check_kind(broker, resource)
        return True

    outcomes, remaining = screen(request.resources, check)

    def answer(decided: Message) -> AlterConfigsResponse:
        assert isinstance(decided, AlterConfigsResponse)
        merged = merge(request.resources, outcomes, decided.responses)
        return AlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(
                    error_code=outcome.code,
                    error_message=outcome.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource, outcome in zip(request.resources, merged, strict=True)
            ]
        )

    if not remaining:
        return answer(AlterConfigsResponse())
    passed_on = AlterConfigsRequest(resources=remaining, validate_only=request.validate_only)
    return forward(broker, passed_on, finish=answer)
