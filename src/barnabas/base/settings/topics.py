"""The settings of a topic: its own where it has them, the broker's elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.base.settings.broker import BrokerConfig
from barnabas.base.settings.kinds import LONG_MAX, Value
from barnabas.base.settings.model import ConfigError, DescribedValue, Setting, Source, Synonym
from barnabas.base.settings.registry import BROKER_SYNONYM, TOPIC_SETTINGS
from barnabas.base.settings.units import DAY, HOUR, MINUTE, GiB, KiB, MiB


class TopicConfig(NamedTuple):
    """What a log and its partition go by.  Fields are the settings' names with underscores.

    The defaults here are those of a broker without any setting.
    """

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = DAY
    file_delete_delay_ms: int = MINUTE
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4 * KiB
    internal_segment_bytes: int | None = None
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = MiB + 12
    message_timestamp_after_max_ms: int = HOUR
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 7 * DAY
    segment_bytes: int = GiB
    """When to roll; `internal.segment.bytes` where that is set."""
    segment_index_bytes: int = 10 * MiB
    segment_jitter_ms: int = 0
    segment_ms: int = 7 * DAY
    unclean_leader_election_enable: bool = False

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Whether time and size limits apply."""
        return "delete" in self.cleanup_policy


FIELD_OF: Mapping[str, str] = {name: name.replace(".", "_") for name in TOPIC_SETTINGS}
assert set(FIELD_OF.values()) == set(TopicConfig._fields), "TopicConfig has a field per setting"


def topic_defaults(config: BrokerConfig) -> TopicConfig:
    """What a topic without settings of its own goes by.  Worked out once for each config."""
    found: TopicConfig | None = config.topic_defaults
    if found is None:
        values: dict[str, Any] = {FIELD_OF[name]: config[b] for name, b in BROKER_SYNONYM.items()}
        values["retention_ms"] = config.retention_ms
        values["segment_ms"] = config.roll_ms
        values["segment_jitter_ms"] = config.roll_jitter_ms
        values["flush_ms"] = config.flush_ms
        found = config.topic_defaults = TopicConfig(**values)
    return found


def resolve_topic(config: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """The settings a topic goes by; `ConfigError` if the value of one of its own is not valid.

    Names that are not declared are passed over: another version may have stored them.
    """
    defaults = topic_defaults(config)
    if not overrides:
        return defaults
    values: dict[str, Any] = {
        FIELD_OF[name]: TOPIC_SETTINGS[name].parse(text)
        for name, text in overrides.items()
        if name in TOPIC_SETTINGS
    }
    if values.get("internal_segment_bytes") is not None:
        values["segment_bytes"] = values["internal_segment_bytes"]
    return defaults._replace(**values)


def topic_setting(name: str) -> Setting:
    """The declaration of a topic setting; `ConfigError` if there is none of that name."""
    found = TOPIC_SETTINGS.get(name)
    if found is None:
        raise ConfigError(f"There is no topic setting called {name}.")
    return found


def validate_topic_config(name: str, text: str) -> Value:
    """The value of one setting; `ConfigError` if name or value is not valid."""
    return topic_setting(name).parse(text)


def validate_topic_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """All settings of a topic, also against each other, as they would be if they were set."""
    for name in overrides:
        topic_setting(name)
    topic = resolve_topic(config, overrides)
    if topic.min_compaction_lag_ms > topic.max_compaction_lag_ms:
        raise ConfigError(
            f"Invalid value {topic.min_compaction_lag_ms} for min.compaction.lag.ms: "
            f"max.compaction.lag.ms is {topic.max_compaction_lag_ms}, which is less."
        )
    if topic.remote_storage_enable:
        _validate_tiered(config, topic)
    return topic


def _validate_tiered(config: BrokerConfig, topic: TopicConfig) -> None:
    if not config.bool("remote.log.storage.system.enable"):
        raise ConfigError(
            "Invalid value true for remote.storage.enable: tiered storage is off in this cluster."
        )
    if topic.cleanup_policy != ("delete",):
        raise ConfigError(
            "Invalid value true for remote.storage.enable: cleanup.policy must be delete alone."
        )
    for local_name, local, whole_name, whole in (
        ("local.retention.ms", topic.local_retention_ms, "retention.ms", topic.retention_ms),
        (
            "local.retention.bytes",
            topic.local_retention_bytes,
            "retention.bytes",
            topic.retention_bytes,
        ),
    ):
        if whole != -1 and local != -2 and (local == -1 or local > whole):
            raise ConfigError(
                f"Invalid value {local} for {local_name}: must not exceed {whole_name}."
            )


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[DescribedValue]:
    """What DescribeConfigs tells about a topic: all settings, or those of `names` that exist."""
    wanted = TOPIC_SETTINGS if names is None else names
    return [
        _describe(config, overrides, TOPIC_SETTINGS[name])
        for name in wanted
        if name in TOPIC_SETTINGS and (name in overrides or not TOPIC_SETTINGS[name].is_internal)
    ]


def _describe(
    config: BrokerConfig, overrides: Mapping[str, str], setting: Setting
) -> DescribedValue:
    name = setting.name
    if name in overrides:
        value = setting.render(setting.parse(overrides[name]))
    else:
        value = setting.render(getattr(topic_defaults(config), FIELD_OF[name]))
    broker_name = BROKER_SYNONYM.get(name)
    synonyms = [] if broker_name is None else config.synonyms(broker_name)
    if name in overrides:
        synonyms.insert(0, Synonym(name, value, Source.DYNAMIC_TOPIC))
    return DescribedValue(
        name=name,
        value=value,
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        synonyms=tuple(synonyms),
        read_only=False,
        sensitive=setting.is_sensitive,
        type=setting.type,
        doc=setting.doc,
    )
