"""Consumer groups: coordination of consumers, and the offsets they commit."""

from __future__ import annotations

from barnabas.base.settings.kinds import INT_MAX, Int, List, Long, Short, String
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, setting
from barnabas.base.settings.units import MINUTE, KiB, MiB

SETTINGS = (
    setting(
        "group.initial.rebalance.delay.ms",
        Int(),
        default=3000,
        doc="How long the first member of a new group waits for others before partitions "
        "are assigned.",
    ),
    setting(
        "group.min.session.timeout.ms",
        Int(),
        default=6000,
        doc="The shortest session timeout a member of a classic group may ask for.",
    ),
    setting(
        "group.max.session.timeout.ms",
        Int(),
        default=30 * MINUTE,
        doc="The longest session timeout a member of a classic group may ask for.",
    ),
    setting(
        "group.max.size", Int(1), default=INT_MAX, doc="How many members a classic group may have."
    ),
    setting(
        "group.coordinator.rebalance.protocols",
        List("consumer", "classic", "share", "streams"),
        default=("classic", "consumer", "streams"),
        doc="Which kinds of groups are served.",
    ),
    setting(
        "group.coordinator.threads",
        Int(1),
        default=4,
        importance=HIGH,
        doc="How many threads work for groups, in brokers that have such threads.",
    ),
    setting(
        "group.coordinator.background.threads",
        Int(1),
        default=2,
        importance=HIGH,
        doc="How many threads do slow work for groups, such as matching patterns.",
    ),
    setting(
        "group.coordinator.append.linger.ms",
        Int(-1),
        default=-1,
        doc="How long group changes are gathered before they are written; -1 adapts to the load.",
    ),
    setting(
        "group.coordinator.cached.buffer.max.bytes",
        Int(512 * KiB),
        default=1 * MiB + 12,
        update=CLUSTER_WIDE,
        doc="The largest write buffer that is kept for use again.",
    ),
    setting(
        "group.consumer.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="A member of a consumer group that is silent for this long is removed.",
    ),
    setting(
        "group.consumer.min.session.timeout.ms",
        Int(1),
        default=45_000,
        doc="The lowest session timeout that a group's own settings may choose.",
    ),
    setting(
        "group.consumer.max.session.timeout.ms",
        Int(1),
        default=1 * MINUTE,
        doc="The highest session timeout that a group's own settings may choose.",
    ),
    setting(
        "group.consumer.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="How often a member of a consumer group is told to send heartbeats.",
    ),
    setting(
        "group.consumer.min.heartbeat.interval.ms",
        Int(1),
        default=5000,
        doc="The lowest heartbeat interval that a group's own settings may choose.",
    ),
    setting(
        "group.consumer.max.heartbeat.interval.ms",
        Int(1),
        default=15_000,
        doc="The highest heartbeat interval that a group's own settings may choose.",
    ),
    setting(
        "group.consumer.max.size",
        Int(1),
        default=INT_MAX,
        doc="How many members a consumer group may have.",
    ),
    setting(
        "group.consumer.assignors",
        List(),
        default=("uniform", "range"),
        doc="How partitions are shared out among members: the first is used unless a member "
        "asks for another.",
    ),
    setting(
        "group.consumer.migration.policy",
        String("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL", any_case=True),
        default="bidirectional",
        doc="Whether a group with members may change from the classic to the consumer "
        "protocol, or back.",
    ),
    setting(
        "group.consumer.regex.refresh.interval.ms",
        Int(10_000),
        default=10 * MINUTE,
        internal=True,
        doc="How often patterns that groups subscribe to are matched with the topics again.",
    ),
    setting(
        "group.consumer.assignment.interval.ms",
        Int(0),
        default=1000,
        update=CLUSTER_WIDE,
        doc="The least time between two assignments of a consumer group.",
    ),
    setting(
        "group.consumer.min.assignment.interval.ms",
        Int(0),
        default=0,
        doc="The lowest assignment interval that a group's own settings may choose.",
    ),
    setting(
        "group.consumer.max.assignment.interval.ms",
        Int(0),
        default=15_000,
        doc="The highest assignment interval that a group's own settings may choose.",
    ),
    setting(
        "offset.metadata.max.bytes",
        Int(),
        default=4 * KiB,
        importance=HIGH,
        doc="The longest text that may be stored with a committed offset.",
    ),
    setting(
        "offsets.commit.timeout.ms",
        Int(1),
        default=5000,
        importance=HIGH,
        doc="How long a commit waits until all replicas in sync have it.",
    ),
    setting(
        "offsets.load.buffer.size",
        Int(1),
        default=5 * MiB,
        importance=HIGH,
        doc="How many bytes are read at once when a group's state is loaded.",
    ),
    setting(
        "offsets.retention.minutes",
        Int(1),
        default=10_080,
        importance=HIGH,
        doc="How long offsets are kept after a group has become empty.",
    ),
    setting(
        "offsets.retention.check.interval.ms",
        Long(1),
        default=10 * MINUTE,
        importance=HIGH,
        doc="How often old offsets are looked for.",
    ),
    setting(
        "offsets.topic.num.partitions",
        Int(1),
        default=50,
        importance=HIGH,
        doc="How many partitions the topic of committed offsets gets when it is created.",
    ),
    setting(
        "offsets.topic.replication.factor",
        Short(1),
        default=3,
        importance=HIGH,
        doc="How many replicas the topic of committed offsets gets when it is created.",
    ),
    setting(
        "offsets.topic.segment.bytes",
        Int(1),
        default=100 * MiB,
        importance=HIGH,
        doc="Size of segments of the topic of committed offsets; small ones load sooner.",
    ),
    setting(
        "offsets.topic.compression.codec",
        Int(),
        default=0,
        importance=HIGH,
        doc="Codec of the topic of committed offsets, as its number.",
    ),
)
