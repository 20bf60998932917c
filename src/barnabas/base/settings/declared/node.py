"""Identity, roles and start-up: who this process is, and how it comes up and goes down."""

from __future__ import annotations

from barnabas.base.settings.kinds import LONG_MAX, Boolean, Class, Int, List, Long, String
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, LOW, setting
from barnabas.base.settings.units import MINUTE

SETTINGS = (
    setting(
        "node.id",
        Int(0),
        default=1,
        required=True,
        importance=HIGH,
        doc="The number of this node, unique in its cluster. Without it the value of "
        "broker.id counts.",
    ),
    setting("broker.id", Int(), default=-1, importance=HIGH, doc="The older name of node.id."),
    setting(
        "process.roles",
        List("broker", "controller"),
        default=("broker", "controller"),
        required=True,
        importance=HIGH,
        doc="What this process does: broker, controller or both.",
    ),
    setting(
        "broker.rack",
        String(),
        doc="Where the broker stands (a rack, a zone), so that replicas can be spread.",
    ),
    setting(
        "auto.create.topics.enable",
        Boolean(),
        default=True,
        importance=HIGH,
        doc="Whether a topic that does not exist is created when a client asks for its metadata.",
    ),
    setting(
        "delete.topic.enable",
        Boolean(),
        default=True,
        importance=HIGH,
        doc="Whether topics may be deleted at all.",
    ),
    setting(
        "num.partitions",
        Int(1),
        default=1,
        doc="How many partitions a topic gets if its creator does not say.",
    ),
    setting(
        "default.replication.factor",
        Int(),
        default=1,
        doc="How many replicas a partition gets if the topic's creator does not say.",
    ),
    setting(
        "background.threads",
        Int(1),
        default=10,
        update=CLUSTER_WIDE,
        importance=HIGH,
        doc="How many threads do chores in the background.",
    ),
    setting(
        "controlled.shutdown.enable",
        Boolean(),
        default=True,
        doc="Whether a broker that stops hands its leaderships over first.",
    ),
    setting(
        "initial.broker.registration.timeout.ms",
        Int(),
        default=1 * MINUTE,
        doc="How long a starting broker tries to register with the controller before it gives up.",
    ),
    setting(
        "broker.heartbeat.interval.ms",
        Int(),
        default=2000,
        doc="How often a broker tells the controller that it is alive.",
    ),
    setting(
        "broker.session.timeout.ms",
        Int(),
        default=9000,
        doc="How long a silent broker keeps its place before it is fenced.",
    ),
    setting(
        "controller.broker.grace.ms",
        Int(0),
        default=500,
        internal=True,
        doc="How long after the connection of a broker to the controller broke it may be silent "
        "before it is fenced, if its port does not refuse connections; a setting of Barnabas.",
    ),
    setting(
        "server.max.startup.time.ms",
        Long(0),
        default=LONG_MAX,
        internal=True,
        doc="How long starting up may take, for tests.",
    ),
    setting(
        "config.providers",
        List(may_be_empty=True),
        default=(),
        update=CLUSTER_WIDE,
        importance=LOW,
        doc="Names of plug-ins that look up settings elsewhere, such as in a vault.",
    ),
    setting(
        "create.topic.policy.class.name",
        Class(),
        importance=LOW,
        doc="A class that may refuse new topics.",
    ),
    setting(
        "alter.config.policy.class.name",
        Class(),
        importance=LOW,
        doc="A class that may refuse changed settings.",
    ),
    setting(
        "max.request.partition.size.limit",
        Int(1),
        default=2000,
        doc="How many partitions one DescribeTopicPartitions answer may hold.",
    ),
    setting(
        "request.timeout.ms",
        Int(),
        default=30_000,
        importance=HIGH,
        doc="How long this broker waits for an answer when it asks another node.",
    ),
    setting(
        "unstable.api.versions.enable",
        Boolean(),
        default=False,
        importance=HIGH,
        internal=True,
        doc="Whether request versions that are still being designed are offered.",
    ),
    setting(
        "unstable.feature.versions.enable",
        Boolean(),
        default=False,
        importance=HIGH,
        internal=True,
        doc="Whether feature levels that are still being designed are allowed.",
    ),
)
