"""Settings that change while the broker runs: in force at once, described truly, kept."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from eventually import eventually
from quick_clients import PATIENCE_S, alter, describe, send, try_to_alter, watermarks
from wire_client import (
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    produce_request,
    produced,
    read_log,
)

from barnabas.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.protocol.messages.incremental_alter_configs import AlterableConfig as Edit
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as EditedResource,
)
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.records.header import read_header

TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5
TOO_LARGE, INVALID_CONFIG, INVALID_REQUEST = 10, 40, 42
TOPICS, BROKERS, LOGGERS = 2, 4, 8
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


@contextmanager
def topic_on(path: Path, *overrides: str) -> Iterator[tuple[BarnabasProcess, WireClient]]:
    """A broker with a topic "t", and a connection to it."""
    with BarnabasProcess(path, *overrides) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            yield broker, client


def described(client: WireClient, kind: int, name: str, key: str) -> Any:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=[key]
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    result = client.call(request, 4).results[0]
    assert result.error_code == 0, result
    (found,) = result.configs
    return found


def value_and_source(client: WireClient, kind: int, name: str, key: str) -> tuple[Any, int]:
    found = described(client, kind, name, key)
    return found.value, found.config_source


def put(client: WireClient, value: bytes) -> int:
    """The error code of a produce."""
    return produced(client.call(produce_request("t", batch_of(value)), PRODUCE_VERSION))[0]


# -- layers


def test_the_strongest_layer_counts_and_each_can_be_taken_away(tmp_path: Path) -> None:
    with topic_on(tmp_path, "log.retention.hours=24") as (broker, client):

        def retention() -> tuple[Any, int]:
            return value_and_source(client, TOPICS, "t", "retention.ms")

        assert retention()[0] == str(DAY_MS)
        alter(broker.bootstrap, "broker", "", log_retention_ms="3000000")
        assert retention() == ("3000000", DYNAMIC_DEFAULT)
        alter(broker.bootstrap, "broker", "1", log_retention_ms="2000000")
        assert retention() == ("2000000", DYNAMIC_BROKER)
        alter(broker.bootstrap, "topic", "t", retention_ms="1000000")
        assert retention() == ("1000000", TOPIC)
        found = described(client, TOPICS, "t", "retention.ms")
        assert [(s.name, s.value, s.source) for s in found.synonyms][:3] == [
            ("retention.ms", "1000000", TOPIC),
            ("log.retention.ms", "2000000", DYNAMIC_BROKER),
            ("log.retention.ms", "3000000", DYNAMIC_DEFAULT),
        ]
        own = described(client, BROKERS, "1", "log.retention.ms")
        assert (own.value, own.config_source) == ("2000000", DYNAMIC_BROKER)
        assert value_and_source(client, BROKERS, "", "log.retention.ms") == (
            "3000000",
            DYNAMIC_DEFAULT,
        )

        alter(broker.bootstrap, "topic", "t", retention_ms=None)
        assert retention() == ("2000000", DYNAMIC_BROKER)
        alter(broker.bootstrap, "broker", "1", log_retention_ms=None)
        assert retention() == ("3000000", DYNAMIC_DEFAULT)
        alter(broker.bootstrap, "broker", "", log_retention_ms=None)
        assert retention()[0] == str(DAY_MS)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_dynamic_settings_survive_a_restart_and_are_in_force_from_the_start(
    tmp_path: Path, end: str
) -> None:
    with topic_on(tmp_path) as (broker, client):
        alter(broker.bootstrap, "broker", "", message_max_bytes="1000")
        alter(broker.bootstrap, "broker", "1", max_connections_per_ip_overrides="127.0.0.9:1")
        alter(broker.bootstrap, "topic", "t", retention_ms="1000000")
        client.close()
        getattr(broker, end)()
        broker.start(same_port=True)

        with WireClient(broker.port) as again:
            assert put(again, bytes(2_000)) == TOO_LARGE
            assert value_and_source(again, TOPICS, "t", "retention.ms") == ("1000000", TOPIC)
            assert value_and_source(again, BROKERS, "1", "message.max.bytes") == (
                "1000",
                DYNAMIC_DEFAULT,
            )
        with WireClient(broker.port, source="127.0.0.9") as first:
            assert put(first, b"x") == 0
            with WireClient(broker.port, source="127.0.0.9") as second:
                assert second.is_closed()


def test_secrets_are_hidden_and_never_logged(tmp_path: Path) -> None:
    secret = "correct horse"
    with topic_on(tmp_path, f"ssl.truststore.password={secret}") as (broker, client):
        name = "listener.name.plaintext.ssl.keystore.password"
        alter(broker.bootstrap, "broker", "1", **{name: secret, "not.known.here": secret})

        for key in (name, "ssl.truststore.password", "not.known.here"):
            found = described(client, BROKERS, "1", key)
            assert found.value is None
            assert found.is_sensitive
            assert [synonym.value for synonym in found.synonyms if synonym.value] == []
        every = describe(broker.bootstrap, "broker", "1")
        assert [name for name, entry in every.items() if entry.value == secret] == []
        assert secret not in broker.log


# -- what is refused


def test_what_cannot_be_changed_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        before = described(client, BROKERS, "1", "log.retention.ms")
        for kind, name, setting, value, code in (
            ("broker", "1", "node.id", "7", INVALID_REQUEST),
            ("broker", "1", "log.dirs", "/elsewhere", INVALID_REQUEST),
            ("broker", "1", "log.retention.ms", "soon", INVALID_REQUEST),
            ("broker", "1", "max.connections", "-1", INVALID_REQUEST),
            ("broker", "17", "log.retention.ms", "1000", INVALID_REQUEST),
            ("topic", "t", "retention.ms", "soon", INVALID_CONFIG),
            ("topic", "t", "cleanup.policy", "shred", INVALID_CONFIG),
            ("topic", "t", "no.such.setting", "1", INVALID_CONFIG),
            ("topic", "none", "retention.ms", "1", 3),
        ):
            mixed = {"log.retention.bytes" if kind == "broker" else "retention.bytes": "77"}
            answer = try_to_alter(broker.bootstrap, kind, name, **mixed, **{setting: value})
            assert answer.error_code == code, (setting, answer)
            assert answer.error_message

        assert described(client, BROKERS, "1", "log.retention.ms") == before
        assert value_and_source(client, BROKERS, "1", "log.retention.bytes") == ("-1", DEFAULT)
        assert value_and_source(client, TOPICS, "t", "retention.bytes") == ("-1", DEFAULT)


def test_a_change_that_is_only_checked_changes_nothing(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (_, client):
        resource = EditedResource(
            resource_type=TOPICS,
            resource_name="t",
            configs=[Edit(name="retention.ms", value="5", config_operation=0)],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)

        assert client.call(request, 1).responses[0].error_code == 0

        assert value_and_source(client, TOPICS, "t", "retention.ms")[0] == str(7 * DAY_MS)


def test_the_older_request_replaces_all_settings_of_a_topic(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        alter(broker.bootstrap, "topic", "t", retention_ms="5000000", max_message_bytes="777")
        resource = AlterConfigsResource(
            resource_type=TOPICS,
            resource_name="t",
            configs=[AlterableConfig(name="max.message.bytes", value="888")],
        )

        answer = client.call(AlterConfigsRequest(resources=[resource]), 2)

        assert answer.responses[0].error_code == 0
        assert value_and_source(client, TOPICS, "t", "max.message.bytes") == ("888", TOPIC)
        assert value_and_source(client, TOPICS, "t", "retention.ms")[0] == str(7 * DAY_MS)
        assert put(client, bytes(1_000)) == TOO_LARGE


def test_items_are_appended_to_lists_and_taken_away(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (_, client):
        for operation, item, expected in (
            (2, "compact", "delete,compact"),
            (3, "delete", "compact"),
            (3, "compact", None),
        ):
            resource = EditedResource(
                resource_type=TOPICS,
                resource_name="t",
                configs=[Edit(name="cleanup.policy", value=item, config_operation=operation)],
            )
            answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
            if expected is not None:
                assert answer.responses[0].error_code == 0
                assert value_and_source(client, TOPICS, "t", "cleanup.policy")[0] == expected


# -- in force at once


def test_the_largest_message_follows_broker_and_topic(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        assert put(client, bytes(5_000)) == 0
        alter(broker.bootstrap, "broker", "", message_max_bytes="1000")
        assert put(client, bytes(5_000)) == TOO_LARGE
        alter(broker.bootstrap, "broker", "1", message_max_bytes="10000")
        assert put(client, bytes(5_000)) == 0
        alter(broker.bootstrap, "topic", "t", max_message_bytes="2000")
        assert put(client, bytes(5_000)) == TOO_LARGE
        alter(broker.bootstrap, "topic", "t", max_message_bytes=None)
        assert put(client, bytes(5_000)) == 0


def test_a_topic_rolls_at_its_new_size(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        folder = tmp_path / "t-0"
        for _ in range(20):
            assert put(client, bytes(1_000)) == 0
        assert len(list(folder.glob("*.log"))) == 1

        alter(broker.bootstrap, "topic", "t", internal_segment_bytes="3000")

        for _ in range(20):
            assert put(client, bytes(1_000)) == 0
        assert len(list(folder.glob("*.log"))) == 11
        assert len(read_log(client, "t")) == 40


def test_a_shorter_retention_deletes_what_was_kept(tmp_path: Path) -> None:
    with topic_on(tmp_path, "log.retention.check.interval.ms=100") as (broker, client):
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("t", b"yesterday", timestamp=int(time.time() * 1000) - DAY_MS)
        assert producer.flush(PATIENCE_S) == 0
        assert watermarks(broker.bootstrap, "t") == (0, 1)

        alter(broker.bootstrap, "broker", "", log_retention_ms=str(HOUR_MS))

        eventually(lambda: watermarks(broker.bootstrap, "t") == (1, 1))
        assert put(client, b"today") == 0
        assert [record.value for record in read_log(client, "t")] == [b"today"]


def test_batches_are_compressed_as_the_topic_now_says(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        assert put(client, b"a" * 500) == 0
        log = tmp_path / "t-0" / f"{0:020}.log"
        plain_bytes = log.stat().st_size
        alter(broker.bootstrap, "topic", "t", compression_type="zstd")
        assert put(client, b"b" * 500) == 0
        alter(broker.bootstrap, "topic", "t", compression_type="gzip")
        assert put(client, b"c" * 500) == 0

        data = log.read_bytes()
        first = read_header(data)
        second = read_header(data, first.size_bytes)
        third = read_header(data, first.size_bytes + second.size_bytes)
        assert [h.codec.name for h in (first, second, third)] == ["NONE", "ZSTD", "GZIP"]
        assert second.size_bytes < plain_bytes / 2
        assert [r.value for r in read_log(client, "t")] == [c * 500 for c in (b"a", b"b", b"c")]


def test_timestamps_are_the_brokers_when_the_topic_now_says_so(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):
        sent_at = int(time.time() * 1000) - HOUR_MS
        producer = Producer({"bootstrap.servers": broker.bootstrap})

        def produce() -> None:
            producer.produce("t", b"x", timestamp=sent_at)
            assert producer.flush(PATIENCE_S) == 0

        produce()
        alter(broker.bootstrap, "topic", "t", message_timestamp_type="LogAppendTime")
        produce()
        alter(broker.bootstrap, "topic", "t", message_timestamp_type=None)
        produce()

        times = [record.timestamp for record in read_log(client, "t")]
        assert times[0] == times[2] == sent_at
        assert times[1] > sent_at + HOUR_MS / 2


def test_a_deleted_topics_files_go_when_the_broker_now_says_so(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, _):
        send(broker.bootstrap, "t", [(None, b"x")])
        alter(broker.bootstrap, "broker", "", log_segment_delete_delay_ms="1")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})

        next(iter(admin.delete_topics(["t"]).values())).result(PATIENCE_S)

        eventually(lambda: not list(tmp_path.glob("t-*")), timeout_s=15)


def test_log_levels_change_at_run_time(tmp_path: Path) -> None:
    with topic_on(tmp_path) as (broker, client):

        def disturb(size: int) -> None:
            """A frame that nobody reads; each size is a line of its own, said once a minute."""
            with WireClient(broker.port) as rude:
                rude.sock.sendall(struct.pack(">ii", size, 0))
                assert rude.is_closed()

        def set_level(level: str) -> None:
            resource = EditedResource(
                resource_type=LOGGERS,
                resource_name="1",
                configs=[Edit(name="barnabas.net", value=level, config_operation=0)],
            )
            answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
            assert answer.responses[0].error_code == 0, answer
            assert value_and_source(client, LOGGERS, "1", "barnabas.net")[0] == level

        set_level("ERROR")
        disturb(1)
        set_level("WARN")
        disturb(2)
        broker.stop()

    assert broker.log.count("closing connection") == 1
