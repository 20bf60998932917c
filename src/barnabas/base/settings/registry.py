"""All settings, by name, and which of them stand for each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from barnabas.base.settings.declared import (
    cleaner,
    controller,
    groups,
    log,
    network,
    node,
    oauth,
    quotas,
    replication,
    sasl,
    security,
    share_groups,
    single_groups,
    streams_groups,
    tiered,
    tls,
    topic,
    transactions,
)
from barnabas.base.settings.model import Setting

SECTIONS: tuple[ModuleType, ...] = (
    node,
    network,
    log,
    cleaner,
    replication,
    controller,
    groups,
    share_groups,
    streams_groups,
    transactions,
    quotas,
    security,
    tls,
    sasl,
    oauth,
    tiered,
)
"""In the order of the reference page."""


def _by_name(settings: tuple[Setting, ...]) -> Mapping[str, Setting]:
    found = {setting.name: setting for setting in settings}
    assert len(found) == len(settings), "a setting is declared twice"
    return MappingProxyType(found)


BROKER_SETTINGS = _by_name(tuple(s for section in SECTIONS for s in section.SETTINGS))
TOPIC_SETTINGS = _by_name(topic.SETTINGS)
GROUP_SETTINGS = _by_name(single_groups.SETTINGS)

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY = {name: family for family in _FAMILIES for name in family} | {
    # One-sided: the scheduler's interval is a fallback for the other, not the other for it.
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}

LISTENER_PREFIX = "listener.name."
_OF_MECHANISM = (  # these have a mechanism between the listener and the setting
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names that can set what `name` says, the strongest first.

    For a setting of one listener these are itself and the setting for all listeners.
    """
    if name.startswith(LISTENER_PREFIX):
        base = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
        return name, next((known for known in _OF_MECHANISM if base.endswith(known)), base)
    return _FAMILY.get(name, (name,))


def broker_setting(name: str) -> Setting | None:
    """The declaration behind a name, also behind one with a listener's prefix."""
    found = BROKER_SETTINGS.get(name)
    if found is None and name.startswith(LISTENER_PREFIX):
        found = BROKER_SETTINGS.get(broker_synonyms(name)[-1])
    return found


def _broker_synonyms_of_topics() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for setting in BROKER_SETTINGS.values():
        if setting.topic_override is not None:
            found.setdefault(setting.topic_override, setting.name)
    return MappingProxyType(found)


BROKER_SYNONYM = _broker_synonyms_of_topics()
"""The broker setting that counts where a topic setting is not set; of a family, the strongest."""
