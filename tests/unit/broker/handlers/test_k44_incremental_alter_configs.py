from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k32_describe_configs import describe_configs
from barnabas.broker.handlers.k44_incremental_alter_configs import incremental_alter_configs
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
NAME = "barnabas.test.levels"


def resource(kind: int, name: str, *changes: tuple[str, int, str | None]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


def alter(world: Any, *resources: AlterConfigsResource, validate_only: bool = False) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = world.call(incremental_alter_configs, request, 1)
    assert [(r.resource_type, r.resource_name) for r in answer.responses] == [
        (r.resource_type, r.resource_name) for r in resources
    ]
    assert all(bool(r.error_message) == bool(r.error_code) for r in answer.responses)
    return [r.error_code for r in answer.responses]


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.getLogger(NAME)
    root_level = logging.root.level
    yield log
    log.setLevel(logging.NOTSET)
    logging.root.setLevel(root_level)


def test_a_request_about_topics_goes_to_the_controller_as_it_is(world: Any) -> None:
    request = IncrementalAlterConfigsRequest(
        resources=[resource(TOPIC, "t", ("retention.ms", SET, "5"))], validate_only=True
    )

    answered = world.begin(incremental_alter_configs, request, 1)

    assert world.controller.submitted == [request]
    response = IncrementalAlterConfigsResponse()
    world.controller.answer(response)
    assert answered == [response]


def test_settings_are_in_effect_when_the_answer_comes(world: Any) -> None:
    world.decide_for_real()
    world.topic("t")

    assert alter(
        world,
        resource(TOPIC, "t", ("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")),
        resource(BROKER, "", ("log.cleaner.threads", SET, "3")),
        resource(BROKER, "1", ("log.cleaner.threads", SET, "4")),
    ) == [0, 0, 0]

    assert world.log_config("t").cleanup_policy == ("delete", "compact")
    assert world.broker.config.int("log.cleaner.threads") == 4
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=BROKER,
                resource_name="1",
                configuration_keys=["log.cleaner.threads"],
            )
        ],
        include_synonyms=True,
    )
    (config,) = world.call(describe_configs, request, 4).results[0].configs
    assert [(s.value, s.source) for s in config.synonyms] == [("4", 2), ("3", 3), ("1", 5)]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (resource(TOPIC, "t", ("nope", SET, "1")), ErrorCode.INVALID_CONFIG),
        (resource(TOPIC, "t", ("retention.ms", SET, "x")), ErrorCode.INVALID_CONFIG),
        (resource(TOPIC, "t", ("retention.ms", SET, None)), ErrorCode.INVALID_REQUEST),
        (resource(TOPIC, "t", ("retention.ms", APPEND, "1")), ErrorCode.INVALID_CONFIG),
        (resource(TOPIC, "t", ("retention.ms", 9, "1")), ErrorCode.INVALID_REQUEST),
        (
            resource(TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
            ErrorCode.INVALID_REQUEST,
        ),
        (resource(TOPIC, "no", ("retention.ms", SET, "1")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(TOPIC, "", ("retention.ms", SET, "1")), ErrorCode.INVALID_REQUEST),
        (resource(BROKER, "1", ("node.id", SET, "1")), ErrorCode.INVALID_REQUEST),
        (resource(BROKER, "1", ("log.cleaner.threads", SET, "x")), ErrorCode.INVALID_REQUEST),
        (resource(BROKER, "2", ("log.cleaner.threads", SET, "1")), ErrorCode.INVALID_REQUEST),
        (resource(BROKER, "x", ("log.cleaner.threads", SET, "1")), ErrorCode.INVALID_REQUEST),
        (resource(1, "x", ("a", SET, "1")), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused(world: Any, changed: AlterConfigsResource, error: ErrorCode) -> None:
    """The codes that Apache Kafka 4.0 answers."""
    world.decide_for_real()
    world.topic("t")
    before = dict(world.image.configs)

    assert alter(world, changed) == [error]
    assert world.image.configs == before


def test_log_levels_are_set_here_and_at_once(world: Any, log: logging.Logger) -> None:
    assert alter(world, resource(LOGGER, "1", (NAME, SET, "TRACE"))) == [0]
    assert log.level == 5
    assert alter(world, resource(LOGGER, "1", (NAME, SET, "FATAL"), ("root", SET, "WARN"))) == [0]
    assert (log.level, logging.root.level) == (logging.CRITICAL, logging.WARNING)
    assert alter(world, resource(LOGGER, "1", (NAME, DELETE, None))) == [0]
    assert log.level == logging.NOTSET
    assert world.controller.submitted == []


def test_validation_alone_changes_no_level(world: Any, log: logging.Logger) -> None:
    assert alter(world, resource(LOGGER, "1", (NAME, SET, "DEBUG")), validate_only=True) == [0]
    assert log.level == logging.NOTSET


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (resource(LOGGER, "2", (NAME, SET, "INFO")), ErrorCode.INVALID_REQUEST),
        (resource(LOGGER, "", (NAME, SET, "INFO")), ErrorCode.INVALID_REQUEST),
        (resource(LOGGER, "1", (NAME, APPEND, "INFO")), ErrorCode.INVALID_REQUEST),
        (resource(LOGGER, "1", (NAME, SET, "LOUD")), ErrorCode.INVALID_CONFIG),
        (resource(LOGGER, "1", (NAME, SET, None)), ErrorCode.INVALID_CONFIG),
        (resource(LOGGER, "1", ("barnabas.no.such", SET, "INFO")), ErrorCode.INVALID_CONFIG),
        (resource(LOGGER, "1", ("root", DELETE, None)), ErrorCode.INVALID_REQUEST),
        (
            resource(LOGGER, "1", (NAME, SET, "INFO"), (NAME, SET, "WARN")),
            ErrorCode.INVALID_REQUEST,
        ),
        (resource(LOGGER, "1", (NAME, SET, "INFO"), ("x", SET, "WARN")), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_refused_change_of_levels_changes_none(
    world: Any, log: logging.Logger, changed: AlterConfigsResource, error: ErrorCode
) -> None:
    assert alter(world, changed) == [error]
    assert log.level == logging.NOTSET


def test_levels_of_one_broker_given_twice_are_refused(world: Any, log: logging.Logger) -> None:
    twice = resource(LOGGER, "1", (NAME, SET, "INFO"))

    assert alter(world, twice, twice) == [ErrorCode.INVALID_REQUEST] * 2
    assert log.level == logging.NOTSET


def test_levels_and_settings_in_one_request_are_answered_in_order(
    world: Any, log: logging.Logger
) -> None:
    levels = resource(LOGGER, "1", (NAME, SET, "INFO"))
    first = resource(TOPIC, "a", ("retention.ms", SET, "5"))
    second = resource(TOPIC, "b", ("retention.ms", SET, "5"))
    request = IncrementalAlterConfigsRequest(resources=[first, levels, second])

    answered = world.begin(incremental_alter_configs, request, 1)

    assert world.controller.submitted == [IncrementalAlterConfigsRequest(resources=[first, second])]
    told = [
        AlterConfigsResourceResponse(
            error_code=code, error_message=None, resource_type=TOPIC, resource_name=name
        )
        for code, name in ((0, "a"), (3, "b"))
    ]
    world.controller.answer(IncrementalAlterConfigsResponse(responses=told))
    ours = AlterConfigsResourceResponse(error_message=None, resource_type=LOGGER, resource_name="1")
    assert answered == [IncrementalAlterConfigsResponse(responses=[told[0], ours, told[1]])]
