"""Many connections driven by one thread: each has at most one request under way.

The requests are made once and sent again as they are, so that every broker gets the same bytes and
this program, which shares the machine with the broker, does little.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import encode_request_header, frame, read_response_header
from barnabas.protocol.message import Message

PATIENCE_S = 60
ANSWER_BYTES = 64 * 1024
"""What is received at once.  Room for more would be mapped and unmapped for every answer, which
costs this program more than all the rest of its work."""


class BadAnswerError(Exception):
    """The broker did not answer as it should, or not at all."""


def encoded(request: Message, version: int) -> bytes:
    """A whole frame."""
    return bytes(frame(_header(request.api_key, version) + request.encode(version)))


@cache
def _header(api_key: int, version: int) -> bytes:
    return bytes(encode_request_header(api(ApiKey(api_key)), version, 1, "bench"))


def decoded(answer: bytes, request: type[Message], version: int) -> Any:
    """What an answer, with its length before it, says."""
    described = api(request.api_key)
    payload = answer[4:]
    _, at = read_response_header(payload, described, version)
    return described.response.decode(payload, version, at)


class Crowd:
    """So many connections to one broker.  Close it in the end."""

    def __init__(self, bootstrap: str, size: int) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._poll = select.epoll()
        self._sockets: list[socket.socket] = []
        self._index: dict[int, int] = {}
        self._partial: dict[int, bytearray] = {}
        for _ in range(size):
            self._connect(host, int(port))

    def _connect(self, host: str, port: int) -> None:
        connection = socket.create_connection((host, port), timeout=PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)  # with one, every call would be two; `receive` has its own
        self._index[connection.fileno()] = len(self._sockets)
        self._sockets.append(connection)
        self._poll.register(connection, select.EPOLLIN)

    def __len__(self) -> int:
        return len(self._sockets)

    def close(self) -> None:
        self._poll.close()
        for connection in self._sockets:
            connection.close()

    def send(self, index: int, data: bytes) -> None:
        self._sockets[index].sendall(data)

    def receive(self, timeout_s: float = PATIENCE_S) -> list[tuple[int, bytes]]:
        """Answers that have come, with the numbers of their connections; waits for the first."""
        found = []
        for descriptor, _ in self._poll.poll(timeout_s):
            index = self._index[descriptor]
            data = self._sockets[index].recv(ANSWER_BYTES)
            if not data:
                raise BadAnswerError("the broker closed a connection")
            whole = self._whole(index, data)
            if whole is not None:
                found.append((index, whole))
        return found

    def _whole(self, index: int, data: bytes) -> bytes | None:
        """The answer, once all of it has come."""
        held = self._partial.pop(index, None)
        if held is not None:
            data = bytes(held + data)
        if len(data) >= 4 and len(data) == 4 + struct.unpack_from(">i", data)[0]:
            return data
        self._partial[index] = bytearray(data)
        return None

    def ask(self, requests: Mapping[int, bytes]) -> dict[int, bytes]:
        """One request on each of these connections; all answers."""
        for index, data in requests.items():
            self.send(index, data)
        answers: dict[int, bytes] = {}
        while len(answers) < len(requests):
            found = self.receive()
            if not found:
                raise BadAnswerError(f"{len(requests) - len(answers)} answers are missing")
            answers.update(found)
        return answers

    def repeat(self, requests: Sequence[bytes], count: int, check: Callable[[bytes], None]) -> None:
        """Send every connection's request again and again, `count` times in all.

        `check` sees the first answer to each; the others must be the same bytes.
        """
        expected = self.ask(dict(enumerate(requests)))
        for answer in expected.values():
            check(answer)
        for index, data in enumerate(requests):
            self.send(index, data)
        sent, answered = len(requests), 0
        while answered < count:
            found = self.receive()
            if not found:
                raise BadAnswerError("the broker no longer answers")
            for index, answer in found:
                if answer != expected[index]:
                    raise BadAnswerError(f"the answer was {expected[index]!r} and is {answer!r}")
                if sent < count:
                    self.send(index, requests[index])
                    sent += 1
            answered += len(found)
