"""DescribeConfigs: the settings of topics, groups, this broker, all brokers, and log levels.

v1: sources and synonyms instead of a mere "is default".  v3: types and documentation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRequest, UnknownTopicOrPartition
from barnabas.base.settings import DescribedValue, describe_group, describe_topic
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers import loggers
from barnabas.broker.handlers.shared import check_own, explained
from barnabas.controller.decider.names import check_name
from barnabas.controller.image_types import ResourceType
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

LOGGER_SOURCE = 6
ALL_BROKERS = ""


@handles(ApiKey.DESCRIBE_CONFIGS, versions=(1, 4))
def describe_configs(
    broker: Broker, ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    for resource in request.resources:
        result = DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(result)
        try:
            if resource.resource_type == ResourceType.BROKER_LOGGER:
                result.configs = _describe_loggers(broker, resource)
            else:
                result.configs = [
                    _shown(
                        value,
                        synonyms=request.include_synonyms,
                        documentation=request.include_documentation,
                    )
                    for value in _describe(broker, resource)
                ]
        except Exception as error:
            code, result.error_message = explained(error, "DescribeConfigs")
            result.error_code = int(code)
    return response


def _describe(broker: Broker, resource: DescribeConfigsResource) -> Iterable[DescribedValue]:
    name = resource.resource_name
    keys = resource.configuration_keys or None  # none named: all
    match resource.resource_type:
        case ResourceType.TOPIC:
            check_name(name)
            if name not in broker.image.topics:
                raise UnknownTopicOrPartition
            return describe_topic(broker.config, broker.image.topic_config(name), keys)
        case ResourceType.GROUP:
            if not name:
                raise InvalidRequest("Group name must not be empty")
            return describe_group(
                broker.config, broker.image.config(ResourceType.GROUP, name), keys
            )
        case ResourceType.BROKER:
            for_all = name == ALL_BROKERS
            if not for_all:
                check_own(broker, name)
            config = broker.config
            shown = config.described_names(cluster_only=for_all)
            wanted = shown if keys is None else [key for key in keys if key in set(shown)]
            return [config.describe(key, cluster_only=for_all) for key in wanted]
    raise InvalidRequest(f"Resource type {resource.resource_type} has no settings here.")


def _describe_loggers(
    broker: Broker, resource: DescribeConfigsResource
) -> list[DescribeConfigsResourceResult]:
    check_own(broker, resource.resource_name)
    keys = resource.configuration_keys
    return [
        DescribeConfigsResourceResult(name=name, value=level, config_source=LOGGER_SOURCE)
        for name, level in loggers.levels().items()
        if not keys or name in keys
    ]


def _shown(
    described: DescribedValue, *, synonyms: bool, documentation: bool
) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=described.name,
        value=None if described.sensitive else described.value,
        read_only=described.read_only,
        config_source=int(described.source),
        is_sensitive=described.sensitive,
        synonyms=[
            DescribeConfigsSynonym(
                name=synonym.name,
                value=None if described.sensitive else synonym.value,
                source=int(synonym.source),
            )
            for synonym in (described.synonyms if synonyms else ())
        ],
        config_type=int(described.type),
        documentation=described.doc if documentation else None,
    )
