"""Group settings: settings of one group; where one is not set, the broker's counts."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Int, OffsetReset, String
from barnabas.base.settings.model import setting
from barnabas.base.settings.units import HOUR

SETTINGS = (
    setting(
        "consumer.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of this consumer group that is silent for this long is removed.",
    ),
    setting(
        "consumer.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often members of this consumer group are told to send heartbeats.",
    ),
    setting(
        "consumer.assignment.interval.ms",
        Int(0),
        default=1000,
        doc="The least time between two assignments of this consumer group.",
    ),
    setting(
        "share.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of this share group that is silent for this long is removed.",
    ),
    setting(
        "share.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often members of this share group are told to send heartbeats.",
    ),
    setting(
        "share.assignment.interval.ms",
        Int(0),
        default=1000,
        doc="The least time between two assignments of this share group.",
    ),
    setting(
        "share.record.lock.duration.ms",
        Int(1000, 1 * HOUR),
        default=30_000,
        doc="How long a member of this share group that was given a record has it to itself.",
    ),
    setting(
        "share.delivery.count.limit",
        Int(2, 10),
        default=5,
        doc="How often this share group is given a record before it is given up.",
    ),
    setting(
        "share.partition.max.record.locks",
        Int(100, 10_000),
        default=2000,
        doc="How many records of a partition this share group may have locked at once.",
    ),
    setting(
        "share.auto.offset.reset",
        OffsetReset(),
        default="latest",
        doc="Where this share group begins in a partition that it has not read from.",
    ),
    setting(
        "share.isolation.level",
        String("read_committed", "read_uncommitted"),
        default="read_uncommitted",
        doc="Whether this share group is given records of transactions that were not committed.",
    ),
    setting(
        "share.renew.acknowledge.enable",
        Boolean(),
        default=True,
        doc="Whether members of this share group may ask for more time with a record.",
    ),
    setting(
        "streams.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of this streams group that is silent for this long is removed.",
    ),
    setting(
        "streams.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often members of this streams group are told to send heartbeats.",
    ),
    setting(
        "streams.assignment.interval.ms",
        Int(0),
        default=1000,
        doc="The least time between two assignments of this streams group.",
    ),
    setting(
        "streams.num.standby.replicas",
        Int(0),
        default=0,
        doc="How many spare copies of each task's state this streams group keeps.",
    ),
    setting(
        "streams.initial.rebalance.delay.ms",
        Int(0),
        default=3000,
        doc="How long the first member of this streams group waits for others.",
    ),
)
