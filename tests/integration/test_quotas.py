"""Quotas as clients feel them: told how long, made to wait, freed when the quota goes.

What is counted are the throttle times that brokers tell, not the time that passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from cluster_processes import cluster
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaProducer
from quick_clients import PATIENCE_S
from quota_calls import ADDRESS, CLIENT, USER, alter_quota
from wire_client import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

SHORT_BURST = "quota.window.num=2"
"""One second's worth may be used at once."""
MINE = "test"
"""The client id of a `WireClient`."""
KB = 1000


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    with BarnabasProcess(tmp_path_factory.mktemp("limited"), SHORT_BURST) as process:
        create_topics(process.bootstrap, "t")
        yield process


@pytest.fixture
def admin(limited: BarnabasProcess) -> Iterator[WireClient]:
    with WireClient(limited.port) as client:
        yield client


class Sender:
    """librdkafka's producer, and how often it was told to wait."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self.told: list[float] = []
        self.acknowledged = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": client_id,
                "batch.size": 20 * KB,
                "linger.ms": 5,
                "throttle_cb": self._throttled,
            }
        )

    def send(self, count: int) -> None:
        """So many records of about 10 kB, and wait for the answers."""
        before = self.acknowledged
        for _ in range(count):
            self._producer.produce("t", bytes(10 * KB), on_delivery=self._delivered)
        assert self._producer.flush(2 * PATIENCE_S) == 0
        assert self.acknowledged == before + count

    def _throttled(self, event: Any) -> None:
        if event.throttle_time:  # 0 says that it is over
            self.told.append(event.throttle_time)

    def _delivered(self, error: object, _: object) -> None:
        assert error is None, error
        self.acknowledged += 1


def test_a_producer_is_slowed_down_another_is_not_and_without_a_quota_it_is_free(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    alter_quota(admin, CLIENT, "slow", producer_byte_rate=100 * KB)
    slow, free = Sender(limited.bootstrap, "slow"), Sender(limited.bootstrap, "free")

    slow.send(40)
    free.send(40)

    # 400 kB, of which 100 may come at once: the others wait three seconds in all.
    assert sum(slow.told) > 2.0
    assert free.told == []
    alter_quota(admin, CLIENT, "slow", producer_byte_rate=None)
    slow.told.clear()
    slow.send(40)
    assert slow.told == []


def test_a_quota_counts_at_once_for_who_is_already_sending(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    sender = Sender(limited.bootstrap, "known")
    for _ in range(5):
        sender.send(2)
    assert sender.told == []

    alter_quota(admin, CLIENT, "known", producer_byte_rate=100 * KB)
    sender.send(30)
    alter_quota(admin, CLIENT, "known", producer_byte_rate=None)

    assert sum(sender.told) > 1.0


def test_who_waits_is_freed_at_once_when_the_quota_goes(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    alter_quota(admin, CLIENT, "stuck", producer_byte_rate=1)
    stuck = Sender(limited.bootstrap, "stuck")
    stuck.send(1)
    assert stuck.told[0] > 9000

    alter_quota(admin, CLIENT, "stuck", producer_byte_rate=None)

    stuck.send(1)


def test_a_wait_of_months_is_told_as_far_as_can_be_told(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    alter_quota(admin, CLIENT, MINE, producer_byte_rate=1)
    try:
        request = produce_request("t", batch_of(bytes(10_000 * KB)))
        answer = admin.call(request, PRODUCE_VERSION)
    finally:
        with WireClient(limited.port) as other:
            alter_quota(other, CLIENT, MINE, producer_byte_rate=None)

    assert produced(answer)[0] == int(ErrorCode.MESSAGE_TOO_LARGE)
    assert 1_999_999_000 < answer.throttle_time_ms <= 2_000_000_000


def test_a_consumer_gets_everything_in_its_own_time(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    create_topics(limited.bootstrap, "read")
    for _ in range(20):
        produced(admin.call(produce_request("read", batch_of(bytes(20 * KB))), PRODUCE_VERSION))
    alter_quota(admin, CLIENT, "reader", consumer_byte_rate=100 * KB)
    told: list[float] = []
    consumer = Consumer(
        {
            "bootstrap.servers": limited.bootstrap,
            "client.id": "reader",
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "throttle_cb": lambda event: told.append(event.throttle_time),
        }
    )
    try:
        consumer.subscribe(["read"])
        messages: list[Any] = []
        while len(messages) < 20:
            found = consumer.consume(20, timeout=PATIENCE_S)
            assert found, "nothing comes any more"
            messages += found
    finally:
        consumer.close()
        alter_quota(admin, CLIENT, "reader", consumer_byte_rate=None)

    assert [message.error() for message in messages] == [None] * 20
    assert [message.offset() for message in messages] == list(range(20))
    assert told


def test_a_batch_that_never_fits_is_read_all_the_same(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    create_topics(limited.bootstrap, "large")
    admin.call(produce_request("large", batch_of(bytes(50 * KB))), PRODUCE_VERSION)
    alter_quota(admin, USER, None, consumer_byte_rate=10 * KB)
    try:
        first = admin.call(fetch_request("large"), FETCH_VERSION)
        assert len(fetched(first).records) > 50 * KB
        second = admin.call(fetch_request("large"), FETCH_VERSION)
        assert second.responses == []
        assert second.throttle_time_ms > 2000
    finally:
        with WireClient(limited.port) as other:
            alter_quota(other, USER, None, consumer_byte_rate=None)
    third = admin.call(fetch_request("large"), FETCH_VERSION)
    assert len(fetched(third).records) > 50 * KB


def test_kafka_python_sees_that_it_is_throttled(
    limited: BarnabasProcess, admin: WireClient, caplog: pytest.LogCaptureFixture
) -> None:
    alter_quota(admin, CLIENT, "python", producer_byte_rate=100 * KB)
    producer = KafkaProducer(bootstrap_servers=limited.bootstrap, client_id="python")
    try:
        for _ in range(20):
            producer.send("t", bytes(10 * KB)).get(timeout=PATIENCE_S)
    finally:
        producer.close()
        alter_quota(admin, CLIENT, "python", producer_byte_rate=None)

    assert "ProduceResponse throttled by broker" in caplog.text


def create_request(*names: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=30, replication_factor=1) for name in names
        ]
    )


def test_who_makes_too_many_partitions_is_refused_until_some_time_has_passed(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    alter_quota(admin, CLIENT, MINE, controller_mutation_rate=1)
    try:
        answer = admin.call(create_request("many-1", "many-2"), 7)
    finally:
        with WireClient(limited.port) as other:
            alter_quota(other, CLIENT, MINE, controller_mutation_rate=None)

    # Eleven windows of a second: 11 are free, and the first request may owe the rest.
    assert {each.name: each.error_code for each in answer.topics} == {
        "many-1": 0,
        "many-2": int(ErrorCode.THROTTLING_QUOTA_EXCEEDED),
    }
    assert 15_000 < answer.throttle_time_ms <= 19_000
    (again,) = admin.call(create_request("many-2"), 7).topics
    assert again.error_code == 0


def test_connections_that_come_too_soon_are_closed_without_an_answer(
    limited: BarnabasProcess, admin: WireClient
) -> None:
    alter_quota(admin, ADDRESS, "127.0.0.3", connection_creation_rate=1)
    try:
        with (
            WireClient(limited.port, source="127.0.0.3") as first,
            WireClient(limited.port, source="127.0.0.3") as second,
            WireClient(limited.port, source="127.0.0.4") as elsewhere,
        ):
            for client in (first, second, elsewhere):
                client.send(DescribeClientQuotasRequest(), 1)
            assert first.receive_frame()
            assert elsewhere.receive_frame()
            assert second.is_closed()
    finally:
        alter_quota(admin, ADDRESS, "127.0.0.3", connection_creation_rate=None)


def quotas_of(client: WireClient) -> dict[Any, dict[str, float]]:
    answer = client.call(DescribeClientQuotasRequest(), 1)
    assert answer.error_code == 0, answer.error_message
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in answer.entries
    }


def test_quotas_and_credentials_survive_a_restart_and_are_still_enforced(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, SHORT_BURST) as broker:
        create_topics(broker.bootstrap, "t")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
        upsertion = UserScramCredentialUpsertion("alice", credential, b"secret")
        for future in admin.alter_user_scram_credentials([upsertion]).values():
            future.result(PATIENCE_S)
        with WireClient(broker.port) as client:
            alter_quota(client, CLIENT, MINE, producer_byte_rate=KB)
            alter_quota(client, USER, None, request_percentage=150.5)
        broker.stop()
        broker.start()
        with WireClient(broker.port) as client:
            assert quotas_of(client) == {
                (("client-id", MINE),): {"producer_byte_rate": 1000.0},
                (("user", None),): {"request_percentage": 150.5},
            }
            answer = client.call(produce_request("t", batch_of(bytes(5 * KB))), PRODUCE_VERSION)
            assert 3000 < answer.throttle_time_ms < 5000
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        alice = admin.describe_user_scram_credentials(["alice"])["alice"].result(PATIENCE_S)
        assert [(each.mechanism, each.iterations) for each in alice.scram_credential_infos] == [
            (ScramMechanism.SCRAM_SHA_512, 8192)
        ]


def test_every_broker_of_a_cluster_enforces_for_its_own_clients(tmp_path: Path) -> None:
    with cluster(tmp_path, SHORT_BURST, brokers=2) as processes:
        create_topics(processes.bootstrap, "t", partitions=2)
        with WireClient(processes.brokers[0].port) as client:
            alter_quota(client, USER, "ANONYMOUS", producer_byte_rate=KB)
        for broker in processes.brokers.values():
            with WireClient(broker.port) as client:
                answers = []
                for partition in range(2):
                    request = produce_request("t", batch_of(bytes(KB)), partition=partition)
                    client.send(request, PRODUCE_VERSION)
                    answers.append(client.receive(request, PRODUCE_VERSION))
                assert answers[-1].throttle_time_ms > 0
