"""Settings of topics, brokers, groups and loggers of a cluster: look at them, change them.

Through our own codec: librdkafka knows neither the settings of groups and loggers nor those that
all brokers share, and cannot ask controllers.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from barnabas.client.brokers import Brokers, check_code
from barnabas.client.errors import ClientError
from barnabas.client.wire import Connection
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    describe_configs,
    incremental_alter_configs,
    list_client_metrics_resources,
    list_groups,
)


class ConfigKind(enum.IntEnum):
    """What can have settings, by the number that it has in requests."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(enum.IntEnum):
    """Where a value comes from, by the number that it has in answers."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


SET, DELETE = 0, 1
OF_ONE_BROKER = frozenset({ConfigKind.BROKER, ConfigKind.BROKER_LOGGER})
"""Only the broker itself knows these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    name: str
    value: str | None
    """None if it is a secret, or has no value."""
    source: Source
    is_sensitive: bool
    is_read_only: bool
    synonyms: Sequence[Synonym] = ()
    """All that would give it a value, the one that counts first."""


@dataclass(slots=True)
class ConfigAdmin:
    """One thread; every call blocks until the brokers have answered, or raises `ClientError`."""

    brokers: Brokers

    def names(self, kind: ConfigKind) -> list[str]:
        """All that are there of a kind, sorted."""
        match kind:
            case ConfigKind.TOPIC:
                return sorted({topic for topic, _ in self.brokers.places(None)})
            case ConfigKind.BROKER | ConfigKind.BROKER_LOGGER:
                return [str(each) for each in self.brokers.ids()]
            case ConfigKind.CLIENT_METRICS:
                return self._with_settings(kind)
            case ConfigKind.GROUP:
                known = set(self._groups())
                if self.brokers.first.version_of(ApiKey.LIST_CLIENT_METRICS_RESOURCES):
                    known |= set(self._with_settings(kind))
                return sorted(known)

    def _with_settings(self, kind: ConfigKind) -> list[str]:
        """Those that have settings, whether or not they are there; of metrics in every version."""
        version = self.brokers.first.version_of(ApiKey.LIST_CLIENT_METRICS_RESOURCES)
        answer = self.brokers.first.call(
            list_client_metrics_resources.ListClientMetricsResourcesRequest(
                resource_types=[kind] if version else []
            ),
            list_client_metrics_resources.ListClientMetricsResourcesResponse,
        )
        check_code(answer.error_code)
        return sorted(each.name for each in answer.client_metrics_resources)

    def _groups(self) -> list[str]:
        found = set()
        for broker_id in self.brokers.ids():
            answer = self.brokers.to(broker_id).call(
                list_groups.ListGroupsRequest(), list_groups.ListGroupsResponse
            )
            check_code(answer.error_code)
            found |= {each.group_id for each in answer.groups}
        return sorted(found)

    def describe(self, kind: ConfigKind, name: str) -> list[Setting]:
        """All settings, by name; the empty name means all brokers together."""
        answer = self._to(kind, name).call(
            describe_configs.DescribeConfigsRequest(
                resources=[
                    describe_configs.DescribeConfigsResource(
                        resource_type=kind, resource_name=name, configuration_keys=None
                    )
                ],
                include_synonyms=True,
            ),
            describe_configs.DescribeConfigsResponse,
        )
        (found,) = answer.results
        check_code(found.error_code, found.error_message)
        return sorted((_setting(each) for each in found.configs), key=lambda each: each.name)

    def alter(
        self, kind: ConfigKind, name: str, *, put: Mapping[str, str], remove: Collection[str]
    ) -> None:
        """Changes these settings, all or none of them, and leaves the others."""
        changed = {key: (SET, value) for key, value in put.items()}
        answer = self._to(kind, name, to_change=True).call(
            incremental_alter_configs.IncrementalAlterConfigsRequest(
                resources=[
                    incremental_alter_configs.AlterConfigsResource(
                        resource_type=kind,
                        resource_name=name,
                        configs=[
                            incremental_alter_configs.AlterableConfig(
                                name=key, config_operation=operation, value=value
                            )
                            for key, (operation, value) in (
                                changed | dict.fromkeys(remove, (DELETE, ""))
                            ).items()
                        ],
                    )
                ]
            ),
            incremental_alter_configs.IncrementalAlterConfigsResponse,
        )
        (done,) = answer.responses
        check_code(done.error_code, done.error_message)

    def _to(self, kind: ConfigKind, name: str, *, to_change: bool = False) -> Connection:
        """Whoever has to be asked."""
        if to_change and self.brokers.of_controllers:
            return self.brokers.controller()
        if kind in OF_ONE_BROKER and name:
            if not (name.isascii() and name.isdigit()):
                raise ClientError(f'"{name}" is not the id of a broker')
            return self.brokers.to(int(name))
        return self.brokers.controller() if to_change else self.brokers.first


def _setting(told: describe_configs.DescribeConfigsResourceResult) -> Setting:
    return Setting(
        name=told.name,
        value=told.value,
        source=_source(told.config_source),
        is_sensitive=told.is_sensitive,
        is_read_only=told.read_only,
        synonyms=[
            Synonym(name=each.name, value=each.value, source=_source(each.source))
            for each in told.synonyms
        ],
    )


def _source(number: int) -> Source:
    """Newer brokers may have sources that we do not know."""
    try:
        return Source(number)
    except ValueError:
        return Source.UNKNOWN
