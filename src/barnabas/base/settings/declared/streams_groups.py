"""Streams groups: groups of Kafka Streams applications."""

from __future__ import annotations

from barnabas.base.settings.kinds import INT_MAX, Int
from barnabas.base.settings.model import CLUSTER_WIDE, setting
from barnabas.base.settings.units import MINUTE

SETTINGS = (
    setting(
        "group.streams.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of a streams group that is silent for this long is removed.",
    ),
    setting(
        "group.streams.min.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="The lowest session timeout that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.max.session.timeout.ms",
        Int(1),
        default=1 * MINUTE,
        doc="The highest session timeout that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often a member of a streams group is told to send heartbeats.",
    ),
    setting(
        "group.streams.min.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="The lowest heartbeat interval that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.max.heartbeat.interval.ms",
        Int(1),
        default=15_000,
        doc="The highest heartbeat interval that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.max.size",
        Int(1),
        default=INT_MAX,
        doc="How many members a streams group may have.",
    ),
    setting(
        "group.streams.num.standby.replicas",
        Int(0),
        default=0,
        doc="How many spare copies of each task's state are kept.",
    ),
    setting(
        "group.streams.max.standby.replicas",
        Int(0),
        default=2,
        doc="The highest number of spare copies that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.initial.rebalance.delay.ms",
        Int(0),
        default=3000,
        doc="How long the first member of a new streams group waits for others.",
    ),
    setting(
        "group.streams.assignment.interval.ms",
        Int(0),
        default=1000,
        update=CLUSTER_WIDE,
        doc="The least time between two assignments of a streams group.",
    ),
    setting(
        "group.streams.min.assignment.interval.ms",
        Int(0),
        default=0,
        doc="The lowest assignment interval that a streams group's own settings may choose.",
    ),
    setting(
        "group.streams.max.assignment.interval.ms",
        Int(0),
        default=15_000,
        doc="The highest assignment interval that a streams group's own settings may choose.",
    ),
)
