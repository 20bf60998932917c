"""The settings of one log.  Immutable and shared by the partitions of a topic."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from barnabas.records.compression import Codec
from barnabas.records.validate import ValidationRules
from barnabas.storage.index import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barnabas.base.settings import TopicConfig

_LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Topic settings that storage and replication act on; a field is the setting's name with
    underscores."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    flush_messages: int = _LONG_MAX
    flush_ms: int = _LONG_MAX
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    max_message_bytes: int = 1_048_588
    cleanup_policy: tuple[str, ...] = ("delete",)
    delete_retention_ms: int = 24 * 3600 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _LONG_MAX
    min_cleanable_dirty_ratio: float = 0.5
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = _LONG_MAX
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    rules: ValidationRules = field(init=False, repr=False, compare=False)
    max_index_entries: int = field(init=False, repr=False, compare=False)
    """A segment whose indexes have as many is full."""

    def __post_init__(self) -> None:
        entries = min(
            self.segment_index_bytes // OFFSET_ENTRY_BYTES,
            self.segment_index_bytes // TIME_ENTRY_BYTES - 1,
        )
        object.__setattr__(self, "max_index_entries", max(entries, 1))
        codec = Codec.from_config(self.compression_type)
        levels = {
            Codec.GZIP: self.compression_gzip_level,
            Codec.LZ4: self.compression_lz4_level,
            Codec.ZSTD: self.compression_zstd_level,
        }
        rules = ValidationRules(
            max_message_bytes=self.max_message_bytes,
            segment_bytes=self.segment_bytes,
            compact=self.is_compacted,
            codec=codec,
            level=None if codec is None else levels.get(codec),
            log_append_time=self.message_timestamp_type == "LogAppendTime",
            before_max_ms=self.message_timestamp_before_max_ms,
            after_max_ms=self.message_timestamp_after_max_ms,
        )
        object.__setattr__(self, "rules", rules)

    @property
    def roll_ms(self) -> int:
        """Age at which a segment is closed: compaction must not wait longer than it may."""
        if self.is_compacted:
            return min(self.segment_ms, max(self.max_compaction_lag_ms, 0))
        return self.segment_ms

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Old segments go by age and size."""
        return "delete" in self.cleanup_policy

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> LogConfig:
        """From parsed values by setting name; other settings are ignored, missing ones default."""
        return cls(**_known(settings))

    @classmethod
    def of_topic(cls, topic: TopicConfig) -> LogConfig:
        """One object for all topics that have the same settings."""
        return _of_topic(topic)


_NAMES = {each.name.replace("_", "."): each.name for each in fields(LogConfig) if each.init}


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        field_name: settings[name]
        for name, field_name in _NAMES.items()
        if settings.get(name) is not None
    }


@lru_cache(maxsize=256)
def _of_topic(topic: TopicConfig) -> LogConfig:
    return LogConfig(**{name: getattr(topic, name) for name in _NAMES.values()})


DEFAULT_LOG_CONFIG = LogConfig()
