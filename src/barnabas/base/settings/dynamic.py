"""Which broker settings may be changed while brokers run, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.base.errors import InvalidRequest
from barnabas.base.settings.model import Update
from barnabas.base.settings.registry import BROKER_SETTINGS, broker_setting

_ONLY_PER_LISTENER = frozenset(
    (
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    )
)


def validate_dynamic(settings: Mapping[str, str], *, all_brokers: bool) -> None:
    """Checks the dynamic settings of one broker, or of all brokers together, as a whole.

    `InvalidRequest` where a setting cannot be changed so, `ConfigError` where a value is not
    valid.  Names that are not declared are let through: another version may know them.
    """
    _refuse(
        (n for n in settings if n in BROKER_SETTINGS and _mode(n) is Update.READ_ONLY),
        "can only be changed by a restart",
    )
    _refuse(
        (n for n in settings if n in _ONLY_PER_LISTENER),
        "can only be changed for a listener, with its prefix",
    )
    if all_brokers:
        _refuse(
            (n for n in settings if _is_per_broker(n)),
            "can only be changed for one broker, not for all",
        )
    for name, text in settings.items():
        declared = broker_setting(name)
        if declared is not None:
            declared.parse(text)


def _mode(name: str) -> Update:
    return BROKER_SETTINGS[name].update


def _is_per_broker(name: str) -> bool:
    declared = broker_setting(name)
    return declared is not None and declared.update is Update.PER_BROKER


def _refuse(names: Iterable[str], reason: str) -> None:
    found = sorted(names)
    if found:
        raise InvalidRequest(f"{', '.join(found)} {reason}.")
