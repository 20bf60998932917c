from __future__ import annotations

import socket

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.client.connect import (
    Troubles,
    fetch_metadata,
    open_admin,
    open_consumer,
    open_producer,
)
from barnabas.client.errors import (
    ClientError,
    NotReachableError,
    PropertyError,
    SilentBrokerError,
)


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_a_broker_that_is_not_there_is_noticed_at_once(closed_port: int) -> None:
    servers = f"127.0.0.1:{closed_port}"
    with pytest.raises(NotReachableError) as caught:
        open_admin({"bootstrap.servers": servers}, print)
    assert str(caught.value) == (
        f'broker not reachable at {servers}: is it running? Start one with "barnabas start".'
    )


def test_a_property_that_nobody_knows_is_a_warning() -> None:
    warnings: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        servers = f"127.0.0.1:{server.getsockname()[1]}"
        open_admin({"bootstrap.servers": servers, "foo.bar": "1"}, warnings.append)
    assert warnings == ["client property foo.bar is not known here and is ignored"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("linger.ms", "abc"), ("security.protocol", "xx"), ("acks", "some")],
)
def test_a_value_that_is_refused_is_named_as_it_was_written(name: str, value: str) -> None:
    with pytest.raises(PropertyError) as caught:
        open_producer({"bootstrap.servers": "h:1", name: value}, {}, print)
    assert str(caught.value) == f'client property {name}: "{value}" is not a valid value'


def test_a_value_out_of_range_is_told_the_range() -> None:
    with pytest.raises(PropertyError) as caught:
        open_producer({"bootstrap.servers": "h:1", "max.request.size": "-7"}, {}, print)
    assert str(caught.value) == (
        'client property max.request.size: "-7" is not a valid value: allowed is 1000..1000000000'
    )


def test_settings_that_contradict_each_other_are_explained() -> None:
    properties = {"bootstrap.servers": "h:1", "group.id": "g", "max.poll.interval.ms": "10"}
    with pytest.raises(PropertyError, match=r"max\.poll\.interval\.ms"):
        open_consumer(properties, {}, print)


def test_a_property_of_another_kind_is_an_error_not_a_crash() -> None:
    with pytest.raises(PropertyError, match=r"delivery\.report\.only\.error"):
        open_producer({"bootstrap.servers": "h:1", "delivery.report.only.error": "true"}, {}, print)


class FakeClient:
    """A client whose question fails; `trouble` is what it reports when it is polled."""

    def __init__(self, failure: KafkaError, trouble: KafkaError | None, troubles: Troubles) -> None:
        self.failure = failure
        self.trouble = trouble
        self.troubles = troubles

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> object:
        raise KafkaException(self.failure)

    def poll(self, timeout: float = -1) -> None:
        if self.trouble is not None:
            self.troubles(self.trouble)


def why(failure: KafkaError, trouble: KafkaError | None = None) -> ClientError:
    troubles = Troubles("h:1", print)
    with pytest.raises(ClientError) as caught:
        fetch_metadata(FakeClient(failure, trouble, troubles), troubles, "t")
    return caught.value


def test_silence_is_told_apart_from_a_known_trouble() -> None:
    silence = KafkaError(KafkaError._TRANSPORT)
    password = KafkaError(
        KafkaError._AUTHENTICATION,
        "sasl_plaintext://h:1/bootstrap: wrong password (after 5ms in state AUTH_REQ)",
    )

    assert isinstance(why(silence), SilentBrokerError)
    assert isinstance(why(silence, KafkaError(KafkaError._ALL_BROKERS_DOWN)), SilentBrokerError)
    assert str(why(silence, password)) == "h:1: wrong password"
    assert str(why(KafkaError(KafkaError._CONFLICT, "no"))) == "no"


def test_a_lost_connection_is_told_once_and_only_if_nothing_worse_is_known() -> None:
    warnings: list[str] = []
    troubles = Troubles("h:1", warnings.append)
    for _ in range(3):
        troubles(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        assert len(warnings) <= 1
        troubles.check()
    assert warnings == ["connection to h:1 lost: trying again"]

    warnings.clear()
    troubles = Troubles("h:1", warnings.append)
    troubles(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    troubles(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    with pytest.raises(ClientError, match="wrong password"):
        troubles.check()
    assert warnings == []
