"""The settings of a group: its own where it has them, the broker's elsewhere.

For most settings of a group the broker has one of the same name after `group.`, and limits to what
a group may choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from barnabas.base.settings.broker import BrokerConfig
from barnabas.base.settings.kinds import Value
from barnabas.base.settings.model import ConfigError, DescribedValue, Setting, Source, Synonym
from barnabas.base.settings.registry import BROKER_SETTINGS, GROUP_SETTINGS

_FAMILIES = ("consumer", "share", "streams")


def group_default_name(name: str) -> str | None:
    """The broker setting that counts where a group setting is not set."""
    found = f"group.{name}"
    return found if found in BROKER_SETTINGS else None


def group_limit_name(name: str, which: str) -> str | None:
    """The broker setting that is the lowest (`min`) or highest (`max`) value a group may have."""
    family, _, rest = name.partition(".")
    found = f"group.{family}.{which}.{rest.removeprefix('num.')}"
    return found if found in BROKER_SETTINGS else None


def validate_group_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """`ConfigError` unless a group may have these settings, by themselves and together."""
    for name, text in overrides.items():
        value = GROUP_SETTINGS[name].parse(text)
        low, high = group_limit_name(name, "min"), group_limit_name(name, "max")
        if low is not None and cast("int", value) < config.int(low):
            raise ConfigError(f"{name} must be greater than or equal to {low}")
        if high is not None and cast("int", value) > config.int(high):
            raise ConfigError(f"{name} must be less than or equal to {high}")
    for family in _FAMILIES:
        session, beat = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
        if {session, beat} & overrides.keys() and group_int(
            config, overrides, session
        ) <= group_int(config, overrides, beat):
            raise ConfigError(f"{session} must be greater than {beat}")


def group_int(config: BrokerConfig, overrides: Mapping[str, str], name: str) -> int:
    """What a group goes by.

    A value of its own was within the limits when it was set.  Limits that were changed since are
    kept to, as is the broker's value where the group's cannot be read: another version wrote it.
    """
    default = group_default_name(name)
    assert default is not None, f"{name} has a default in the broker's settings"
    if name not in overrides:
        return config.int(default)
    try:
        value = cast("int", GROUP_SETTINGS[name].parse(overrides[name]))
    except ConfigError:
        return config.int(default)
    low, high = group_limit_name(name, "min"), group_limit_name(name, "max")
    if low is not None:
        value = max(value, config.int(low))
    return value if high is None else min(value, config.int(high))


def describe_group(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[DescribedValue]:
    """What DescribeConfigs tells about a group: all settings, or those of `names` that exist."""
    wanted = GROUP_SETTINGS if names is None else names
    return [
        _describe(config, overrides, GROUP_SETTINGS[name])
        for name in wanted
        if name in GROUP_SETTINGS
    ]


def _describe(
    config: BrokerConfig, overrides: Mapping[str, str], setting: Setting
) -> DescribedValue:
    name = setting.name
    default = group_default_name(name)
    value: Value = setting.default if default is None else config[default]
    text = setting.render(value)
    synonyms = (
        [Synonym(name, text, Source.DEFAULT)] if default is None else config.synonyms(default)
    )
    if name in overrides:
        text = overrides[name]
        synonyms.insert(0, Synonym(name, text, Source.DYNAMIC_GROUP))
    return DescribedValue(
        name=name,
        value=text,
        source=synonyms[0].source,
        synonyms=tuple(synonyms),
        read_only=False,
        sensitive=False,
        type=setting.type,
        doc=setting.doc,
    )
