"""Against a server of a few lines: what is sent, which version, and what goes wrong."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from barnabas.client.errors import ClientError, NotReachableError
from barnabas.client.wire import Connection, connect_any
from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.framing import encode_response_header, frame, read_request_header
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

Answer = Callable[[int, int, int], bytes]
"""The bytes to send for (api key, version, correlation id)."""


def answer(api_key: int, version: int, correlation_id: int) -> bytes:
    if api_key == ApiKey.API_VERSIONS:
        known = [
            ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=9),
            ApiVersion(api_key=ApiKey.FETCH, min_version=100, max_version=200),
        ]
        message: ApiVersionsResponse | MetadataResponse = ApiVersionsResponse(api_keys=known)
    else:
        message = MetadataResponse(cluster_id=f"v{version}")
    header = encode_response_header(APIS[api_key], version, correlation_id)
    return frame(header + message.encode(version))


class OneClient:
    """Serves a single connection on a thread until that closes."""

    def __init__(self, respond: Answer) -> None:
        self._respond = respond
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._server.getsockname()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        client, _ = self._server.accept()
        with client, client.makefile("rb") as stream:
            while length := stream.read(4):
                request = stream.read(struct.unpack(">i", length)[0])
                key, version, correlation_id, _, _ = read_request_header(request)
                reply = self._respond(key, version, correlation_id)
                if not reply:
                    return
                for position in range(0, len(reply), 7):  # in small pieces
                    client.sendall(reply[position : position + 7])

    def close(self) -> None:
        self._thread.join()
        self._server.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], tuple[str, int]]]:
    started: list[OneClient] = []

    def start(respond: Answer) -> tuple[str, int]:
        started.append(OneClient(respond))
        return started[-1].address

    yield start
    for each in started:
        each.close()


Serve = Callable[[Answer], tuple[str, int]]


def test_a_request_goes_out_in_the_highest_version_that_both_know(serve: Serve) -> None:
    with Connection(*serve(answer), timeout_s=5) as connection:
        assert connection.version_of(ApiKey.METADATA) == 9
        found = connection.call(MetadataRequest(), MetadataResponse)
        assert found.cluster_id == "v9"
        assert connection.call(MetadataRequest(), MetadataResponse).cluster_id == "v9"


def test_what_the_broker_does_not_know_is_said(serve: Serve) -> None:
    with Connection(*serve(answer), timeout_s=5) as connection:
        assert connection.version_of(ApiKey.DESCRIBE_TOPIC_PARTITIONS) is None
        assert connection.version_of(ApiKey.FETCH) is None


def test_a_closed_connection_is_an_error(serve: Serve) -> None:
    def hang_up(api_key: int, version: int, correlation_id: int) -> bytes:
        return b""

    with (
        Connection(*serve(hang_up), timeout_s=5) as connection,
        pytest.raises(ClientError, match="no answer to ApiVersions: connection closed"),
    ):
        connection.version_of(ApiKey.METADATA)


def test_an_answer_to_something_else_is_an_error(serve: Serve) -> None:
    def confuse(api_key: int, version: int, correlation_id: int) -> bytes:
        return answer(api_key, version, correlation_id + 7)

    with (
        Connection(*serve(confuse), timeout_s=5) as connection,
        pytest.raises(ClientError, match="the answer to 8, not to 1"),
    ):
        connection.version_of(ApiKey.METADATA)


def test_the_first_broker_that_accepts_is_taken(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        closed = closing.getsockname()[1]
    host, port = serve(answer)

    with connect_any(f"127.0.0.1:{closed},{host}:{port}", timeout_s=5) as connection:
        assert connection.version_of(ApiKey.METADATA) == 9
    with pytest.raises(NotReachableError, match=str(closed)):
        connect_any(f"127.0.0.1:{closed}", timeout_s=5)
