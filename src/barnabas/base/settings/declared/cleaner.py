"""Compaction: how logs with the compact policy are cleaned in the background."""

from __future__ import annotations

from barnabas.base.settings.kinds import DOUBLE_MAX, LONG_MAX, Boolean, Double, Int, Long
from barnabas.base.settings.model import CLUSTER_WIDE, setting
from barnabas.base.settings.units import DAY, KiB, MiB

SETTINGS = (
    setting(
        "log.cleaner.enable", Boolean(), default=True, doc="Whether logs are compacted at all."
    ),
    setting(
        "log.cleaner.threads",
        Int(0),
        default=1,
        update=CLUSTER_WIDE,
        doc="How many threads compact logs.",
    ),
    setting(
        "log.cleaner.backoff.ms",
        Long(0),
        default=15_000,
        update=CLUSTER_WIDE,
        doc="How long to wait before looking again when no log needs compaction.",
    ),
    setting(
        "log.cleaner.min.cleanable.ratio",
        Double(0, 1),
        default=0.5,
        update=CLUSTER_WIDE,
        topic_override="min.cleanable.dirty.ratio",
        doc="Compact a log when this share of it was written since the last time.",
    ),
    setting(
        "log.cleaner.min.compaction.lag.ms",
        Long(0),
        default=0,
        update=CLUSTER_WIDE,
        topic_override="min.compaction.lag.ms",
        doc="A record is not compacted away before this age.",
    ),
    setting(
        "log.cleaner.max.compaction.lag.ms",
        Long(1),
        default=LONG_MAX,
        update=CLUSTER_WIDE,
        topic_override="max.compaction.lag.ms",
        doc="A log is compacted at the latest when a record reaches this age.",
    ),
    setting(
        "log.cleaner.delete.retention.ms",
        Long(0),
        default=1 * DAY,
        update=CLUSTER_WIDE,
        topic_override="delete.retention.ms",
        doc="How long a tombstone (a null value) stays after compaction, so that readers see it.",
    ),
    setting(
        "log.cleaner.dedupe.buffer.size",
        Long(),
        default=128 * MiB,
        update=CLUSTER_WIDE,
        doc="Memory for the keys of the log that is being compacted, all threads together.",
    ),
    setting(
        "log.cleaner.io.buffer.size",
        Int(0),
        default=512 * KiB,
        update=CLUSTER_WIDE,
        doc="Memory for reading and writing while compacting, all threads together.",
    ),
    setting(
        "log.cleaner.io.buffer.load.factor",
        Double(),
        default=0.9,
        update=CLUSTER_WIDE,
        doc="How full the memory for keys may become before a pass ends.",
    ),
    setting(
        "log.cleaner.io.max.bytes.per.second",
        Double(),
        default=DOUBLE_MAX,
        update=CLUSTER_WIDE,
        doc="How many bytes a second compaction may read and write together.",
    ),
)
