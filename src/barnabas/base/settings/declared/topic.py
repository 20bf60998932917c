"""Topic settings: settings of one topic; where one is not set, the broker's counts."""

from __future__ import annotations

from barnabas.base.settings.kinds import (
    LONG_MAX,
    Boolean,
    Double,
    Int,
    List,
    Long,
    String,
    ThrottledReplicas,
)
from barnabas.base.settings.model import setting
from barnabas.base.settings.units import DAY, HOUR, MINUTE, GiB, KiB, MiB

SETTINGS = (
    setting(
        "cleanup.policy",
        List("compact", "delete", may_be_empty=True),
        default=("delete",),
        doc="What happens to old records: delete, compact (keep the newest of each key), "
        "both, or nothing if empty.",
    ),
    setting(
        "compression.type",
        String("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        default="producer",
        doc="How records are stored: producer keeps what the producer sent, others compress again.",
    ),
    setting(
        "compression.gzip.level",
        Int(1, 9, also=-1),
        default=-1,
        doc="Effort of gzip, when the broker compresses; -1 for the library's own default.",
    ),
    setting(
        "compression.lz4.level",
        Int(1, 17),
        default=9,
        doc="Effort of lz4, when the broker compresses.",
    ),
    setting(
        "compression.zstd.level",
        Int(-131_072, 22),
        default=3,
        doc="Effort of zstd, when the broker compresses.",
    ),
    setting(
        "delete.retention.ms",
        Long(0),
        default=1 * DAY,
        doc="How long a tombstone (a null value) stays after compaction, so that readers see it.",
    ),
    setting(
        "file.delete.delay.ms",
        Long(0),
        default=1 * MINUTE,
        doc="How long a deleted file stays, renamed, so that running reads can end.",
    ),
    setting(
        "flush.messages",
        Long(1),
        default=LONG_MAX,
        doc="Force the partition to disk after so many records.",
    ),
    setting(
        "flush.ms",
        Long(0),
        default=LONG_MAX,
        doc="Force the partition to disk when a record has waited this long.",
    ),
    setting(
        "follower.replication.throttled.replicas",
        ThrottledReplicas(),
        default=(),
        doc="Replicas whose followers are slowed down, as partition:broker pairs, or * for all.",
    ),
    setting(
        "leader.replication.throttled.replicas",
        ThrottledReplicas(),
        default=(),
        doc="Replicas whose leaders are slowed down, as partition:broker pairs, or * for all.",
    ),
    setting(
        "index.interval.bytes",
        Int(0),
        default=4 * KiB,
        doc="Add an index entry about every so many bytes.",
    ),
    setting(
        "internal.segment.bytes",
        Int(),
        internal=True,
        doc="A segment size below the allowed least, for tests.",
    ),
    setting(
        "local.retention.bytes",
        Long(-2),
        default=-2,
        doc="How many bytes of a partition are also kept here when tiered; -2 as many as "
        "retention.bytes.",
    ),
    setting(
        "local.retention.ms",
        Long(-2),
        default=-2,
        doc="How long a moved segment is also kept here; -2 as long as retention.ms.",
    ),
    setting(
        "max.compaction.lag.ms",
        Long(1),
        default=LONG_MAX,
        doc="A log is compacted at the latest when a record reaches this age.",
    ),
    setting(
        "min.compaction.lag.ms",
        Long(0),
        default=0,
        doc="A record is not compacted away before this age.",
    ),
    setting(
        "min.cleanable.dirty.ratio",
        Double(0, 1),
        default=0.5,
        doc="Compact a log when this share of it was written since the last time.",
    ),
    setting(
        "max.message.bytes",
        Int(0),
        default=1 * MiB + 12,
        doc="The largest record batch, as compressed, that is taken.",
    ),
    setting(
        "message.timestamp.type",
        String("CreateTime", "LogAppendTime"),
        default="CreateTime",
        doc="Whether a record's time is its creation (CreateTime) or its arrival (LogAppendTime).",
    ),
    setting(
        "message.timestamp.before.max.ms",
        Long(0),
        default=LONG_MAX,
        doc="How far a record's time may lie before the broker's.",
    ),
    setting(
        "message.timestamp.after.max.ms",
        Long(0),
        default=1 * HOUR,
        doc="How far a record's time may lie after the broker's.",
    ),
    setting(
        "min.insync.replicas",
        Int(1),
        default=1,
        doc="How many replicas must be in sync for a write with acks=all to be taken.",
    ),
    setting(
        "preallocate",
        Boolean(),
        default=False,
        doc="Whether a new segment's file is given its full size at once.",
    ),
    setting(
        "remote.log.copy.disable",
        Boolean(),
        default=False,
        doc="Whether no more segments are moved to tiered storage.",
    ),
    setting(
        "remote.log.delete.on.disable",
        Boolean(),
        default=False,
        doc="Whether moved segments are deleted when tiered storage is switched off.",
    ),
    setting(
        "remote.storage.enable",
        Boolean(),
        default=False,
        doc="Whether segments are moved to tiered storage.",
    ),
    setting(
        "retention.bytes",
        Long(),
        default=-1,
        doc="Delete the oldest segments of a partition while it is larger than this; -1 for "
        "no limit.",
    ),
    setting(
        "retention.ms",
        Long(-1),
        default=7 * DAY,
        doc="Delete a segment when its newest record is this old; -1 for never.",
    ),
    setting(
        "segment.bytes",
        Int(1 * MiB),
        default=1 * GiB,
        doc="Roll to a new segment at this size. Retention deletes whole segments: smaller "
        "ones free disk sooner.",
    ),
    setting(
        "segment.index.bytes",
        Int(4),
        default=10 * MiB,
        doc="The largest an index file may become; a full index rolls the segment.",
    ),
    setting(
        "segment.jitter.ms",
        Long(0),
        default=0,
        doc="Roll earlier by a random time up to this, so that not all logs roll at once.",
    ),
    setting(
        "segment.ms",
        Long(1),
        default=7 * DAY,
        doc="Roll to a new segment when the oldest record in it is this old, even if it is small.",
    ),
    setting(
        "unclean.leader.election.enable",
        Boolean(),
        default=False,
        doc="Whether a replica that may lack acknowledged records can lead when no other can.",
    ),
)
