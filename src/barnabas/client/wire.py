"""One blocking connection that speaks our own codec, for requests that librdkafka has no call for.

How it is secured is in `login.py`.
"""

from __future__ import annotations

import itertools
import socket
import struct
from typing import TypeVar

from barnabas.client.addresses import parse_servers
from barnabas.client.errors import (
    ClientError,
    LoginError,
    NotOfferedError,
    NotReachableError,
    RefusedError,
    not_reachable,
)
from barnabas.client.login import PLAIN, Login, authenticate
from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import MAX_FRAME, read_response_header, request_frame
from barnabas.protocol.message import Message
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

CLIENT_ID = "barnabas"
LENGTH = struct.Struct(">i")

Response = TypeVar("Response", bound=Message)


class Connection:
    """To one broker; one request at a time, from one thread.

    A request goes out in the highest version that both sides know.  After a `ClientError` the
    connection is of no further use.
    """

    def __init__(self, host: str, port: int, *, timeout_s: float, login: Login = PLAIN) -> None:
        self._address = f"{host}:{port}"
        self._ids = itertools.count(1)
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError:
            raise NotReachableError(self._address) from None
        self._versions: dict[int, tuple[int, int]] | None = None
        self._asked: tuple[int, int, int] | None = None
        """API, version and correlation id of the request that is not answered yet."""
        try:
            self._secure(host, login)
        except ClientError:
            self.close()
            raise

    def _secure(self, host: str, login: Login) -> None:
        """TLS, then who we are; the socket is usable, or the error says what is wrong."""
        if login.tls is not None:
            try:
                self._socket = login.tls.wrap_socket(self._socket, server_hostname=host)
            except OSError as error:
                reason = getattr(error, "verify_message", None) or error.strerror or str(error)
                raise LoginError(f"{self._address}: no TLS connection: {reason}") from None
        if login.mechanism is None:
            return
        try:
            self._authenticate(login)
        except RefusedError as error:
            raise LoginError(f"{self._address}: {error}") from None

    def _authenticate(self, login: Login) -> None:
        from barnabas.protocol.messages.sasl_authenticate import (
            SaslAuthenticateRequest,
            SaslAuthenticateResponse,
        )
        from barnabas.protocol.messages.sasl_handshake import (
            SaslHandshakeRequest,
            SaslHandshakeResponse,
        )

        assert login.mechanism is not None
        chosen = self.call(SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse)
        if chosen.error_code:
            raise RefusedError(
                "UNSUPPORTED_SASL_MECHANISM",
                f"{login.mechanism} is not taken there; {', '.join(chosen.mechanisms)} is",
            )

        def say(data: bytes) -> bytes:
            answer = self.call(SaslAuthenticateRequest(auth_bytes=data), SaslAuthenticateResponse)
            if answer.error_code:
                raise RefusedError("SASL_AUTHENTICATION_FAILED", answer.error_message or "refused")
            return answer.auth_bytes

        authenticate(login, say)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def address(self) -> str:
        return self._address

    def version_of(self, key: ApiKey) -> int | None:
        """The version that a request of this API would go out in; None if the broker has it not."""
        low, high = self._broker_versions().get(key, (0, -1))
        api = APIS[key]
        version = min(high, api.max_version)
        return version if version >= max(low, api.min_version) else None

    def call(
        self, request: Message, answer: type[Response], *, at_most: int | None = None
    ) -> Response:
        """Sends a request and waits for its answer.  `at_most`: the highest version to choose."""
        self.send(request, at_most=at_most)
        return self.receive(answer)

    def send(self, request: Message, *, at_most: int | None = None) -> None:
        """Sends a request whose answer `receive` will fetch: several brokers can work meanwhile."""
        key = ApiKey(request.api_key)
        version = self.version_of(key)
        if version is None:
            raise NotOfferedError(self._address, APIS[key].name)
        self._send(request, version if at_most is None else min(version, at_most))

    def _broker_versions(self) -> dict[int, tuple[int, int]]:
        if self._versions is None:
            self._send(ApiVersionsRequest(), 0)
            answer = self.receive(ApiVersionsResponse)
            self._versions = {
                each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
            }
        return self._versions

    def _send(self, request: Message, version: int) -> None:
        assert self._asked is None, "one request at a time"
        api = APIS[request.api_key]
        correlation_id = next(self._ids)
        try:
            self._socket.sendall(request_frame(request, api, version, correlation_id, CLIENT_ID))
        except OSError as error:
            raise ClientError(f"{self._address}: no answer to {api.name}: {error}") from None
        self._asked = (request.api_key, version, correlation_id)

    def receive(self, answer: type[Response]) -> Response:
        """The answer to the request that was sent last."""
        assert self._asked is not None, "nothing was asked"
        key, version, correlation_id = self._asked
        assert key == answer.api_key, f"{answer} does not answer API {key}"
        self._asked = None
        api = APIS[key]
        try:
            payload = self._receive()
            answered, pos = read_response_header(payload, api, version)
            if answered != correlation_id:
                raise DecodeError(f"the answer to {answered}, not to {correlation_id}")
            return answer.decode(payload, version, pos)
        except (OSError, DecodeError) as error:
            raise ClientError(f"{self._address}: no answer to {api.name}: {error}") from None

    def _receive(self) -> memoryview:
        """The payload of the next frame, in a buffer of its own: nothing is copied twice."""
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        if not 0 <= length <= MAX_FRAME:
            raise DecodeError(f"a frame of {length} bytes; at most {MAX_FRAME} are allowed")
        return self._exactly(length)

    def _exactly(self, size: int) -> memoryview:
        buffer = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            received = self._socket.recv_into(buffer[filled:])
            if not received:
                raise ConnectionError("connection closed by the broker")
            filled += received
        return buffer


def connect_any(
    servers: str, *, timeout_s: float, what: str = "broker", login: Login = PLAIN
) -> Connection:
    """To the first broker, or controller, of a bootstrap list that accepts a connection."""
    for host, port in parse_servers(servers):
        try:
            return Connection(host, port, timeout_s=timeout_s, login=login)
        except NotReachableError:
            continue  # the next one; that all failed is said below
    raise not_reachable(servers, what)
