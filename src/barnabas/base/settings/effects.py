"""What Barnabas does with each setting: the one place to edit when that changes.

Every setting of the reference broker is accepted, shown and kept.  `HONOURED` are those that do
what they say today.  For the others `_WAITING` says what they wait for, or why they will never do
anything; the first pattern that fits counts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from barnabas.base.settings.registry import BROKER_SYNONYM

HONOURED = frozenset(
    """
    node.id broker.id broker.rack
    auto.create.topics.enable delete.topic.enable num.partitions default.replication.factor
    max.request.partition.size.limit
    listeners advertised.listeners listener.security.protocol.map controller.listener.names
    socket.listen.backlog.size socket.send.buffer.bytes socket.receive.buffer.bytes
    socket.request.max.bytes connections.max.idle.ms
    max.connections max.connections.per.ip max.connections.per.ip.overrides queued.max.requests
    fetch.max.bytes max.incremental.fetch.session.cache.slots
    log.dirs log.dir metadata.log.dir
    log.segment.bytes log.roll.ms log.roll.hours log.roll.jitter.ms log.roll.jitter.hours
    log.retention.ms log.retention.minutes log.retention.hours log.retention.bytes
    log.retention.check.interval.ms log.segment.delete.delay.ms log.cleanup.policy
    log.index.interval.bytes log.index.size.max.bytes
    log.flush.interval.messages log.flush.interval.ms log.flush.scheduler.interval.ms
    log.flush.offset.checkpoint.interval.ms
    log.message.timestamp.type log.message.timestamp.before.max.ms
    log.message.timestamp.after.max.ms
    message.max.bytes compression.type
    compression.gzip.level compression.lz4.level compression.zstd.level
    producer.id.expiration.ms producer.id.expiration.check.interval.ms
    log.cleaner.enable log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms
    log.cleaner.max.compaction.lag.ms log.cleaner.delete.retention.ms
    min.insync.replicas broker.session.timeout.ms replica.high.watermark.checkpoint.interval.ms
    transaction.max.timeout.ms transactional.id.expiration.ms
    transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.min.isr transaction.state.log.segment.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms
    transaction.remove.expired.transaction.cleanup.interval.ms
    transaction.partition.verification.enable
    add.partitions.to.txn.retry.backoff.ms add.partitions.to.txn.retry.backoff.max.ms
    group.initial.rebalance.delay.ms group.min.session.timeout.ms group.max.session.timeout.ms
    group.max.size group.coordinator.rebalance.protocols group.coordinator.append.linger.ms
    group.consumer.session.timeout.ms group.consumer.heartbeat.interval.ms
    group.consumer.max.size group.consumer.assignors group.consumer.migration.policy
    group.consumer.regex.refresh.interval.ms group.consumer.assignment.interval.ms
    group.consumer.min.session.timeout.ms group.consumer.max.session.timeout.ms
    group.consumer.min.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
    group.consumer.min.assignment.interval.ms group.consumer.max.assignment.interval.ms
    consumer.session.timeout.ms consumer.heartbeat.interval.ms consumer.assignment.interval.ms
    offset.metadata.max.bytes offsets.commit.timeout.ms
    offsets.retention.minutes offsets.retention.check.interval.ms
    offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes
    offsets.topic.compression.codec
    process.roles inter.broker.listener.name request.timeout.ms
    controller.quorum.bootstrap.servers controller.quorum.voters controller.quorum.fetch.max.bytes
    controller.quorum.fetch.snapshot.max.bytes controller.quorum.request.timeout.ms
    controller.quorum.retry.backoff.ms controller.broker.grace.ms controlled.shutdown.enable
    broker.heartbeat.interval.ms initial.broker.registration.timeout.ms
    unclean.leader.election.enable unclean.leader.election.interval.ms
    auto.leader.rebalance.enable leader.imbalance.check.interval.seconds
    zookeeper.connect zookeeper.session.timeout.ms zookeeper.connection.timeout.ms
    zookeeper.set.acl zookeeper.digest.auth
    replica.lag.time.max.ms replica.selector.class replica.socket.timeout.ms
    replica.fetch.min.bytes replica.fetch.max.bytes replica.fetch.response.max.bytes
    replica.fetch.wait.max.ms replica.fetch.backoff.ms
    leader.replication.throttled.rate follower.replication.throttled.rate
    replica.alter.log.dirs.io.max.bytes.per.second
    quota.window.num quota.window.size.seconds
    controller.quota.window.num controller.quota.window.size.seconds
    """.split()  # noqa: SIM905 (read as text, a name a word)
)

_JAVA = "accepted; there is no Java class to load"
_THREADS = "accepted; a broker has one loop thread and needs no number"
_LOADING = "accepted; a log is loaded a mebibyte at a time"
_REPLICATION = "accepted; takes effect with replication"
_SECURITY = "accepted; takes effect with security"
_METRICS = "accepted; takes effect with metrics"
_THROTTLES = "accepted; a throttle of replicas keeps what comes in one second"
_JOURNAL = "accepted; takes effect with controllers of their own"

_WAITING: tuple[tuple[str, str], ...] = (
    ("ssl.provider", _JAVA),
    ("ssl.keymanager.algorithm", _JAVA),
    ("ssl.trustmanager.algorithm", _JAVA),
    ("ssl.secure.random.implementation", _JAVA),
    ("security.providers", _JAVA),
    ("kafka.metrics.*", _JAVA),
    ("metric.reporters", _JAVA),
    ("*.class", _JAVA),
    ("*.policy.class.name", _JAVA),
    ("config.providers", _JAVA),
    ("*purgatory.purge.interval.requests", "accepted; finished requests leave at once"),
    ("num.network.threads", _THREADS),
    ("num.io.threads", _THREADS),
    ("background.threads", _THREADS),
    ("*coordinator*threads", _THREADS),
    ("*.cached.buffer.max.bytes", "accepted; buffers are not kept for use again"),
    (
        "log.flush.start.offset.checkpoint.interval.ms",
        "accepted; a moved start is written down at the next chance",
    ),
    ("log.cleaner.threads", "accepted; one thread compacts"),
    ("log.cleaner.io.buffer.*", "accepted; the cleaner sizes its own buffers"),
    ("log.preallocate", "accepted; files grow as they are written"),
    ("preallocate", "accepted; files grow as they are written"),
    ("num.recovery.threads.per.data.dir", "accepted; a few threads do all slow disk work"),
    ("remote.*", "accepted; there is no tiered storage"),
    ("local.retention.*", "accepted; there is no tiered storage"),
    ("log.local.retention.*", "accepted; there is no tiered storage"),
    ("follower.fetch.last.tiered.offset.enable", "accepted; there is no tiered storage"),
    ("sasl.*", _SECURITY),
    ("ssl.*", _SECURITY),
    ("delegation.token.*", _SECURITY),
    ("authorizer.class.name", "refused: there is no access control yet"),
    ("connections.max.reauth.ms", _SECURITY),
    ("connection.failed.authentication.delay.ms", _SECURITY),
    ("security.inter.broker.protocol", _SECURITY),
    ("early.start.listeners", _SECURITY),
    ("group.share.*", "accepted; takes effect with share groups"),
    ("share.*", "accepted; takes effect with share groups"),
    ("group.streams.*", "accepted; takes effect with streams groups"),
    ("streams.*", "accepted; takes effect with streams groups"),
    ("offsets.load.buffer.size", _LOADING),
    ("transaction.state.log.load.buffer.size", _LOADING),
    ("transaction.two.phase.commit.enable", "accepted; there is no two-phase commit"),
    ("*replication.quota*", _THROTTLES),
    (
        "max.connection.creation.rate",
        "accepted; connections are limited by address (connection_creation_rate), not all together",
    ),
    ("queued.max.request.bytes", "accepted; what one connection may have waiting is bounded"),
    ("metrics.*", _METRICS),
    ("telemetry.*", _METRICS),
    ("controller.*", _JOURNAL),
    ("metadata.*", _JOURNAL),
    ("internal.metadata.*", _JOURNAL),
    ("process.roles", _JOURNAL),
    ("unstable.*", "accepted; versions still being designed are never offered"),
    ("server.max.startup.time.ms", "accepted; starting has no limit"),
    ("log.initial.task.delay.ms", "accepted; periodic work has no first delay"),
    (
        "num.replica.fetchers",
        "accepted; one connection copies from each broker: several would share one loop thread",
    ),
    ("num.replica.alter.log.dirs.threads", "accepted; one log is moved at a time"),
    ("replica.socket.receive.buffer.bytes", "accepted; the kernel sizes its buffers"),
    ("*", _REPLICATION),
)


def effect_of(name: str) -> str:
    """`honoured`, or what the setting waits for."""
    if name in HONOURED or BROKER_SYNONYM.get(name) in HONOURED or name in _TOPIC_ONLY:
        return "honoured"
    return next(reason for pattern, reason in _WAITING if fnmatchcase(name, pattern))


_TOPIC_ONLY = (
    "internal.segment.bytes",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
