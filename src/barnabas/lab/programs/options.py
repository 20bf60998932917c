"""What a lab program was told, as values, and what that means to the client library.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.lab.programs.knobs import CONSUMER, PRODUCER, KnobError, read_all

IDEMPOTENT_INFLIGHT_MAX = 5
ASSIGNORS = {
    "coop": "cooperative-sticky",
    "range": "range",
    "rr": "roundrobin",
    "sticky": "cooperative-sticky",
}
LIBRARY_TIMEOUT_MS_MAX = 300_000
"""librdkafka waits no longer for an answer, whatever it is told."""
RECONNECTING = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}
"""As Java's clients: who lost a broker tries every second, where librdkafka takes up to ten."""
POLL_INTERVAL_MS = 300_000
"""Both clients' default; librdkafka wants it to be no less than the session's timeout."""
LOOK_MS = 5000
"""How often a consumer looks whether its topic is there: Java's does not wait for five minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """What both programs are told."""

    topic: str
    local_id: int
    payload_trunc: bool
    log_dir: str
    journal: str | None
    name: str

    @property
    def log_name(self) -> str:
        return "payload.log" if self.local_id < 0 else f"payload-{self.local_id}.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions(SharedOptions):
    """What a producer is told; see `knobs.PRODUCER` for what each means."""

    num_rolls: int
    num_records_per_roll: int
    wait_after_roll: int
    wait_after_send: int
    first_number: int
    acks: str
    max_inflight: int
    idempotent: bool
    is_idempotent_by_default: bool
    batch: int
    linger: int
    retries: int
    delivery_timeout: int
    request_timeout: int
    retry_backoff: int
    retry_max: int

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ProducerOptions:
        """From what was typed, by option names; `KnobError` if that cannot be."""
        values = read_all(PRODUCER, texts)
        if values["acks"] == "-1":
            values["acks"] = "all"
        possible = values["acks"] == "all" and values["max_inflight"] <= IDEMPOTENT_INFLIGHT_MAX
        wanted = values["idempotent"]
        if wanted and not possible:
            raise KnobError(
                f"idempotent: needs acks=all and max-inflight of {IDEMPOTENT_INFLIGHT_MAX} or less"
            )
        values["idempotent"] = possible if wanted is None else wanted
        return cls(is_idempotent_by_default=wanted is None, **values)

    @property
    def explanation(self) -> str | None:
        """What is said of idempotence where nobody asked for it, and it is off."""
        if self.idempotent or not self.is_idempotent_by_default:
            return None
        reason = f"acks={self.acks}" if self.acks != "all" else f"max-inflight={self.max_inflight}"
        return f"idempotence is off: it is not possible with {reason}"

    def config(self) -> dict[str, Any]:
        """In librdkafka's words.  Keys go to partitions as Java's producer puts them."""
        return {
            "acks": self.acks,
            "max.in.flight.requests.per.connection": str(self.max_inflight),
            "enable.idempotence": str(self.idempotent).lower(),
            "batch.size": str(self.batch),
            "linger.ms": str(self.linger),
            "retries": str(self.retries),
            "delivery.timeout.ms": str(max(self.delivery_timeout, self.linger + 1)),
            "request.timeout.ms": str(self.request_timeout),
            "socket.timeout.ms": str(min(self.request_timeout, LIBRARY_TIMEOUT_MS_MAX)),
            "retry.backoff.ms": str(self.retry_backoff),
            "retry.backoff.max.ms": str(max(self.retry_max, self.retry_backoff)),
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": "1000000",
            **RECONNECTING,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOptions(SharedOptions):
    """What a consumer is told; see `knobs.CONSUMER` for what each means."""

    poll_period: int
    wait_after_recv: int
    wait_after_batch: int
    wait_after_record: int
    ack_every_x_msgs: int | None
    ack_after_batch: bool
    wait_cmd_period: int
    idle_exit: int
    group_id: str
    instance_id: str | None
    auto_commit: bool
    ac_interval: int
    fetch_min_bytes: int
    max_poll_recs: int
    assignment_strategy: str
    heartbeat_interval: int
    session_timeout: int
    auto_offset_reset: str

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ConsumerOptions:
        """From what was typed, by option names; `KnobError` if that cannot be."""
        values = read_all(CONSUMER, texts)
        if values["ack_after_batch"]:
            values["ack_every_x_msgs"] = None
        if values["ack_after_batch"] or values["ack_every_x_msgs"] is not None:
            values["auto_commit"] = False
        return cls(**values)

    def config(self) -> dict[str, Any]:
        """In librdkafka's words.

        Positions are stored by us, when the poll after a batch begins: what is committed then is
        what Java's consumer would commit.  Left to itself the library stores a record's position
        as it hands it out, and may commit it before anybody has looked at it.
        """
        config: dict[str, Any] = {
            "group.id": self.group_id,
            "enable.auto.commit": str(self.auto_commit).lower(),
            "enable.auto.offset.store": "false",
            "auto.commit.interval.ms": str(self.ac_interval),
            "fetch.min.bytes": str(self.fetch_min_bytes),
            "partition.assignment.strategy": ASSIGNORS[self.assignment_strategy],
            "heartbeat.interval.ms": str(self.heartbeat_interval),
            "session.timeout.ms": str(self.session_timeout),
            "max.poll.interval.ms": str(max(POLL_INTERVAL_MS, self.session_timeout)),
            "auto.offset.reset": self.auto_offset_reset,
            "allow.auto.create.topics": "true",
            "topic.metadata.refresh.interval.ms": str(LOOK_MS),
            **RECONNECTING,
        }
        if self.instance_id is not None:
            config["group.instance.id"] = self.instance_id
        return config
