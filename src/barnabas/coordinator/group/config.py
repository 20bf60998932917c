"""The settings that groups are run by."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.base.settings.values import TypedValues

INT_MAX = 0x7FFF_FFFF
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a member that does not know its id yet may wait in a join."""
METADATA_REFRESH_MS = 60 * 60 * 1000
"""How long a consumer group trusts what it knows of its topics."""
REGEX_MIN_INTERVAL_MS = 10_000
"""The least time between two resolutions of a group's patterns."""


class MigrationPolicy(enum.Enum):
    """Which way a group that has members may change its protocol."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in {MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL}

    @property
    def allows_downgrade(self) -> bool:
        return self in {MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """One value for each setting; the defaults are those of the declarations."""

    initial_rebalance_delay_ms: int = 3000
    min_session_timeout_ms: int = 6000
    max_session_timeout_ms: int = 30 * 60 * 1000
    max_size: int = INT_MAX
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5000
    consumer_max_size: int = INT_MAX
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    consumer_regex_refresh_ms: int = 10 * 60 * 1000
    consumer_assignment_interval_ms: int = 0
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    offsets_retention_check_ms: int = 10 * 60 * 1000
    serves_consumer_protocol: bool = True

    @classmethod
    def from_settings(cls, values: TypedValues) -> GroupConfig:
        return cls(
            initial_rebalance_delay_ms=values.int("group.initial.rebalance.delay.ms"),
            min_session_timeout_ms=values.int("group.min.session.timeout.ms"),
            max_session_timeout_ms=values.int("group.max.session.timeout.ms"),
            max_size=values.int("group.max.size"),
            consumer_session_timeout_ms=values.int("group.consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms=values.int("group.consumer.heartbeat.interval.ms"),
            consumer_max_size=values.int("group.consumer.max.size"),
            consumer_assignors=values.list("group.consumer.assignors"),
            consumer_migration_policy=MigrationPolicy(
                values.str("group.consumer.migration.policy").lower()
            ),
            consumer_regex_refresh_ms=values.int("group.consumer.regex.refresh.interval.ms"),
            consumer_assignment_interval_ms=values.int("group.consumer.assignment.interval.ms"),
            offset_metadata_max_bytes=values.int("offset.metadata.max.bytes"),
            offsets_retention_ms=values.int("offsets.retention.minutes") * 60_000,
            offsets_retention_check_ms=values.int("offsets.retention.check.interval.ms"),
            serves_consumer_protocol="consumer"
            in values.list("group.coordinator.rebalance.protocols"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What a group's own settings may override."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int

    @classmethod
    def defaults(cls, config: GroupConfig) -> GroupSettings:
        return cls(
            session_timeout_ms=config.consumer_session_timeout_ms,
            heartbeat_interval_ms=config.consumer_heartbeat_interval_ms,
            assignment_interval_ms=config.consumer_assignment_interval_ms,
        )
