from __future__ import annotations

from typing import Any

from barnabas.broker.net.planes import Planes, is_link, link_client_id
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import request_frame
from barnabas.protocol.messages.api_versions import ApiVersionsRequest


class Recorder:
    """In the place of `Requests`."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def handle(self, connection: Any, data: bytearray, view: memoryview, a: int, b: int) -> None:
        self.frames.append(bytes(view[a:b]))


class FakeConnection:
    def __init__(self, requests: Any) -> None:
        self.requests = requests
        self.closed = False

    def close(self) -> None:
        self.closed = True


def frame(client_id: str | None) -> bytes:
    described = api(ApiKey.API_VERSIONS)
    return request_frame(ApiVersionsRequest(), described, 3, 1, client_id)[4:]


def give(connection: FakeConnection, data: bytes) -> None:
    buffer = bytearray(data)
    connection.requests.handle(connection, buffer, memoryview(buffer), 0, len(buffer))


def test_a_broker_on_its_way_to_the_controller_stays_with_the_controller() -> None:
    controller = Recorder()
    planes = Planes(controller)  # type: ignore[arg-type]
    connection = FakeConnection(planes)
    give(connection, frame(link_client_id(3)))
    give(connection, frame("anything"))
    assert len(controller.frames) == 2


def test_everybody_else_stays_with_the_broker() -> None:
    controller, broker = Recorder(), Recorder()
    planes = Planes(controller)  # type: ignore[arg-type]
    planes.broker = broker  # type: ignore[assignment]
    for client_id in ("rdkafka", None, "", "broker-3"):
        connection = FakeConnection(planes)
        give(connection, frame(client_id))
        give(connection, frame(link_client_id(3)))
    assert len(broker.frames) == 8
    assert controller.frames == []


def test_nonsense_is_the_brokers_to_complain_about() -> None:
    planes = Planes(Recorder())  # type: ignore[arg-type]
    broker = planes.broker = Recorder()  # type: ignore[assignment]
    give(FakeConnection(planes), b"\xff" * 12)
    assert len(broker.frames) == 1


def test_while_the_broker_starts_its_clients_are_sent_away() -> None:
    controller = Recorder()
    planes = Planes(controller)  # type: ignore[arg-type]
    client, link = FakeConnection(planes), FakeConnection(planes)
    give(client, frame("rdkafka"))
    give(link, frame(link_client_id(1)))
    assert client.closed
    assert not link.closed
    assert len(controller.frames) == 1


def test_a_link_is_known_by_its_client_id() -> None:
    assert is_link(link_client_id(12))
    assert not is_link("broker-12")
    assert not is_link(None)
