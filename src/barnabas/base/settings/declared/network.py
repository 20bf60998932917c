"""Listeners and connections: where the broker can be reached, and how much at once."""

from __future__ import annotations

from barnabas.base.settings.kinds import INT_MAX, Int, List, Long, String
from barnabas.base.settings.model import CLUSTER_WIDE, HIGH, LOW, PER_BROKER, setting
from barnabas.base.settings.units import MINUTE, KiB, MiB

SETTINGS = (
    setting(
        "listeners",
        List(),
        default=("PLAINTEXT://:9092",),
        update=PER_BROKER,
        importance=HIGH,
        doc="Where to listen: name://host:port, comma-separated. An empty host means every "
        "interface.",
    ),
    setting(
        "advertised.listeners",
        List(),
        importance=HIGH,
        doc="The addresses that clients are told to connect to; those of listeners if not set.",
    ),
    setting(
        "listener.security.protocol.map",
        String(),
        default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        update=PER_BROKER,
        importance=LOW,
        doc="Which security protocol each listener speaks, as name:protocol pairs.",
    ),
    setting(
        "inter.broker.listener.name",
        String(),
        doc="The listener over which brokers talk to each other.",
    ),
    setting(
        "security.inter.broker.protocol",
        String("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        default="PLAINTEXT",
        doc="The security protocol between brokers, where no listener is named for that.",
    ),
    setting(
        "early.start.listeners",
        List(may_be_empty=True),
        importance=HIGH,
        doc="Listeners that are opened before access control is ready.",
    ),
    setting(
        "socket.listen.backlog.size",
        Int(1),
        default=50,
        doc="How many connections may wait to be accepted.",
    ),
    setting(
        "socket.send.buffer.bytes",
        Int(),
        default=100 * KiB,
        importance=HIGH,
        doc="Size of the kernel's send buffer for each connection. Unless it is set, or with "
        "-1, the operating system tunes it.",
    ),
    setting(
        "socket.receive.buffer.bytes",
        Int(),
        default=100 * KiB,
        importance=HIGH,
        doc="Size of the kernel's receive buffer for each connection. Unless it is set, or with "
        "-1, the operating system tunes it.",
    ),
    setting(
        "socket.request.max.bytes",
        Int(1),
        default=100 * MiB,
        importance=HIGH,
        doc="The largest request that is read. A client that announces a larger one is "
        "disconnected.",
    ),
    setting(
        "socket.connection.setup.timeout.ms",
        Long(),
        default=10_000,
        doc="How long the broker's own first attempt to connect to a node may take.",
    ),
    setting(
        "socket.connection.setup.timeout.max.ms",
        Long(),
        default=30_000,
        doc="The longest that an attempt to connect may take after failures have doubled the time.",
    ),
    setting(
        "connections.max.idle.ms",
        Long(),
        default=10 * MINUTE,
        doc="A connection on which nothing happens for this long is closed.",
    ),
    setting(
        "connection.failed.authentication.delay.ms",
        Int(0),
        default=100,
        importance=LOW,
        doc="How long a connection stays open after its credentials were refused, to slow "
        "down guessing.",
    ),
    setting(
        "max.connections",
        Int(0),
        default=INT_MAX,
        update=CLUSTER_WIDE,
        doc="How many connections the broker, or with a listener prefix a listener, holds at once.",
    ),
    setting(
        "max.connections.per.ip",
        Int(0),
        default=INT_MAX,
        update=CLUSTER_WIDE,
        doc="How many connections one address may hold at once.",
    ),
    setting(
        "max.connections.per.ip.overrides",
        String(),
        default="",
        update=CLUSTER_WIDE,
        doc="Exceptions from max.connections.per.ip, as host:count pairs.",
    ),
    setting(
        "max.connection.creation.rate",
        Int(0),
        default=INT_MAX,
        update=CLUSTER_WIDE,
        doc="How many new connections are taken in a second.",
    ),
    setting(
        "queued.max.requests",
        Int(1),
        default=500,
        importance=HIGH,
        doc="How many requests may wait before reading from the network pauses.",
    ),
    setting(
        "queued.max.request.bytes",
        Long(),
        default=-1,
        doc="How many bytes of requests may wait before reading from the network pauses; -1 "
        "for no limit.",
    ),
    setting(
        "num.network.threads",
        Int(1),
        default=3,
        update=CLUSTER_WIDE,
        importance=HIGH,
        doc="How many threads read requests and write answers, in brokers that have such threads.",
    ),
    setting(
        "num.io.threads",
        Int(1),
        default=8,
        update=CLUSTER_WIDE,
        importance=HIGH,
        doc="How many threads work on requests, in brokers that have such threads.",
    ),
    setting(
        "fetch.max.bytes",
        Int(1 * KiB),
        default=55 * MiB,
        doc="The largest answer to a fetch, whatever the consumer asks for.",
    ),
    setting(
        "max.incremental.fetch.session.cache.slots",
        Int(0),
        default=1000,
        doc="How many fetch sessions are remembered.",
    ),
    setting(
        "fetch.purgatory.purge.interval.requests",
        Int(),
        default=1000,
        doc="After how many requests finished fetches are dropped from the waiting room.",
    ),
    setting(
        "producer.purgatory.purge.interval.requests",
        Int(),
        default=1000,
        doc="After how many requests finished produces are dropped from the waiting room.",
    ),
    setting(
        "delete.records.purgatory.purge.interval.requests",
        Int(),
        default=1,
        doc="After how many requests finished deletions are dropped from the waiting room.",
    ),
    setting(
        "share.fetch.purgatory.purge.interval.requests",
        Int(),
        default=1000,
        doc="After how many requests finished share fetches are dropped from the waiting room.",
    ),
    setting(
        "telemetry.max.bytes",
        Int(1),
        default=1 * MiB,
        importance=LOW,
        doc="The largest batch of its own metrics that a client may push.",
    ),
    setting(
        "metric.reporters",
        List(may_be_empty=True),
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        update=CLUSTER_WIDE,
        importance=LOW,
        doc="Classes that are told about metrics.",
    ),
    setting(
        "metrics.num.samples",
        Int(1),
        default=2,
        importance=LOW,
        doc="How many samples an average is made of.",
    ),
    setting(
        "metrics.sample.window.ms",
        Long(1),
        default=30_000,
        importance=LOW,
        doc="How long one sample of a metric is.",
    ),
    setting(
        "metrics.recording.level",
        String(),
        default="INFO",
        importance=LOW,
        doc="How much detail is measured: INFO, DEBUG or TRACE.",
    ),
    setting(
        "kafka.metrics.reporters",
        List(may_be_empty=True),
        default=(),
        importance=LOW,
        doc="Classes that report the metrics of the older metrics library.",
    ),
    setting(
        "kafka.metrics.polling.interval.secs",
        Int(1),
        default=10,
        importance=LOW,
        doc="How often the classes of kafka.metrics.reporters look at the metrics.",
    ),
)
