"""Every broker and topic setting, declared once; see the room's README."""

from barnabas.base.settings.broker import BrokerConfig
from barnabas.base.settings.dynamic import validate_dynamic
from barnabas.base.settings.groups import describe_group, group_int, validate_group_configs
from barnabas.base.settings.kinds import ConfigType, Secret, Value
from barnabas.base.settings.listeners import (
    Listener,
    Listeners,
    parse_listeners,
    parse_protocol_map,
    resolve_listeners,
)
from barnabas.base.settings.model import (
    ConfigError,
    DescribedValue,
    Importance,
    Setting,
    Source,
    Synonym,
    Update,
    setting,
)
from barnabas.base.settings.registry import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from barnabas.base.settings.topics import (
    TopicConfig,
    describe_topic,
    resolve_topic,
    topic_defaults,
    validate_topic_config,
    validate_topic_configs,
)

__all__ = [
    "BROKER_SETTINGS",
    "GROUP_SETTINGS",
    "TOPIC_SETTINGS",
    "BrokerConfig",
    "ConfigError",
    "ConfigType",
    "DescribedValue",
    "Importance",
    "Listener",
    "Listeners",
    "Secret",
    "Setting",
    "Source",
    "Synonym",
    "TopicConfig",
    "Update",
    "Value",
    "describe_group",
    "describe_topic",
    "group_int",
    "parse_listeners",
    "parse_protocol_map",
    "resolve_listeners",
    "resolve_topic",
    "setting",
    "topic_defaults",
    "validate_dynamic",
    "validate_group_configs",
    "validate_topic_config",
    "validate_topic_configs",
]
