"""Quotas: how rates are measured that clients, followers and controllers may not exceed."""

from __future__ import annotations

from barnabas.base.settings.kinds import Class, Int, Long
from barnabas.base.settings.model import CLUSTER_WIDE, LOW, setting

SETTINGS = (
    setting(
        "quota.window.num",
        Int(1),
        default=11,
        importance=LOW,
        doc="How many windows a client's rate is averaged over.",
    ),
    setting(
        "quota.window.size.seconds",
        Int(1),
        default=1,
        importance=LOW,
        doc="How long one window of a client's rate is.",
    ),
    setting(
        "replication.quota.window.num",
        Int(1),
        default=11,
        importance=LOW,
        doc="How many windows the rate of replication is averaged over.",
    ),
    setting(
        "replication.quota.window.size.seconds",
        Int(1),
        default=1,
        importance=LOW,
        doc="How long one window of the rate of replication is.",
    ),
    setting(
        "alter.log.dirs.replication.quota.window.num",
        Int(1),
        default=11,
        importance=LOW,
        doc="How many windows the rate of moves between directories is averaged over.",
    ),
    setting(
        "alter.log.dirs.replication.quota.window.size.seconds",
        Int(1),
        default=1,
        importance=LOW,
        doc="How long one window of the rate of moves between directories is.",
    ),
    setting(
        "controller.quota.window.num",
        Int(1),
        default=11,
        importance=LOW,
        doc="How many windows the rate of changes to topics is averaged over.",
    ),
    setting(
        "controller.quota.window.size.seconds",
        Int(1),
        default=1,
        importance=LOW,
        doc="How long one window of the rate of changes to topics is.",
    ),
    setting(
        "client.quota.callback.class",
        Class(),
        importance=LOW,
        doc="A class that decides which quota applies to a client.",
    ),
    setting(
        "leader.replication.throttled.rate",
        Long(0),
        update=CLUSTER_WIDE,
        internal=True,
        doc="How many bytes a second leaders send to throttled followers; only set at run time.",
    ),
    setting(
        "follower.replication.throttled.rate",
        Long(0),
        update=CLUSTER_WIDE,
        internal=True,
        doc="How many bytes a second throttled followers copy; only set at run time.",
    ),
    setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        Long(0),
        update=CLUSTER_WIDE,
        internal=True,
        doc="How many bytes a second are moved between directories; only set at run time.",
    ),
)
