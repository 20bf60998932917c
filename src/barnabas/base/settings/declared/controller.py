"""Controller and metadata: the journal of cluster metadata, and the controllers that write it."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Int, List, Long, Password, Servers, String
from barnabas.base.settings.model import HIGH, LOW, setting
from barnabas.base.settings.units import DAY, HOUR, MINUTE, GiB, MiB

SETTINGS = (
    setting(
        "controller.listener.names",
        List(may_be_empty=True),
        default=(),
        required=True,
        importance=HIGH,
        doc="The listeners of the controller; brokers use the first.",
    ),
    setting(
        "controller.quorum.voters",
        Servers(with_ids=True),
        default=(),
        importance=HIGH,
        doc="The controllers, as id@host:port, in clusters with a fixed set of voters.",
    ),
    setting(
        "controller.quorum.bootstrap.servers",
        Servers(),
        default=(),
        importance=HIGH,
        doc="Where to find the controllers, as host:port.",
    ),
    setting(
        "controller.quorum.auto.join.enable",
        Boolean(),
        default=False,
        importance=LOW,
        doc="Whether a new controller joins the voters by itself.",
    ),
    setting(
        "controller.quorum.election.timeout.ms",
        Int(0),
        default=1000,
        importance=HIGH,
        doc="How long a voter waits for a leader before it calls an election.",
    ),
    setting(
        "controller.quorum.election.backoff.max.ms",
        Int(0),
        default=1000,
        importance=HIGH,
        doc="The longest pause before a repeated election.",
    ),
    setting(
        "controller.quorum.fetch.timeout.ms",
        Int(0),
        default=2000,
        importance=HIGH,
        doc="How long a voter may hear nothing from the leader, or a leader nothing from a "
        "majority.",
    ),
    setting(
        "controller.quorum.fetch.max.bytes",
        Int(1),
        default=1 * MiB,
        importance=LOW,
        doc="How many bytes of the metadata log are asked for at once.",
    ),
    setting(
        "controller.quorum.fetch.snapshot.max.bytes",
        Int(1),
        default=1 * MiB,
        importance=LOW,
        doc="How many bytes of a metadata snapshot are asked for at once.",
    ),
    setting(
        "controller.quorum.request.timeout.ms",
        Int(0),
        default=2000,
        doc="How long a request to a controller may take.",
    ),
    setting(
        "controller.quorum.retry.backoff.ms",
        Int(0),
        default=20,
        importance=LOW,
        doc="How long to wait before a failed request to a controller is repeated.",
    ),
    setting(
        "controller.quorum.append.linger.ms",
        Int(0),
        default=25,
        doc="How long the controller gathers records before it forces them to disk.",
    ),
    setting(
        "controller.performance.sample.period.ms",
        Long(100),
        default=1 * MINUTE,
        internal=True,
        doc="How often the controller logs how long its work takes.",
    ),
    setting(
        "controller.performance.always.log.threshold.ms",
        Long(0),
        default=2000,
        internal=True,
        doc="Work of the controller that takes longer than this is always logged.",
    ),
    setting(
        "metadata.log.dir",
        String(),
        importance=HIGH,
        doc="The directory of the metadata log; the first of log.dirs if not set.",
    ),
    setting(
        "metadata.log.segment.bytes",
        Int(8 * MiB),
        default=1 * GiB,
        importance=HIGH,
        doc="Roll the metadata log at this size.",
    ),
    setting(
        "metadata.log.segment.ms",
        Long(),
        default=7 * DAY,
        importance=HIGH,
        doc="Roll the metadata log at this age.",
    ),
    setting(
        "metadata.log.max.record.bytes.between.snapshots",
        Long(1),
        default=20 * MiB,
        importance=HIGH,
        doc="Write a snapshot of the metadata after so many bytes of records.",
    ),
    setting(
        "metadata.log.max.snapshot.interval.ms",
        Long(0),
        default=1 * HOUR,
        importance=HIGH,
        doc="Write a snapshot of the metadata at least this often, if anything changed; 0 "
        "for never by time.",
    ),
    setting(
        "metadata.max.idle.interval.ms",
        Int(0),
        default=500,
        importance=LOW,
        doc="How often an idle controller writes an empty record; 0 for never.",
    ),
    setting(
        "metadata.max.retention.bytes",
        Long(),
        default=100 * MiB,
        importance=HIGH,
        doc="Delete old snapshots and segments of the metadata while they are larger than "
        "this together.",
    ),
    setting(
        "metadata.max.retention.ms",
        Long(),
        default=7 * DAY,
        importance=HIGH,
        doc="Delete old snapshots and segments of the metadata at this age.",
    ),
    setting(
        "internal.metadata.log.segment.bytes",
        Int(),
        importance=LOW,
        internal=True,
        doc="A smaller size to roll the metadata log at, for tests.",
    ),
    setting(
        "internal.metadata.max.batch.size.in.bytes",
        Int(),
        default=8 * MiB,
        importance=LOW,
        internal=True,
        doc="The largest batch in the metadata log, for tests.",
    ),
    setting(
        "internal.metadata.delete.delay.millis",
        Long(),
        default=60_000,
        importance=LOW,
        internal=True,
        doc="How long deleted files of the metadata log stay, for tests.",
    ),
    setting(
        "zookeeper.connect",
        String(),
        importance=HIGH,
        internal=True,
        doc="The ZooKeeper servers that hold the journal of a cluster on several machines, "
        "as host:port, comma-separated, with an optional path at the end.",
    ),
    setting(
        "zookeeper.session.timeout.ms",
        Int(1),
        default=18_000,
        internal=True,
        doc="A node that ZooKeeper does not hear of for this long loses what it holds there.",
    ),
    setting(
        "zookeeper.connection.timeout.ms",
        Int(1),
        internal=True,
        doc="How long connecting to ZooKeeper may take; the session timeout if not set.",
    ),
    setting(
        "zookeeper.set.acl",
        Boolean(),
        default=False,
        internal=True,
        doc="Whether only this cluster may change what it keeps in ZooKeeper, and read its "
        "metadata journal there; needs zookeeper.digest.auth.",
    ),
    setting(
        "zookeeper.digest.auth",
        Password(),
        internal=True,
        doc="Name and password for ZooKeeper, as name:password; a setting of Barnabas.",
    ),
)
