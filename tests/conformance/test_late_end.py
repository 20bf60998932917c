"""An EndTxn that was under way too long: sent again, byte for byte, into a later transaction."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.brokers import Broker
from harness.clients import JavaClient, NodeClient
from harness.jvm import Jvm
from harness.lines import LineProcess
from harness.targets import KINDS, TARGETS
from keeping_relay import KeepingRelay
from wire_client import WireClient

from barnabas.base.errors import ErrorCode

END_TXN = 26


@pytest.fixture
def relay() -> Iterator[KeepingRelay]:
    with KeepingRelay(frozenset({END_TXN})) as running:
        yield running


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, relay: KeepingRelay, tmp_path: Path) -> Iterator[Broker]:
    """A broker that clients reach through the relay only."""
    through_relay = f"127.0.0.1:{relay.port}"
    settings = {"advertised.listeners": f"PLAINTEXT://{through_relay}"}
    broker = KINDS[request.param](tmp_path, settings)
    try:
        broker.start()
        relay.target_port = int(broker.bootstrap.rpartition(":")[2])
        broker.bootstrap = through_relay
        yield broker
    finally:
        broker.discard()


def version_of(frame: bytes) -> int:
    version: int = struct.unpack_from(">h", frame, 6)[0]
    return version


def replayed(relay: KeepingRelay, frame: bytes) -> ErrorCode:
    with WireClient(relay.target_port) as raw:
        return ErrorCode(raw.replay(frame).error_code)


def test_the_commit_of_an_earlier_transaction_does_not_commit_a_later_one(
    target: Broker, relay: KeepingRelay, jvm: Jvm, topic: str
) -> None:
    """Java's client with transaction.version 2: each transaction has an epoch of its own."""
    client = JavaClient(jvm, target)
    client.create_topic(topic)
    with client.transactional(topic) as writer:
        writer.begin()
        writer.send(topic, "first")
        writer.commit()
        (late,) = relay.kept_frames
        assert version_of(late) >= 5
        writer.begin()
        writer.send(topic, "second")

        assert replayed(relay, late) is ErrorCode.PRODUCER_FENCED

        writer.abort()
        writer.begin()
        writer.send(topic, "third")
        writer.commit()
    seen = client.consume(topic, count=2, committed=True)
    assert [record.value for record in seen] == [b"first", b"third"]


def test_the_commit_of_a_zombie_does_not_commit_the_transaction_of_its_successor(
    target: Broker, relay: KeepingRelay, node: LineProcess, topic: str
) -> None:
    """kafkajs, which keeps its epoch until a successor takes the next one."""
    client = NodeClient(node, target)
    client.create_topic(topic)
    with client.transactional(topic) as zombie:
        zombie.begin()
        zombie.send(topic, "first")
        zombie.commit()
        (late,) = relay.kept_frames
        assert version_of(late) < 2
        with client.transactional(topic) as successor:
            successor.begin()
            successor.send(topic, "second")

            assert replayed(relay, late) is ErrorCode.INVALID_PRODUCER_EPOCH

            successor.abort()
            successor.begin()
            successor.send(topic, "third")
            successor.commit()
    seen = client.consume(topic, count=2, committed=True)
    assert [record.value for record in seen] == [b"first", b"third"]
