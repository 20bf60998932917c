from __future__ import annotations

import logging
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.base.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from barnabas.broker.handlers.k32_describe_configs import describe_configs
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32


def describe(
    world: Any,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    (result,) = world.call(describe_configs, request, version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result  # type: ignore[no-any-return]


def test_a_topic_setting_with_all_that_can_be_told(world: Any) -> None:
    world.topic("t", segment_bytes="2097152")

    assert describe(
        world, TOPIC, "t", ["segment.bytes"], synonyms=True, documentation=True
    ).configs == [
        DescribeConfigsResourceResult(
            name="segment.bytes",
            value="2097152",
            config_source=1,
            config_type=3,
            synonyms=[
                DescribeConfigsSynonym(name="segment.bytes", value="2097152", source=1),
                DescribeConfigsSynonym(name="log.segment.bytes", value="1073741824", source=5),
            ],
            documentation=TOPIC_SETTINGS["segment.bytes"].doc,
        )
    ]


def test_synonyms_and_documentation_are_only_told_on_request(world: Any) -> None:
    world.topic("t")

    (config,) = describe(world, TOPIC, "t", ["segment.bytes"]).configs

    assert (config.synonyms, config.documentation) == ([], None)


@pytest.mark.parametrize("keys", [None, []])
def test_without_names_everything_is_told(world: Any, keys: list[str] | None) -> None:
    world.topic("t")
    shown = {name for name, s in TOPIC_SETTINGS.items() if not s.is_internal}

    assert {c.name for c in describe(world, TOPIC, "t", keys).configs} == shown


def test_unknown_names_are_left_out(world: Any) -> None:
    world.topic("t")

    assert [c.name for c in describe(world, TOPIC, "t", ["nope", "retention.ms"]).configs] == [
        "retention.ms"
    ]
    assert [c.name for c in describe(world, BROKER, "1", ["nope", "node.id"]).configs] == [
        "node.id"
    ]


def test_this_broker(world: Any) -> None:
    configs = {c.name: c for c in describe(world, BROKER, "1", synonyms=True).configs}

    assert {n for n, s in BROKER_SETTINGS.items() if not s.is_internal} <= set(configs)
    node_id = configs["node.id"]
    assert (node_id.value, node_id.config_source, node_id.read_only) == ("1", 4, True)
    assert configs["log.cleaner.threads"].read_only is False
    assert configs["log.retention.ms"].value is None


def test_a_group_that_nobody_has_heard_of_goes_by_the_brokers_settings(world: Any) -> None:
    found = describe(world, GROUP, "any", ["consumer.session.timeout.ms", "nope"]).configs

    assert [(c.name, c.value, c.config_source) for c in found] == [
        ("consumer.session.timeout.ms", "45000", 5)
    ]
    assert [c.name for c in describe(world, GROUP, "any").configs] == list(GROUP_SETTINGS)


def test_passwords_are_never_told(make_world: Any) -> None:
    world = make_world(**{"ssl.keystore.password": "secret-one"})

    (config,) = describe(world, BROKER, "1", ["ssl.keystore.password"], synonyms=True).configs

    assert (config.is_sensitive, config.value) == (True, None)
    assert "secret-one" not in repr(config)
    assert config.synonyms[0].value is None


def test_all_brokers_together_have_only_what_was_set_for_all(world: Any) -> None:
    world.decide_for_real()
    assert describe(world, BROKER, "").configs == []

    world.broker.config = world.broker.config.with_dynamic({"log.cleaner.threads": "2"}, {})

    (config,) = describe(world, BROKER, "").configs
    assert (config.name, config.value, config.config_source) == ("log.cleaner.threads", "2", 3)


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "two words", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (1, "t", ErrorCode.INVALID_REQUEST),
        (99, "t", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(world: Any, kind: int, name: str, error: ErrorCode) -> None:
    result = describe(world, kind, name)

    assert (result.error_code, result.configs) == (error, [])
    assert result.error_message


def test_one_failure_harms_no_other_resource(world: Any) -> None:
    world.topic("t")
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=n, configuration_keys=None)
        for n in ("nope", "t")
    ]

    answer = world.call(describe_configs, DescribeConfigsRequest(resources=resources), 1)

    assert [r.error_code for r in answer.results] == [3, 0]


def test_log_levels(world: Any) -> None:
    logging.getLogger("barnabas.test.some").setLevel(logging.WARNING)
    logging.getLogger("elsewhere.entirely")

    configs = describe(world, LOGGER, "1").configs

    assert (
        DescribeConfigsResourceResult(name="barnabas.test.some", value="WARN", config_source=6)
        in configs
    )
    assert configs[0].name == "root"
    assert all(c.name == "root" or c.name.startswith("barnabas") for c in configs)
    (named,) = describe(world, LOGGER, "1", ["barnabas.test.some"]).configs
    assert named.value == "WARN"
