"""Share groups: groups whose members share the records of a partition among them."""

from __future__ import annotations

from barnabas.base.settings.kinds import Int, List, Short, String
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, LOW, setting
from barnabas.base.settings.units import HOUR, MINUTE, KiB, MiB

SETTINGS = (
    setting(
        "group.share.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of a share group that is silent for this long is removed.",
    ),
    setting(
        "group.share.min.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="The lowest session timeout that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.session.timeout.ms",
        Int(1),
        default=1 * MINUTE,
        doc="The highest session timeout that a share group's own settings may choose.",
    ),
    setting(
        "group.share.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often a member of a share group is told to send heartbeats.",
    ),
    setting(
        "group.share.min.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="The lowest heartbeat interval that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.heartbeat.interval.ms",
        Int(1),
        default=15_000,
        doc="The highest heartbeat interval that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.size",
        Int(1, 1000),
        default=200,
        doc="How many members a share group may have.",
    ),
    setting(
        "group.share.assignors",
        List(),
        default=("simple",),
        doc="How partitions are shared out among the members of share groups; exactly one.",
    ),
    setting(
        "group.share.assignment.interval.ms",
        Int(0),
        default=1000,
        update=CLUSTER_WIDE,
        doc="The least time between two assignments of a share group.",
    ),
    setting(
        "group.share.min.assignment.interval.ms",
        Int(0),
        default=0,
        doc="The lowest assignment interval that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.assignment.interval.ms",
        Int(0),
        default=15_000,
        doc="The highest assignment interval that a share group's own settings may choose.",
    ),
    setting(
        "group.share.delivery.count.limit",
        Int(2, 10),
        default=5,
        doc="How often a record is delivered before it is given up.",
    ),
    setting(
        "group.share.min.delivery.count.limit",
        Int(2, 5),
        default=2,
        doc="The lowest delivery limit that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.delivery.count.limit",
        Int(5, 25),
        default=10,
        doc="The highest delivery limit that a share group's own settings may choose.",
    ),
    setting(
        "group.share.record.lock.duration.ms",
        Int(1000, 1 * HOUR),
        default=30_000,
        doc="How long a member that was given a record has it to itself.",
    ),
    setting(
        "group.share.min.record.lock.duration.ms",
        Int(1000, 30_000),
        default=15_000,
        doc="The shortest lock that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.record.lock.duration.ms",
        Int(30_000, 1 * HOUR),
        default=1 * MINUTE,
        doc="The longest lock that a share group's own settings may choose.",
    ),
    setting(
        "group.share.partition.max.record.locks",
        Int(100, 10_000),
        default=2000,
        doc="How many records of a partition may be locked at once.",
    ),
    setting(
        "group.share.min.partition.max.record.locks",
        Int(100, 2000),
        default=100,
        doc="The lowest limit on locks that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.partition.max.record.locks",
        Int(2000, 10_000),
        default=4000,
        doc="The highest limit on locks that a share group's own settings may choose.",
    ),
    setting(
        "group.share.max.share.sessions",
        Int(1),
        default=2000,
        doc="How many share sessions a broker remembers.",
    ),
    setting(
        "group.share.initialize.retry.interval.ms",
        Int(1),
        default=30_000,
        importance=LOW,
        internal=True,
        doc="How long to wait before setting up a share group's state is tried again.",
    ),
    setting(
        "group.share.persister.class.name",
        String(),
        default="org.apache.kafka.server.share.persister.DefaultStatePersister",
        internal=True,
        doc="The class that keeps the state of share groups.",
    ),
    setting(
        "share.coordinator.threads",
        Int(1),
        default=1,
        doc="How many threads work for the state of share groups, in brokers that have such "
        "threads.",
    ),
    setting(
        "share.coordinator.append.linger.ms",
        Int(-1),
        default=-1,
        doc="How long changes of share groups are gathered before they are written; -1 "
        "adapts to the load.",
    ),
    setting(
        "share.coordinator.cached.buffer.max.bytes",
        Int(512 * KiB),
        default=1 * MiB + 12,
        update=CLUSTER_WIDE,
        doc="The largest write buffer that is kept for use again.",
    ),
    setting(
        "share.coordinator.load.buffer.size",
        Int(1),
        default=5 * MiB,
        importance=HIGH,
        doc="How many bytes are read at once when a share group's state is loaded.",
    ),
    setting(
        "share.coordinator.snapshot.update.records.per.snapshot",
        Int(0, 500),
        default=500,
        doc="How many changes are written between two full states.",
    ),
    setting(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        Int(1),
        default=5 * MINUTE,
        importance=LOW,
        internal=True,
        doc="How often the full state of a quiet partition is written.",
    ),
    setting(
        "share.coordinator.write.timeout.ms",
        Int(1),
        default=5000,
        importance=HIGH,
        doc="How long a change of a share group waits until all replicas in sync have it.",
    ),
    setting(
        "share.coordinator.state.topic.num.partitions",
        Int(1),
        default=50,
        importance=HIGH,
        doc="How many partitions the topic of share-group state gets when it is created.",
    ),
    setting(
        "share.coordinator.state.topic.replication.factor",
        Short(1),
        default=3,
        importance=HIGH,
        doc="How many replicas the topic of share-group state gets when it is created.",
    ),
    setting(
        "share.coordinator.state.topic.min.isr",
        Short(1),
        default=2,
        importance=HIGH,
        doc="How many replicas of the topic of share-group state must be in sync for a write.",
    ),
    setting(
        "share.coordinator.state.topic.segment.bytes",
        Int(1),
        default=100 * MiB,
        importance=HIGH,
        doc="Size of segments of the topic of share-group state.",
    ),
    setting(
        "share.coordinator.state.topic.compression.codec",
        Int(),
        default=0,
        importance=HIGH,
        doc="Codec of the topic of share-group state, as its number.",
    ),
    setting(
        "share.coordinator.state.topic.prune.interval.ms",
        Int(1),
        default=5 * MINUTE,
        importance=LOW,
        internal=True,
        doc="How often records that nobody needs are removed from the topic of share-group state.",
    ),
)
