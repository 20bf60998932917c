"""IncrementalAlterConfigs (KIP-339): set, remove, append to or subtract from single settings.

Topics, groups and brokers (one, or all with an empty name) go to the controller and take effect at
once.  Log levels (BROKER_LOGGER) are this process's own and are changed here.  Each resource
succeeds or fails by itself, and as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRequest
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers import loggers
from barnabas.broker.handlers.forward import forward
from barnabas.broker.handlers.shared import check_own, explained
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
    ours = [r for r in request.resources if r.resource_type == ResourceType.BROKER_LOGGER]
    if not ours:
        return forward(broker, request)
    answers = [_change_loggers(broker, resource, ours, request.validate_only) for resource in ours]

    def finish(decided: Message) -> IncrementalAlterConfigsResponse:
        """All answers, in the order of the request."""
        assert isinstance(decided, IncrementalAlterConfigsResponse)
        own, others = iter(answers), iter(decided.responses)
        return IncrementalAlterConfigsResponse(
            responses=[
                next(own if r.resource_type == ResourceType.BROKER_LOGGER else others)
                for r in request.resources
            ]
        )

    others = [r for r in request.resources if r.resource_type != ResourceType.BROKER_LOGGER]
    if not others:
        return finish(IncrementalAlterConfigsResponse())
    passed_on = IncrementalAlterConfigsRequest(
        resources=others, validate_only=request.validate_only
    )
    return forward(broker, passed_on, finish=finish)


def _change_loggers(
    broker: Broker,
    resource: AlterConfigsResource,
    ours: list[AlterConfigsResource],
    validate_only: bool,
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        if sum(other.resource_name == resource.resource_name for other in ours) > 1:
            raise InvalidRequest("A resource can be changed only once in a request.")
        check_own(broker, resource.resource_name)
        if len({config.name for config in resource.configs}) < len(resource.configs):
            raise InvalidRequest("A logger can be changed only once in a request.")
        for config in resource.configs:
            loggers.check(config.name, config.config_operation, config.value)
        if not validate_only:
            for config in resource.configs:
                loggers.change(config.name, config.config_operation, config.value)
    except Exception as error:
        code, answer.error_message = explained(error, "a change of log levels")
        answer.error_code = int(code)
    return answer
