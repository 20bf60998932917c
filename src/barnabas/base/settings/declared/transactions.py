"""Transactions: transactional ids, their log and their time limits."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Int, Short
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, LOW, setting
from barnabas.base.settings.units import DAY, HOUR, MINUTE, MiB

SETTINGS = (
    setting(
        "transaction.max.timeout.ms",
        Int(1),
        default=15 * MINUTE,
        importance=HIGH,
        doc="The longest transaction a producer may ask for.",
    ),
    setting(
        "transactional.id.expiration.ms",
        Int(1),
        default=7 * DAY,
        importance=HIGH,
        doc="How long an unused transactional id is remembered.",
    ),
    setting(
        "transaction.state.log.num.partitions",
        Int(1),
        default=50,
        importance=HIGH,
        doc="How many partitions the transaction log gets when it is created.",
    ),
    setting(
        "transaction.state.log.replication.factor",
        Short(1),
        default=3,
        importance=HIGH,
        doc="How many replicas the transaction log gets when it is created.",
    ),
    setting(
        "transaction.state.log.min.isr",
        Int(1),
        default=2,
        importance=HIGH,
        doc="How many replicas of the transaction log must be in sync for a write.",
    ),
    setting(
        "transaction.state.log.segment.bytes",
        Int(1),
        default=100 * MiB,
        importance=HIGH,
        doc="Size of segments of the transaction log; small ones load sooner.",
    ),
    setting(
        "transaction.state.log.load.buffer.size",
        Int(1),
        default=5 * MiB,
        importance=HIGH,
        doc="How many bytes are read at once when transactions are loaded.",
    ),
    setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Int(1),
        default=10_000,
        importance=LOW,
        doc="How often transactions that took too long are looked for, to abort them.",
    ),
    setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Int(1),
        default=1 * HOUR,
        importance=LOW,
        doc="How often unused transactional ids are looked for.",
    ),
    setting(
        "transaction.partition.verification.enable",
        Boolean(),
        default=True,
        update=CLUSTER_WIDE,
        importance=LOW,
        doc="Whether a partition takes a transactional write only after the coordinator has "
        "confirmed it.",
    ),
    setting(
        "transaction.two.phase.commit.enable",
        Boolean(),
        default=False,
        importance=LOW,
        doc="Whether transactions may stay prepared for an outside coordinator.",
    ),
    setting(
        "add.partitions.to.txn.retry.backoff.ms",
        Int(1),
        default=20,
        importance=HIGH,
        doc="How long the broker waits before it asks the coordinator again to add a partition.",
    ),
    setting(
        "add.partitions.to.txn.retry.backoff.max.ms",
        Int(0),
        default=100,
        importance=HIGH,
        doc="How long the broker keeps asking the coordinator to add a partition.",
    ),
)
