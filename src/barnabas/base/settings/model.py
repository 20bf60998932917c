"""A setting is one declaration: the parser, DescribeConfigs, validation and the docs read it."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from barnabas.base.errors import InvalidConfig
from barnabas.base.settings.kinds import ConfigType, Kind, Value


class ConfigError(InvalidConfig):
    """A setting that cannot be used.  The message is one line that names the setting."""


class Update(enum.Enum):
    """When a new value of a broker setting takes effect."""

    READ_ONLY = "at restart"
    PER_BROKER = "at once, per broker"
    CLUSTER_WIDE = "at once, per broker or for all"


class Importance(enum.Enum):
    """How likely it is that someone needs to know the setting."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Source(enum.IntEnum):
    """The number that DescribeConfigs gives for where a value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_GROUP = 8


READ_ONLY = Update.READ_ONLY
PER_BROKER = Update.PER_BROKER
CLUSTER_WIDE = Update.CLUSTER_WIDE
HIGH = Importance.HIGH
MEDIUM = Importance.MEDIUM
LOW = Importance.LOW


class Setting:
    """One setting's declaration.  Immutable by convention; made once, at import."""

    __slots__ = (
        "default",
        "doc",
        "importance",
        "is_internal",
        "is_required",
        "kind",
        "name",
        "topic_override",
        "update",
    )

    def __init__(
        self,
        name: str,
        kind: Kind,
        *,
        default: Value = None,
        update: Update = READ_ONLY,
        topic_override: str | None = None,
        importance: Importance = MEDIUM,
        internal: bool = False,
        required: bool = False,
        doc: str,
    ) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.update = update
        self.topic_override = topic_override
        """The topic setting that replaces this one for a single topic."""
        self.importance = importance
        self.is_internal = internal
        """Not shown unless set: for tests and experts."""
        self.is_required = required
        """Has no default of its own: where nothing is said, the platform finds a value."""
        self.doc = doc

    @property
    def type(self) -> ConfigType:
        return self.kind.type

    @property
    def is_sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.kind.type is ConfigType.PASSWORD

    @property
    def effect(self) -> str:
        """`honoured`, or what the setting waits for."""
        from barnabas.base.settings.effects import effect_of

        return effect_of(self.name)

    def parse(self, text: str) -> Value:
        """The value that the text stands for; `ConfigError` names setting and value."""
        try:
            return self.kind.parse(text)
        except ValueError as error:
            shown = "[hidden]" if self.is_sensitive else text
            raise ConfigError(f"Invalid value {shown} for {self.name}: {error}.") from None

    def check(self, value: Any) -> None:
        """`ConfigError` if a value that is not text is not valid."""
        try:
            self.kind.check(value)
        except ValueError as error:
            raise ConfigError(f"Invalid value {value} for {self.name}: {error}.") from None

    def render(self, value: Value) -> str | None:
        """The value as DescribeConfigs shows it; None if there is none."""
        return None if value is None else self.kind.render(value)

    def __repr__(self) -> str:
        return f"<Setting {self.name}>"


setting = Setting
"""Reads better where settings are declared."""


class Synonym(NamedTuple):
    """One of the places where a value could come from, as DescribeConfigs lists them."""

    name: str
    value: str | None
    source: Source


class DescribedValue(NamedTuple):
    """All that DescribeConfigs tells about one setting."""

    name: str
    value: str | None
    source: Source
    synonyms: tuple[Synonym, ...]
    read_only: bool
    sensitive: bool
    type: ConfigType
    doc: str | None
