"""The settings of a running broker: what its file says, and what was changed since.

A value comes from the first of these layers that has it: the dynamic settings of this broker, the
dynamic settings for all brokers, the properties file and command line, the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.base.settings.kinds import ConfigType, Value
from barnabas.base.settings.legacy import retired_reason, translate
from barnabas.base.settings.listeners import Listeners, resolve_listeners
from barnabas.base.settings.model import ConfigError, DescribedValue, Source, Synonym, Update
from barnabas.base.settings.registry import (
    BROKER_SETTINGS,
    LISTENER_PREFIX,
    broker_setting,
    broker_synonyms,
)
from barnabas.base.settings.values import TypedValues

if TYPE_CHECKING:
    from barnabas.base.properties import Property

_DEFAULTS: dict[str, Value] = {name: s.default for name, s in BROKER_SETTINGS.items()}
_NO_LAYER: Mapping[str, str] = {}

_PLUGIN_PREFIXES = ("rsm.config.", "rlmm.config.", "metrics.context.", "config.providers.")


class BrokerConfig(TypedValues):
    """The settings of one broker, parsed once.  Immutable: a change makes a new one.

    Where several settings decide something together (units of time, old names, listeners), there
    is a property that has decided it.
    """

    __slots__ = (
        "_broker",
        "_cluster",
        "_static",
        "node_id",
        "problems",
        "topic_defaults",
        "warnings",
    )

    def __init__(
        self,
        static: Mapping[str, str],
        *,
        cluster: Mapping[str, str] = _NO_LAYER,
        broker: Mapping[str, str] = _NO_LAYER,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """`static` must already speak of today's names: see `from_properties`."""
        self._static = static
        self._cluster = cluster
        self._broker = broker
        self.warnings = warnings
        """What should be said about the file: unknown and retired names."""
        self.problems: tuple[str, ...] = ()
        """Dynamic values that cannot be used, and are passed over."""
        self.topic_defaults: Any = None
        """A place for `topics.topic_defaults` to remember its answer."""
        self._values = self._parse_all()
        self.node_id = self.int("node.id")

    @classmethod
    def from_properties(
        cls,
        properties: Mapping[str, Property | str] = _NO_LAYER,
        *,
        file: str | None = None,
        overrides: Mapping[str, str] = _NO_LAYER,
    ) -> BrokerConfig:
        """From a properties file's content and what the command line puts over it.

        `ConfigError` names the file, the line where it is known, the setting and its value.
        """
        texts: dict[str, str] = {}
        places: dict[str, str] = {}
        for name, given in properties.items():
            text = given if isinstance(given, str) else given.value
            line = "" if isinstance(given, str) else f", line {given.line}"
            texts[name] = text
            places[name] = f"{file}{line}: " if file else ""
        for name, text in overrides.items():
            texts[name] = text
            places[name] = "override: "
        warnings = [
            places[name] + complaint
            for name in texts
            if (complaint := _complaint(name)) is not None
        ]
        static = translate(texts, warnings.append)
        for name, text in static.items():
            declared = broker_setting(name)
            if declared is not None:
                try:
                    declared.parse(text)
                except ConfigError as error:
                    raise ConfigError(places.get(name, "") + error.message) from None
        config = cls(static, warnings=tuple(warnings))
        config.check()
        return config

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """The same file with other dynamic settings: for all brokers, and for this one.

        Values that cannot be used (they were refused when they were set, so this takes an older or
        newer version's hand) are passed over and named in `problems`.
        """
        return BrokerConfig(self._static, cluster=cluster, broker=broker, warnings=self.warnings)

    def _parse_all(self) -> dict[str, Value]:
        effective = dict(self._static)
        problems = []
        for layer in (self._cluster, self._broker):
            for name, text in layer.items():
                declared = broker_setting(name)
                if declared is not None:
                    try:
                        declared.parse(text)
                    except ConfigError as error:
                        problems.append(error.message)
                        continue
                for other in broker_synonyms(name):
                    if other == name or not name.startswith(LISTENER_PREFIX):
                        effective.pop(other, None)
                effective[name] = text
        self.problems = tuple(problems)
        values = dict(_DEFAULTS)
        for name, text in effective.items():
            declared = broker_setting(name)
            if declared is not None:
                values[name] = declared.parse(text)
        return values

    # Values

    def of_listener(self, listener: str, name: str) -> Value:
        """A setting's value for one listener, where it has one of its own; else the general one."""
        prefixed = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        return self._values[prefixed if prefixed in self._values else name]

    # Values that several settings decide together

    def _first_ms(self, *choices: tuple[str, int]) -> int:
        for name, unit_ms in choices:
            value = self.optional_int(name)
            if value is not None:
                return value * unit_ms
        raise AssertionError("the last of a family has a default")

    @property
    def retention_ms(self) -> int:
        """How long records are kept, by the strongest of the three settings; -1 for ever."""
        retention = self._first_ms(
            ("log.retention.ms", 1),
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", 3_600_000),
        )
        return max(retention, -1)

    @property
    def roll_ms(self) -> int:
        return self._first_ms(("log.roll.ms", 1), ("log.roll.hours", 3_600_000))

    @property
    def roll_jitter_ms(self) -> int:
        return self._first_ms(("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000))

    @property
    def flush_ms(self) -> int:
        return self._first_ms(("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1))

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return self.list("log.dirs") or self.list("log.dir")

    @property
    def metadata_log_dir(self) -> str:
        return self.optional_str("metadata.log.dir") or self.log_dirs[0]

    def listeners(self) -> Listeners:
        """All that the settings say about listeners, checked."""
        advertised = self._values["advertised.listeners"]
        return resolve_listeners(
            listeners=self.list("listeners"),
            advertised=None if advertised is None else self.list("advertised.listeners"),
            protocol_map=self.str("listener.security.protocol.map"),
            controller_names=self.list("controller.listener.names"),
            inter_broker_name=self.optional_str("inter.broker.listener.name"),
            inter_broker_protocol=self.str("security.inter.broker.protocol"),
        )

    def check(self) -> None:
        """`ConfigError` if settings that are fine alone do not go together."""
        self._check_roles()
        if self.retention_ms == 0:
            raise ConfigError("Invalid value 0 for the retention time: must be above 0, or -1.")
        if self.roll_ms < 1:
            raise ConfigError(f"Invalid value {self.roll_ms} for log.roll.ms: must be at least 1.")
        low, high = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
        if self.int(low) > self.int(high):
            raise ConfigError(f"Invalid value {self.int(low)} for {low}: must not exceed {high}.")

    def _check_roles(self) -> None:
        """A broker has clients, a controller has brokers, and they must find each other."""
        resolved, roles = self.listeners(), self.list("process.roles")
        if "broker" in roles and not resolved.broker:
            raise ConfigError("Invalid listeners: a broker needs one that is not a controller's.")
        if self.optional_str("zookeeper.connect"):
            # One of the brokers is elected, and found there.
            if "broker" not in roles:
                raise ConfigError(
                    "Invalid process.roles: with zookeeper.connect every node is a broker."
                )
            if resolved.controller:
                raise ConfigError(
                    "Invalid value for controller.listener.names: with zookeeper.connect the "
                    "controller has no listener of its own."
                )
            for name in ("controller.quorum.bootstrap.servers", "controller.quorum.voters"):
                if self.list(name):
                    raise ConfigError(
                        f"Invalid configuration: zookeeper.connect and {name} are both given. "
                        "The controller is found in ZooKeeper or at a fixed place: leave one out."
                    )
            return
        if "broker" not in roles and not resolved.controller:
            raise ConfigError(
                "Invalid listeners: a controller needs one that controller.listener.names names."
            )
        servers = "controller.quorum.bootstrap.servers"
        if "controller" not in roles and not (
            self.list(servers) or self.list("controller.quorum.voters")
        ):
            raise ConfigError(
                f"Invalid value for {servers}: a broker without a controller beside it "
                "needs to be told where the controller is."
            )

    # DescribeConfigs

    def describe(self, name: str, *, cluster_only: bool = False) -> DescribedValue:
        """All that DescribeConfigs tells about a setting, set or not, declared or not.

        `cluster_only` is for the description of all brokers together: dynamic defaults alone.
        """
        declared = broker_setting(name)
        sensitive = declared is None or declared.is_sensitive
        synonyms = self.synonyms(name, sensitive=sensitive)
        if cluster_only:
            synonyms = [s for s in synonyms if s.source is Source.DYNAMIC_DEFAULT_BROKER]
        shown = None
        if declared is not None and not sensitive:
            text = self._cluster[name] if cluster_only and name in self._cluster else None
            shown = declared.render(
                self._values.get(name) if text is None else declared.parse(text)
            )
        exact = BROKER_SETTINGS.get(name)
        return DescribedValue(
            name=name,
            value=shown,
            source=synonyms[0].source if synonyms else Source.DEFAULT,
            synonyms=tuple(synonyms),
            read_only=exact is None or exact.update is Update.READ_ONLY,
            sensitive=sensitive,
            type=ConfigType.UNKNOWN if declared is None else declared.type,
            doc=None if declared is None else declared.doc,
        )

    def described_names(self, *, cluster_only: bool = False) -> Iterable[str]:
        """What DescribeConfigs lists when it is asked for everything."""
        if cluster_only:
            return self._cluster
        shown = dict.fromkeys(name for name, s in BROKER_SETTINGS.items() if not s.is_internal)
        for layer in (self._static, self._cluster, self._broker):
            shown.update(dict.fromkeys(layer))
        return shown

    def synonyms(self, name: str, *, sensitive: bool = False) -> list[Synonym]:
        """Where a value could come from, the strongest first; the values are as they were set."""
        names = broker_synonyms(name)
        found = [
            Synonym(other, None if sensitive else layer[other], source)
            for layer, source in (
                (self._broker, Source.DYNAMIC_BROKER),
                (self._cluster, Source.DYNAMIC_DEFAULT_BROKER),
                (self._static, Source.STATIC_BROKER),
                (_DEFAULT_TEXTS, Source.DEFAULT),
            )
            for other in names
            if other in layer
        ]
        while found and found[0].name != name:  # those say nothing about this very name
            del found[0]
        return found

    def __repr__(self) -> str:
        return f"<BrokerConfig of node {self.node_id}>"


def _default_texts() -> dict[str, str]:
    return {
        name: setting.kind.render(setting.default)
        for name, setting in BROKER_SETTINGS.items()
        if setting.default is not None and not setting.is_required
    }


_DEFAULT_TEXTS = _default_texts()


def _complaint(name: str) -> str | None:
    """What is to be said about a name in a properties file; None if nothing."""
    if broker_setting(name) is not None or name in _CARRIED or name.startswith(_PLUGIN_PREFIXES):
        return None
    reason = retired_reason(name)
    if reason is not None:
        return f"{name} is not used any more: {reason}."
    return f"{name} is not a setting that is known."


_CARRIED = frozenset(
    (
        "host.name",
        "port",
        "advertised.host.name",
        "advertised.port",
        "log.message.timestamp.difference.max.ms",
        "delegation.token.master.key",
    )
)
