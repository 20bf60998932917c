"""IncrementalAlterConfigs (KIP-339): set, remove, append to or subtract from single settings.

Topics and brokers (one, or all with an empty name) go to the controller and take effect at once;
log levels (BROKER_LOGGER) are this process's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRequest
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers import loggers
from barnabas.broker.handlers.config_changes import check_kind, check_own, merge, screen
from barnabas.broker.handlers.forward import forward
from barnabas.broker.handlers.loggers import DELETE, OPERATIONS
from barnabas.controller.image_types import ResourceType
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1))
def incremental_alter_configs(
    broker: Broker, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> Message | Later:
    def check(resource: AlterConfigsResource) -> bool:
        _check_operations(resource)
        if resource.resource_type == ResourceType.BROKER_LOGGER:
            check_own(broker, resource.resource_name)
            _change_loggers(resource, validate_only=request.validate_only)
            return False
        check_kind(broker, resource)
        return True

    outcomes, remaining = screen(request.resources, check)

    def answer(decided: Message) -> IncrementalAlterConfigsResponse:
        assert isinstance(decided, IncrementalAlterConfigsResponse)
        merged = merge(request.resources, outcomes, decided.responses)
        return IncrementalAlterConfigsResponse(
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
        return answer(IncrementalAlterConfigsResponse())
    passed_on = IncrementalAlterConfigsRequest(
        resources=remaining, validate_only=request.validate_only
    )
    return forward(broker, passed_on, finish=answer)


def _check_operations(resource: AlterConfigsResource) -> None:
    for config in resource.configs:
        if config.config_operation not in OPERATIONS:
            raise InvalidRequest(f"There is no operation {config.config_operation} on a setting.")
        if config.value is None and config.config_operation != DELETE:
            raise InvalidRequest(f"{config.name} has no value: only its removal needs none.")


def _change_loggers(resource: AlterConfigsResource, *, validate_only: bool) -> None:
    for config in resource.configs:
        loggers.check(config.name, config.config_operation, config.value)
    if not validate_only:
        for config in resource.configs:
            loggers.change(config.name, config.config_operation, config.value)
