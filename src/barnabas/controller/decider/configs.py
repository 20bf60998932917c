"""AlterConfigs and IncrementalAlterConfigs, for topics, brokers and groups.

Each resource by itself is changed as a whole or refused as a whole.  A record is only written for
a setting that really changes.  Where it changes who may lead, that is decided along with it.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    InvalidConfig,
    InvalidRequest,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.config_rules import (
    broker_list,
    check_broker_config,
    check_group_config,
    check_topic_config,
    topic_list,
)
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import reconsider
from barnabas.controller.decider.names import check_name
from barnabas.controller.decider.topic_rules import MIN_ISR, UNCLEAN, check_min_isr
from barnabas.controller.image_types import ResourceType
from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages import incremental_alter_configs as incremental
from barnabas.protocol.messages.metadata_records import ConfigRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message


class Operation(enum.IntEnum):
    """What IncrementalAlterConfigs does with a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Resource(NamedTuple):
    """What is to be changed, in either request."""

    type: int
    name: str
    keys: tuple[str, ...]


Change = Callable[["ClusterImage", dict[str, str]], dict[str, str]]
"""From the settings that a resource has to those that it is to have."""


def decide_incremental(
    image: ClusterImage,
    request: incremental.IncrementalAlterConfigsRequest,
    now_ms: int,
    env: Environment,
) -> Decision:
    """Set, delete, append and subtract single settings."""
    asked = [(_resource(entry), entry.configs) for entry in request.resources]
    records, errors = _decide_all(
        image, [(resource, _incremental(resource, edits)) for resource, edits in asked], env
    )
    return Decision(
        records=() if request.validate_only else tuple(records),
        response=incremental.IncrementalAlterConfigsResponse(
            responses=[
                incremental.AlterConfigsResourceResponse(
                    error_code=code,
                    error_message=message,
                    resource_type=resource.type,
                    resource_name=resource.name,
                )
                for (resource, _), (code, message) in zip(asked, errors, strict=True)
            ]
        ),
    )


def decide_legacy(
    image: ClusterImage, request: legacy.AlterConfigsRequest, now_ms: int, env: Environment
) -> Decision:
    """Replace all settings of a resource: what is not named goes."""
    asked = [(_resource(entry), entry.configs) for entry in request.resources]
    records, errors = _decide_all(
        image, [(resource, _legacy(settings)) for resource, settings in asked], env
    )
    return Decision(
        records=() if request.validate_only else tuple(records),
        response=legacy.AlterConfigsResponse(
            responses=[
                legacy.AlterConfigsResourceResponse(
                    error_code=code,
                    error_message=message,
                    resource_type=resource.type,
                    resource_name=resource.name,
                )
                for (resource, _), (code, message) in zip(asked, errors, strict=True)
            ]
        ),
    )


def refuse_incremental(
    request: incremental.IncrementalAlterConfigsRequest, error: Exception
) -> incremental.IncrementalAlterConfigsResponse:
    """The answer when nothing of the request could be done."""
    code, message = _told(error)
    return incremental.IncrementalAlterConfigsResponse(
        responses=[
            incremental.AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=entry.resource_type,
                resource_name=entry.resource_name,
            )
            for entry in request.resources
        ]
    )


def refuse_legacy(
    request: legacy.AlterConfigsRequest, error: Exception
) -> legacy.AlterConfigsResponse:
    """The answer when nothing of the request could be done."""
    code, message = _told(error)
    return legacy.AlterConfigsResponse(
        responses=[
            legacy.AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=entry.resource_type,
                resource_name=entry.resource_name,
            )
            for entry in request.resources
        ]
    )


def _told(error: Exception) -> tuple[ErrorCode, str | None]:
    return code_for(error), error.message if isinstance(error, ApiError) else None


def _resource(entry: incremental.AlterConfigsResource | legacy.AlterConfigsResource) -> Resource:
    keys = tuple(config.name for config in entry.configs)
    return Resource(entry.resource_type, entry.resource_name, keys)


# From the request to settings


def _legacy(settings: Sequence[legacy.AlterableConfig]) -> Change:
    def change(image: ClusterImage, current: dict[str, str]) -> dict[str, str]:
        found = {}
        for setting in settings:
            if setting.value is None:
                raise InvalidRequest(f"Null value not supported for : {setting.name}")
            found[setting.name] = setting.value
        return found

    return change


def _incremental(resource: Resource, edits: Sequence[incremental.AlterableConfig]) -> Change:
    def change(image: ClusterImage, current: dict[str, str]) -> dict[str, str]:
        nulls = [e.name for e in edits if e.value is None and e.config_operation != 1]
        if nulls:
            raise InvalidRequest(f"Null value not supported for : {', '.join(nulls)}")
        found = dict(current)
        for edit in edits:
            _edit(resource, found, edit)
        return found

    return change


