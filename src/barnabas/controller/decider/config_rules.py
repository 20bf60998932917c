"""Which settings a topic, a broker or a group may have, in the words that Kafka answers with."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.base.errors import ApiError, InvalidConfig, InvalidRequest
from barnabas.base.settings import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    TOPIC_SETTINGS,
    BrokerConfig,
    ConfigType,
    Setting,
    Update,
    validate_dynamic,
    validate_group_configs,
    validate_topic_configs,
)


def check_topic_config(
    config: BrokerConfig, settings: Mapping[str, str], changed: Collection[str]
) -> None:
    """InvalidConfig unless a topic can have these settings, of which `changed` are new.

    Settings from before that this release does not know are left in peace.
    """
    for name in settings:
        if name not in TOPIC_SETTINGS and name in changed:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    known = {name: text for name, text in settings.items() if name in TOPIC_SETTINGS}
    validate_topic_configs(config, known)


def check_group_config(
    config: BrokerConfig, settings: Mapping[str, str], changed: Collection[str]
) -> None:
    """InvalidConfig unless a group can have these settings, of which `changed` are new."""
    for name in settings:
        if name not in GROUP_SETTINGS and name in changed:
            raise InvalidConfig(f"Unknown group config name: {name}")
    known = {name: text for name, text in settings.items() if name in GROUP_SETTINGS}
    validate_group_configs(config, known)


def check_broker_config(settings: Mapping[str, str], *, all_brokers: bool) -> None:
    """InvalidRequest unless these can be dynamic settings of one broker, or of all."""
    _refuse(settings, Update.READ_ONLY, "Cannot update these configs dynamically")
    if all_brokers:
        _refuse(
            settings,
            Update.PER_BROKER,
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    try:
        validate_dynamic(settings, all_brokers=all_brokers)
    except ApiError as error:
        raise InvalidRequest(error.message) from None


def _refuse(settings: Mapping[str, str], update: Update, complaint: str) -> None:
    declared = ((name, BROKER_SETTINGS.get(name)) for name in settings)
    names = sorted(name for name, found in declared if found and found.update is update)
    if names:
        raise InvalidRequest(f"{complaint}: [{', '.join(names)}]")


def topic_list(name: str) -> Setting | None:
    """The declaration of a topic setting whose value is a list."""
    return _list(TOPIC_SETTINGS.get(name))


def broker_list(name: str) -> Setting | None:
    """The declaration of a broker setting whose value is a list."""
    return _list(BROKER_SETTINGS.get(name))


def _list(declared: Setting | None) -> Setting | None:
    return declared if declared is not None and declared.type is ConfigType.LIST else None
