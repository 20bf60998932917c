"""Log settings: names, sharing, what follows from them."""

from __future__ import annotations

from barnabas.base.settings import TopicConfig
from barnabas.records.compression import Codec
from barnabas.storage.config import DEFAULT_LOG_CONFIG, LogConfig


def test_defaults_are_those_of_a_topic_without_settings() -> None:
    assert LogConfig.of_topic(TopicConfig()) == DEFAULT_LOG_CONFIG


def test_topics_with_the_same_settings_share_one_object() -> None:
    first = LogConfig.of_topic(TopicConfig(retention_ms=5))
    assert LogConfig.of_topic(TopicConfig(retention_ms=5)) is first
    assert first.retention_ms == 5


def test_settings_are_taken_by_name_and_others_ignored() -> None:
    config = LogConfig.of({"segment.bytes": 5, "cleanup.policy": ("compact",), "x.y": 1})
    assert config.segment_bytes == 5
    assert config.is_compacted
    assert not config.is_deleted


def test_rules_for_batches_follow() -> None:
    config = LogConfig(
        compression_type="gzip",
        compression_gzip_level=4,
        message_timestamp_type="LogAppendTime",
        cleanup_policy=("compact", "delete"),
        max_message_bytes=77,
    )
    assert config.rules.codec is Codec.GZIP
    assert config.rules.level == 4
    assert config.rules.log_append_time
    assert config.rules.compact
    assert config.rules.max_message_bytes == 77
    assert LogConfig(compression_type="uncompressed").rules.codec is Codec.NONE
    assert LogConfig(compression_type="producer").rules.codec is None


def test_the_smaller_index_limits_a_segment() -> None:
    assert LogConfig(segment_index_bytes=120).max_index_entries == 9
    assert LogConfig(segment_index_bytes=4).max_index_entries == 1
