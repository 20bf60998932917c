"""Replication: how followers copy leaders, and who may lead."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Int, Long, String
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, setting
from barnabas.base.settings.units import MINUTE, KiB, MiB

SETTINGS = (
    setting(
        "min.insync.replicas",
        Int(1),
        default=1,
        update=CLUSTER_WIDE,
        topic_override="min.insync.replicas",
        importance=HIGH,
        doc="How many replicas must be in sync for a write with acks=all to be taken.",
    ),
    setting(
        "unclean.leader.election.enable",
        Boolean(),
        default=False,
        update=CLUSTER_WIDE,
        topic_override="unclean.leader.election.enable",
        importance=HIGH,
        doc="Whether a replica that may lack acknowledged records can lead when no other can.",
    ),
    setting(
        "unclean.leader.election.interval.ms",
        Long(1),
        default=5 * MINUTE,
        internal=True,
        doc="How often partitions without a leader are checked for an unclean election.",
    ),
    setting(
        "auto.leader.rebalance.enable",
        Boolean(),
        default=True,
        importance=HIGH,
        doc="Whether leadership returns to the first replica of a partition by itself.",
    ),
    setting(
        "leader.imbalance.check.interval.seconds",
        Long(1),
        default=300,
        importance=HIGH,
        doc="How often it is checked whether the first replicas lead their partitions.",
    ),
    setting(
        "num.replica.fetchers",
        Int(1),
        default=1,
        update=CLUSTER_WIDE,
        importance=HIGH,
        doc="How many connections copy from each other broker.",
    ),
    setting(
        "replica.lag.time.max.ms",
        Long(),
        default=30_000,
        importance=HIGH,
        doc="A follower that has not caught up for this long is no longer in sync.",
    ),
    setting(
        "replica.fetch.min.bytes",
        Int(),
        default=1,
        importance=HIGH,
        doc="How many bytes a follower waits for.",
    ),
    setting(
        "replica.fetch.max.bytes",
        Int(0),
        default=1 * MiB,
        doc="How many bytes of each partition a follower asks for at once.",
    ),
    setting(
        "replica.fetch.response.max.bytes",
        Int(0),
        default=10 * MiB,
        doc="How many bytes a follower asks for at once, all partitions together.",
    ),
    setting(
        "replica.fetch.wait.max.ms",
        Int(),
        default=500,
        importance=HIGH,
        doc="How long a follower waits for replica.fetch.min.bytes.",
    ),
    setting(
        "replica.fetch.backoff.ms",
        Int(0),
        default=1000,
        doc="How long a follower waits after a failed fetch.",
    ),
    setting(
        "replica.socket.timeout.ms",
        Int(),
        default=30_000,
        importance=HIGH,
        doc="How long a follower waits for an answer from its leader.",
    ),
    setting(
        "replica.socket.receive.buffer.bytes",
        Int(),
        default=64 * KiB,
        importance=HIGH,
        doc="Size of the kernel's receive buffer for connections to leaders.",
    ),
    setting(
        "replica.high.watermark.checkpoint.interval.ms",
        Long(),
        default=5000,
        importance=HIGH,
        doc="How often high watermarks are written down.",
    ),
    setting(
        "replica.selector.class",
        String(),
        doc="Which replica a consumer should read from; the leader if not set.",
    ),
    setting(
        "controller.socket.timeout.ms",
        Int(),
        default=30_000,
        doc="How long the controller waits for a broker's answer.",
    ),
)
