"""Clients that other people wrote, behind one small interface, so that one test serves them all."""

from __future__ import annotations

import os
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from harness.brokers import Broker
from harness.jvm import Jvm
from harness.lines import LineProcess
from harness.maven import digest, lock, need
from harness.paths import CONFORMANCE
from harness.wire import topics_view

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record, as sent or as received; `offset` is -1 until it has one."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int = 0
    offset: int = -1
    timestamp_type: str = "CreateTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """Where the broker says it put a record."""

    partition: int
    offset: int
    timestamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How to produce, in words that each client's settings are made from."""

    codec: str = "none"
    acks: str = "all"
    idempotent: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else b64decode(value)


class Client:
    """A client library at work against one broker. Errors of the library arrive as ClientError."""

    name: str
    null_headers = True
    """Whether it can send a header without a value."""
    consumer_properties: Mapping[str, str] = {}

    def __init__(self, process: LineProcess, broker: Broker) -> None:
        self._process = process
        self._broker = broker

    def settle(self) -> None:
        """Wait until every broker shows all that its controller has decided so far.

        A broker learns of a change a moment after the controller confirmed it, in order: when it
        shows a topic made now, it shows everything that was changed before.
        """
        if self._broker.changes_show_at_once:
            return
        marker = f"settle-{os.urandom(6).hex()}"
        self.ask("create_topic", topic=marker, partitions=1)
        addresses = self._broker.addresses()
        while not all(marker in topics_view(one) for one in addresses):
            pass  # each look is a round trip; the test's own time limit bounds it
        self.ask("delete_topic", topic=marker)
        while any(marker in topics_view(one) for one in addresses):
            pass

    def ask(self, op: str, **arguments: Any) -> Any:
        return self._process.call(op, bootstrap=self._broker.bootstrap, **arguments)

    def create_topic(self, topic: str, *, partitions: int = 1, **configs: str) -> None:
        """Setting names with underscores for dots."""
        dotted = {name.replace("_", "."): value for name, value in configs.items()}
        self.ask("create_topic", topic=topic, partitions=partitions, configs=dotted)
        self.settle()

    def delete_topic(self, topic: str) -> None:
        self.ask("delete_topic", topic=topic)
        self.settle()

    def add_partitions(self, topic: str, *, total: int) -> None:
        self.ask("add_partitions", topic=topic, total=total)
        self.settle()

    def list_topics(self) -> list[str]:
        topics: list[str] = self.ask("list_topics")
        return topics

    def describe_topic(self, topic: str) -> dict[str, Any]:
        description: dict[str, Any] = self.ask("describe_topic", topic=topic)
        return description

    def describe_configs(self, kind: str, name: str) -> dict[str, dict[str, Any]]:
        configs: dict[str, dict[str, Any]] = self.ask("describe_configs", kind=kind, name=name)
        return configs

    def alter_configs(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        self.ask("alter_configs", kind=kind, name=name, set=dict(configs))
        self.settle()

    def delete_records(self, topic: str, *, partition: int = 0, before: int) -> int:
        """The log start offset afterwards."""
        low: int = self.ask("delete_records", topic=topic, partition=partition, before=before)
        return low

    def offset(self, topic: str, at: str | int, *, partition: int = 0) -> int:
        """`at` is earliest, latest, max_timestamp or a time in milliseconds; -1: none."""
        found = self.ask("offset", topic=topic, partition=partition, at=str(at))
        offset: int = found["offset"]
        return offset

    def produce(self, topic: str, records: Sequence[Record], how: How = How()) -> list[Ack]:
        encoded = [
            {
                "key": _text(record.key),
                "value": _text(record.value),
                "headers": [[name, _text(value)] for name, value in record.headers],
                "timestamp": record.timestamp,
                "partition": record.partition,
            }
            for record in records
        ]
        answers = self.ask("produce", topic=topic, records=encoded, **self._how(how))
        return [Ack(**answer) for answer in answers]

    def _how(self, how: How) -> dict[str, Any]:
        return {"codec": how.codec, "acks": how.acks, "idempotent": how.idempotent}

    def transactional(self, transactional_id: str, *, timeout_ms: int = 60_000) -> Transactional:
        return Transactional(self, transactional_id, timeout_ms)

    def consume(
        self,
        topic: str,
        *,
        count: int,
        start: str | int = "beginning",
        partition: int = 0,
        committed: bool = False,
    ) -> list[Record]:
        """`start` is `beginning`, an offset, or `time:<ms>`. Never asks for a consumer group."""
        where = {"topic": topic, "partition": partition, "from": str(start), "count": count}
        properties = dict(self.consumer_properties)
        if committed:
            properties["isolation.level"] = "read_committed"
        answers = self.ask(
            "consume", **where, properties=properties, isolation_level=int(committed)
        )
        return [
            Record(
                key=_bytes(answer["key"]),
                value=_bytes(answer["value"]),
                headers=tuple((name, _bytes(value)) for name, value in answer["headers"]),
                timestamp=answer["timestamp"],
                timestamp_type=answer["timestamp_type"],
                partition=answer["partition"],
                offset=answer["offset"],
            )
            for answer in answers
        ]


class Transactional:
    """A transactional producer of a client library, until its context ends."""

    def __init__(self, client: Client, transactional_id: str, timeout_ms: int) -> None:
        self._client = client
        self._name = os.urandom(6).hex()
        self._opening = {"transactional_id": transactional_id, "timeout_ms": timeout_ms}

    def __enter__(self) -> Self:
        self._ask("open", **self._opening)
        return self

    def __exit__(self, *_: object) -> None:
        self._ask("close")

    def _ask(self, step: str, **arguments: Any) -> None:
        self._client.ask(f"txn_{step}", name=self._name, **arguments)

    def begin(self) -> None:
        self._ask("begin")

    def send(self, topic: str, value: str) -> None:
        """To partition 0; returns when the broker has it."""
        self._ask("send", topic=topic, value=value)

    def send_offset(self, topic: str, offset: int, group: str) -> None:
        """The position of a group in partition 0."""
        self._ask("offset", topic=topic, offset=offset, group=group)

    def commit(self) -> None:
        self._ask("commit")

    def abort(self) -> None:
        self._ask("abort")


class JavaClient(Client):
    """Apache Kafka's own client, from Maven."""

    name = "java"
    consumer_properties = {"fetch.max.wait.ms": "50"}  # closing waits for the last long poll

    def __init__(self, process: Jvm, broker: Broker) -> None:
        super().__init__(process, broker)

    def _how(self, how: How) -> dict[str, Any]:
        properties = {
            "compression.type": how.codec,
            "acks": how.acks,
            "enable.idempotence": str(how.idempotent).lower(),
            "max.request.size": "1048576",
            "linger.ms": "20",
            **how.properties,
        }
        return {"properties": properties}


class NodeClient(Client):
    """kafkajs, from npm."""

    name = "kafkajs"
    null_headers = False


NODE = CONFORMANCE / "node"


def install_node_packages() -> None:
    """Into `node_modules` beside the program, unless they are there."""
    key = digest((NODE / "package.json").read_bytes())
    installed = NODE / "node_modules" / f".installed-{key}"
    with lock("npm"):
        if installed.exists():
            return
        command = [need("npm"), "install", "--no-audit", "--no-fund", "--loglevel=error"]
        run = subprocess.run(command, cwd=NODE, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"npm failed:\n{run.stdout[-1000:]}{run.stderr[-2000:]}")
        installed.touch()


def start_node(log_path: Path) -> LineProcess:
    """The program behind NodeClient."""
    install_node_packages()
    return LineProcess([need("node"), str(NODE / "line.js")], log_path)
