from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.brokers import Brokers
from barnabas.client.config_admin import (
    DELETE,
    SET,
    ConfigAdmin,
    ConfigKind,
    Setting,
    Source,
    Synonym,
)
from barnabas.client.errors import ClientError, NotOfferedError, RefusedError
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    describe_configs,
    incremental_alter_configs,
    list_client_metrics_resources,
    list_groups,
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)
    made.respond[describe_configs.DescribeConfigsRequest] = described
    made.respond[incremental_alter_configs.IncrementalAlterConfigsRequest] = altered
    made.respond[list_groups.ListGroupsRequest] = lambda broker, _: list_groups.ListGroupsResponse(
        groups=[list_groups.ListedGroup(group_id=f"g{broker}")]
    )
    made.respond[list_client_metrics_resources.ListClientMetricsResourcesRequest] = with_settings
    return made


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[ConfigAdmin]:
    with Brokers.connect(PLAIN, timeout_s=1) as brokers:
        yield ConfigAdmin(brokers)


def described(broker: int, request: Any) -> describe_configs.DescribeConfigsResponse:
    (resource,) = request.resources
    assert (request.include_synonyms, resource.configuration_keys) == (True, None)
    result = describe_configs.DescribeConfigsResult(error_message=None)
    if resource.resource_name == "none":
        result = describe_configs.DescribeConfigsResult(error_code=3, error_message="not here")
    else:
        result.configs = [
            describe_configs.DescribeConfigsResourceResult(
                name=name,
                value=value,
                config_source=source,
                is_sensitive=value is None,
                synonyms=[
                    describe_configs.DescribeConfigsSynonym(name=name, value=value, source=source)
                ],
            )
            for name, value, source in (("z", "1", 1), ("a", None, 99))
        ]
    return describe_configs.DescribeConfigsResponse(results=[result])


def altered(broker: int, request: Any) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    code, text = (40, "no such setting") if broker == 2 else (0, None)
    return incremental_alter_configs.IncrementalAlterConfigsResponse(
        responses=[
            incremental_alter_configs.AlterConfigsResourceResponse(
                error_code=code, error_message=text
            )
        ]
    )


def with_settings(
    broker: int, request: Any
) -> list_client_metrics_resources.ListClientMetricsResourcesResponse:
    kinds = request.resource_types or [ConfigKind.CLIENT_METRICS]
    return list_client_metrics_resources.ListClientMetricsResourcesResponse(
        client_metrics_resources=[
            list_client_metrics_resources.ClientMetricsResource(
                name=f"of-{kind}", resource_type=kind
            )
            for kind in kinds
        ]
    )


def test_settings_come_by_name_with_where_they_come_from(admin: ConfigAdmin) -> None:
    hidden, plain = admin.describe(ConfigKind.TOPIC, "t")
    assert plain == Setting(
        name="z",
        value="1",
        source=Source.DYNAMIC_TOPIC_CONFIG,
        is_sensitive=False,
        is_read_only=False,
        synonyms=[Synonym(name="z", value="1", source=Source.DYNAMIC_TOPIC_CONFIG)],
    )
    assert (hidden.value, hidden.is_sensitive, hidden.source) == (None, True, Source.UNKNOWN)


def test_what_the_broker_refuses_is_raised_in_its_words(admin: ConfigAdmin) -> None:
    with pytest.raises(RefusedError, match=r"^not here$"):
        admin.describe(ConfigKind.TOPIC, "none")
    with pytest.raises(RefusedError, match=r"^no such setting$"):
        admin.alter(ConfigKind.BROKER, "2", put={"a": "b"}, remove=[])


@pytest.mark.parametrize(
    ("kind", "name", "asked"),
    [
        (ConfigKind.TOPIC, "t", 1),
        (ConfigKind.BROKER, "2", 2),
        (ConfigKind.BROKER_LOGGER, "2", 2),
        (ConfigKind.BROKER, "", 1),
        (ConfigKind.GROUP, "2", 1),
    ],
)
def test_a_broker_is_asked_about_itself(
    cluster: FakeCluster, admin: ConfigAdmin, kind: ConfigKind, name: str, asked: int
) -> None:
    admin.describe(kind, name)
    ((broker, request),) = cluster.sent(describe_configs.DescribeConfigsRequest)
    assert (broker, request.resources[0].resource_type) == (asked, kind)


@pytest.mark.parametrize("name", ["x", "-1", "²"])
def test_what_is_no_id_of_a_broker_is_not_asked_for(admin: ConfigAdmin, name: str) -> None:
    with pytest.raises(ClientError, match="is not the id of a broker"):
        admin.describe(ConfigKind.BROKER, name)


def test_settings_are_set_and_deleted_in_one_request(
    cluster: FakeCluster, admin: ConfigAdmin
) -> None:
    admin.alter(ConfigKind.TOPIC, "t", put={"a": "b", "c": ""}, remove=["d"])
    ((_, request),) = cluster.sent(incremental_alter_configs.IncrementalAlterConfigsRequest)
    (resource,) = request.resources
    assert [(each.name, each.config_operation, each.value) for each in resource.configs] == [
        ("a", SET, "b"),
        ("c", SET, ""),
        ("d", DELETE, ""),
    ]


def test_all_of_a_kind_are_found(cluster: FakeCluster, admin: ConfigAdmin) -> None:
    assert admin.names(ConfigKind.TOPIC) == ["t"]
    assert admin.names(ConfigKind.BROKER) == ["1", "2"]
    assert admin.names(ConfigKind.CLIENT_METRICS) == ["of-16"]
    assert admin.names(ConfigKind.GROUP) == ["g1", "g2", "of-32"]


@pytest.mark.parametrize("version", [-1, 0])
def test_a_broker_that_cannot_list_settings_of_groups_tells_of_groups(
    cluster: FakeCluster, admin: ConfigAdmin, version: int
) -> None:
    cluster.highest[ApiKey.LIST_CLIENT_METRICS_RESOURCES] = version
    assert admin.names(ConfigKind.GROUP) == ["g1", "g2"]
    if version < 0:
        with pytest.raises(NotOfferedError, match="h:1 does not offer ListClientMetricsResources"):
            admin.names(ConfigKind.CLIENT_METRICS)
    else:
        assert admin.names(ConfigKind.CLIENT_METRICS) == ["of-16"]
