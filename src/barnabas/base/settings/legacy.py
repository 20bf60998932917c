"""Names that Kafka no longer has, or has two of: read as what they meant, or named as retired.

A properties file that served an older broker should start this one.  What an old name said is
carried over where there is something to carry it to; the rest is accepted, and a warning says why
it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable

_ALWAYS_ON = "this is always on"
_NO_ZOOKEEPER_TLS = "the connection to ZooKeeper is not encrypted"
_ONE_FORMAT = "there is one record format and one protocol between brokers"
_NO_ENCODER = "dynamic passwords are kept in the metadata journal"

RETIRED: dict[str, str] = {
    "auto.include.jmx.reporter": "there is no JMX",
    "broker.id.generation.enable": "a node says its id, or is node 1",
    "control.plane.listener.name": "controllers have listeners of their own",
    "controlled.shutdown.max.retries": "a stopping broker asks until it may go",
    "controlled.shutdown.retry.backoff.ms": "a stopping broker asks until it may go",
    "eligible.leader.replicas.enable": "this is a feature level, not a setting",
    "group.coordinator.new.enable": _ALWAYS_ON,
    "group.share.enable": "groups are allowed by group.coordinator.rebalance.protocols",
    "group.share.max.groups": "there is no such limit",
    "inter.broker.protocol.version": _ONE_FORMAT,
    "leader.imbalance.per.broker.percentage": "any imbalance is put right",
    "log.message.downconversion.enable": _ONE_FORMAT,
    "log.message.format.version": _ONE_FORMAT,
    "metadata.log.segment.min.bytes": "the least size of a segment is fixed",
    "offsets.commit.required.acks": "commits wait for all replicas in sync",
    "password.encoder.cipher.algorithm": _NO_ENCODER,
    "password.encoder.iterations": _NO_ENCODER,
    "password.encoder.key.length": _NO_ENCODER,
    "password.encoder.keyfactory.algorithm": _NO_ENCODER,
    "password.encoder.old.secret": _NO_ENCODER,
    "password.encoder.secret": _NO_ENCODER,
    "quota.consumer.default": "default quotas are set at run time",
    "quota.producer.default": "default quotas are set at run time",
    "reserved.broker.max.id": "no ids are reserved",
    "share.fetch.max.fetch.records": "a share fetch names its own limit",
    "zookeeper.clientCnxnSocket": "there is no Java class to load",
    "zookeeper.max.in.flight.requests": "there is no such limit",
    "zookeeper.metadata.migration.enable": "there is nothing to migrate",
    "zookeeper.metadata.migration.min.batch.size": "there is nothing to migrate",
    "zookeeper.sync.time.ms": "nothing is read that could be out of date",
}
"""Old names that are accepted and do nothing, with the reason."""


def retired_reason(name: str) -> str | None:
    """Why an old name does nothing any more; None if it is not an old name."""
    if name.startswith("zookeeper.ssl."):
        return _NO_ZOOKEEPER_TLS
    return RETIRED.get(name)


def translate(texts: dict[str, str], warn: Callable[[str], None]) -> dict[str, str]:
    """The same texts under the names that count today; a newer name is never overruled.

    `node.id` and `broker.id` end up with the same value, as the reference broker shows them.
    """
    found = dict(texts)
    _carry_address(found, warn)
    _carry(found, warn, "log.message.timestamp.difference.max.ms", _TIMESTAMP_BOUNDS)
    _carry(found, warn, "delegation.token.master.key", _TOKEN_KEY)
    if "node.id" in found:
        found["broker.id"] = found["node.id"]
    elif "broker.id" in found:
        found["node.id"] = found["broker.id"]
    return found


_TIMESTAMP_BOUNDS = ("log.message.timestamp.before.max.ms", "log.message.timestamp.after.max.ms")
_TOKEN_KEY = ("delegation.token.secret.key",)


def _carry(
    texts: dict[str, str], warn: Callable[[str], None], old: str, new: tuple[str, ...]
) -> None:
    if old in texts:
        value = texts.pop(old)
        for name in new:
            texts.setdefault(name, value)
        warn(f"{old} is an old name: use {' and '.join(new)}.")


def _carry_address(texts: dict[str, str], warn: Callable[[str], None]) -> None:
    for prefix, new in (("", "listeners"), ("advertised.", "advertised.listeners")):
        host, port = texts.pop(f"{prefix}host.name", None), texts.pop(f"{prefix}port", None)
        if host is None and port is None:
            continue
        where = f"[{host}]" if host is not None and ":" in host else host or ""
        texts.setdefault(new, f"PLAINTEXT://{where}:{(port or '9092').strip()}")
        warn(f"{prefix}host.name and {prefix}port are old names: use {new}.")