def _edit(resource: Resource, settings: dict[str, str], edit: incremental.AlterableConfig) -> None:
    try:
        operation = Operation(edit.config_operation)
    except ValueError:
        raise InvalidRequest(f"Unknown operation type {edit.config_operation}") from None
    text = edit.value or ""
    match operation:
        case Operation.SET:
            settings[edit.name] = text
        case Operation.DELETE:
            settings.pop(edit.name, None)
        case _:
            settings[edit.name] = _edit_list(resource, settings, edit.name, operation, text)


def _edit_list(
    resource: Resource, settings: dict[str, str], name: str, operation: Operation, text: str
) -> str:
    """The list with items appended or taken away; it starts from the default if it is not set."""
    if resource.type in {ResourceType.TOPIC, ResourceType.GROUP}:
        declared = topic_list(name) if resource.type == ResourceType.TOPIC else None
        complaint = f"Can't {operation.name} to key {name} because its type is not LIST."
    else:
        declared = broker_list(name)
        complaint = f"Config value {operation.name.lower()} is not allowed for config key: {name}"
    if declared is None:
        raise InvalidConfig(complaint)
    current = settings.get(name)
    if current is None:
        current = declared.render(declared.default) or ""
    items = current.split(",") if current else []
    for item in text.split(","):
        if operation is Operation.SUBTRACT:
            items = [other for other in items if other != item]
        elif item not in items:
            items.append(item)
    return ",".join(items)


# From settings to records


def _decide_all(
    image: ClusterImage, changes: Sequence[tuple[Resource, Change]], env: Environment
) -> tuple[list[Message], list[tuple[ErrorCode, str | None]]]:
    counts = Counter((resource.type, resource.name) for resource, _ in changes)
    records: list[ConfigRecord] = []
    errors: list[tuple[ErrorCode, str | None]] = []
    for resource, change in changes:
        try:
            if counts[resource.type, resource.name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            if len(set(resource.keys)) < len(resource.keys):
                raise InvalidRequest("Error due to duplicate config keys")
            records += _decide_one(image, resource, change, env)
        except ApiError as error:
            errors.append(_told(error))
        else:
            errors.append((ErrorCode.NONE, None))
    return [*records, *_elections(image, records, env)], errors


def _elections(
    image: ClusterImage, records: Sequence[ConfigRecord], env: Environment
) -> Iterable[Message]:
    """What partitions that nobody leads, or that are below their minimum, make of the change."""
    if not any(record.name in (UNCLEAN.name, MIN_ISR.name) for record in records):
        return ()
    changed = image.fork()
    for record in records:
        changed.replay(record)
    return tuple(reconsider(changed, env))


def _decide_one(
    image: ClusterImage, resource: Resource, change: Change, env: Environment
) -> list[ConfigRecord]:
    _check_resource(image, resource)
    current = image.config(resource.type, resource.name)
    wanted = change(image, current)
    if resource.type == ResourceType.BROKER and current.get(MIN_ISR.name) != wanted.get(
        MIN_ISR.name
    ):
        check_min_isr(image, resource.name, wanted)
    if resource.type == ResourceType.TOPIC:
        check_topic_config(env.effective_config(image), wanted, resource.keys)
    elif resource.type == ResourceType.GROUP:
        check_group_config(env.effective_config(image), wanted, resource.keys)
    else:
        check_broker_config(wanted, all_brokers=not resource.name)
    names = dict.fromkeys((*current, *wanted))
    return [
        ConfigRecord(
            resource_type=resource.type,
            resource_name=resource.name,
            name=name,
            value=wanted.get(name),
        )
        for name in names
        if current.get(name) != wanted.get(name)
    ]


def _check_resource(image: ClusterImage, resource: Resource) -> None:
    """An error unless there is such a thing and its settings can be changed."""
    match resource.type:
        case ResourceType.TOPIC:
            if not resource.name:
                raise InvalidRequest("Default topic resources are not allowed.")
            check_name(resource.name)
            if resource.name not in image.topics:
                raise UnknownTopicOrPartition(f"The topic '{resource.name}' does not exist.")
        case ResourceType.BROKER:
            _check_broker(image, resource.name)
        case ResourceType.GROUP:
            if not resource.name:
                raise InvalidRequest("Default group resources are not allowed.")
        case _:
            raise InvalidRequest(f"Unknown resource type {resource.type}")


def _check_broker(image: ClusterImage, name: str) -> None:
    if not name:
        return
    try:
        broker_id = int(name)
    except ValueError:
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}") from None
    if broker_id not in image.brokers:
        known = ", ".join(str(known) for known in sorted(image.brokers))
        raise InvalidRequest(f"Unexpected broker id, expected {known}, but received {broker_id}")
