"""An EndTxn of librdkafka, captured and sent again later: it ends nothing that it did not begin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Producer
from keeping_relay import KeepingRelay
from quick_clients import read_all, values
from wire_client import WireClient

from barnabas.base.errors import ErrorCode
from barnabas.protocol.apis import ApiKey

PATIENCE_S = 40
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def relay() -> Iterator[KeepingRelay]:
    with KeepingRelay(frozenset({ApiKey.END_TXN})) as running:
        yield running


@pytest.fixture
def broker(relay: KeepingRelay, tmp_path: Path) -> Iterator[BarnabasProcess]:
    """Clients reach it through the relay only."""
    advertised = f"advertised.listeners=PLAINTEXT://127.0.0.1:{relay.port}"
    with BarnabasProcess(tmp_path, advertised) as process:
        relay.target_port = process.port
        create_topics(f"127.0.0.1:{relay.port}", "t")
        yield process


def producer(relay: KeepingRelay) -> Producer:
    made = Producer({"bootstrap.servers": f"127.0.0.1:{relay.port}", "transactional.id": "id"})
    made.init_transactions(PATIENCE_S)
    return made


def send(made: Producer, value: str) -> None:
    """In a new transaction."""
    made.begin_transaction()
    made.produce("t", value, partition=0)
    assert made.flush(PATIENCE_S) == 0


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_the_end_of_a_zombie_does_not_end_the_transaction_of_its_successor(
    broker: BarnabasProcess, relay: KeepingRelay, commit: bool
) -> None:
    zombie = producer(relay)
    send(zombie, "first")
    (zombie.commit_transaction if commit else zombie.abort_transaction)(PATIENCE_S)
    (late,) = relay.kept_frames
    successor = producer(relay)
    send(successor, "second")

    with WireClient(broker.port) as raw:
        assert raw.replay(late).error_code == ErrorCode.INVALID_PRODUCER_EPOCH

    assert b"second" not in committed(broker)
    if commit:
        successor.abort_transaction(PATIENCE_S)
        assert committed(broker) == [b"first"]
    else:
        successor.commit_transaction(PATIENCE_S)
        assert committed(broker) == [b"second"]


def committed(broker: BarnabasProcess) -> list[bytes | None]:
    """Readers go through the relay too: that is where the broker says it is."""
    return values(read_all(broker.bootstrap, "t", isolation_level="read_committed"))
