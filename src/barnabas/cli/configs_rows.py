"""What `kafka-configs` shows: rows made from settings and quotas, and their lines.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.configs_options import DEFAULT_NAME, Entity

if TYPE_CHECKING:
    from barnabas.client.config_admin import Setting
    from barnabas.client.quota_admin import Credential, Quotas

DYNAMIC = {
    "topics": "DYNAMIC_TOPIC_CONFIG",
    "brokers": "DYNAMIC_BROKER_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
    "groups": "DYNAMIC_GROUP_CONFIG",
}
"""Where a value comes from that was set for this one of a type.  Loggers are shown all."""
DYNAMIC_FOR_ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
QUOTA_WORDS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRow:
    """The settings of one entity that are to be shown."""

    entity: Entity
    settings: Sequence[Setting]
    describe_all: bool


def chosen(entity: Entity, settings: Iterable[Setting], *, describe_all: bool) -> list[Setting]:
    """Those that somebody set for this entity, or all of them."""
    wanted = DYNAMIC.get(entity.type)
    if entity.type == "brokers" and entity.name == DEFAULT_NAME:
        wanted = DYNAMIC_FOR_ALL_BROKERS
    return [
        each for each in settings if describe_all or wanted is None or each.source.name == wanted
    ]


def settings_lines(rows: Iterable[SettingsRow]) -> list[str]:
    lines = []
    for row in rows:
        entity = row.entity
        if entity.name == DEFAULT_NAME:
            lines.append(f"Default configs for {entity.type} in the cluster are:")
        else:
            which = "All" if row.describe_all else "Dynamic"
            lines.append(f"{which} configs for {entity.singular} {entity.name} are:")
        lines += [_setting_line(setting) for setting in row.settings]
    return lines


def _setting_line(setting: Setting) -> str:
    synonyms = ", ".join(
        f"{each.source.name}:{each.name}={_value(each.value)}" for each in setting.synonyms
    )
    sensitive = "true" if setting.is_sensitive else "false"
    return f"  {setting.name}={_value(setting.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _value(value: str | None) -> str:
    return "null" if value is None else value


def settings_json(rows: Iterable[SettingsRow]) -> list[dict[str, Any]]:
    return [
        {
            "entity_type": row.entity.type,
            "entity_name": None if row.entity.name == DEFAULT_NAME else row.entity.name,
            "configs": [
                {
                    "name": setting.name,
                    "value": setting.value,
                    "source": setting.source.name,
                    "sensitive": setting.is_sensitive,
                    "read_only": setting.is_read_only,
                    "synonyms": [
                        {"name": each.name, "value": each.value, "source": each.source.name}
                        for each in setting.synonyms
                    ],
                }
                for setting in row.settings
            ],
        }
        for row in rows
    ]


def quota_lines(found: Iterable[Quotas]) -> list[str]:
    from barnabas.cli.deserializers import java_double

    lines = []
    for row in sorted(found, key=lambda each: [(k, n or "") for k, n in _in_order(each.entity)]):
        whose = ", ".join(_quota_entity(kind, name) for kind, name in _in_order(row.entity))
        values = ", ".join(f"{key}={java_double(row.values[key])}" for key in sorted(row.values))
        lines.append(f"Quota configs for {whose} are {values}")
    return lines


def _in_order(entity: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Users before clients, whatever the broker says first."""
    places = list(QUOTA_WORDS)
    return sorted(entity, key=lambda part: places.index(part[0]) if part[0] in places else 9)


def _quota_entity(kind: str, name: str | None) -> str:
    word = QUOTA_WORDS.get(kind, kind)
    return f"the default {word}" if name is None else f"{word} '{name}'"


def credential_lines(found: Mapping[str, Sequence[Credential]]) -> list[str]:
    return [
        f"SCRAM credential configs for user-principal '{user}' are "
        + ", ".join(
            f"{each.mechanism}=iterations={each.iterations}"
            for each in sorted(found[user], key=lambda one: one.mechanism)
        )
        for user in sorted(found)
    ]


def quota_json(
    found: Iterable[Quotas], credentials: Mapping[str, Sequence[Credential]]
) -> dict[str, Any]:
    return {
        "quotas": [
            {"entity": dict(_in_order(row.entity)), "values": dict(row.values)} for row in found
        ],
        "scram_credentials": [
            {
                "user": user,
                "credentials": [
                    {"mechanism": each.mechanism, "iterations": each.iterations}
                    for each in credentials[user]
                ],
            }
            for user in sorted(credentials)
        ],
    }


def changed_line(entities: Sequence[Entity]) -> str:
    """What is said after a change; of several entities the first is named, as in Apache Kafka."""
    first = entities[0]
    if first.name == DEFAULT_NAME:
        return f"Completed updating default config for {first.type} in the cluster."
    return f"Completed updating config for {first.singular} {first.name}."
