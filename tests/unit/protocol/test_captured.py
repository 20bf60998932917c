"""Bytes that real clients, brokers and controllers sent: read, and written again the same.

The files in `captured/` come from a relay between clients and Apache Kafka 4.0.2 (one example of
each client, API, version and direction) and from the logs of its internal topics (`records.txt`).
A line is: direction, name, version, bytes without the length.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from message_values import every_message

from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.framing import (
    encode_request_header,
    encode_response_header,
    read_request_header,
    read_response_header,
)

BY_NAME = {api.name: api for api in APIS.values()}
RECORDS = {cls.__name__: cls for cls in every_message()}


class Captured(NamedTuple):
    source: str
    direction: str
    name: str
    version: int
    data: bytes

    @property
    def api(self) -> Api:
        return BY_NAME[self.name]

    def __str__(self) -> str:
        return f"{self.source}-{self.direction}-{self.name}-v{self.version}-{len(self.data)}"


def captured() -> Iterator[Captured]:
    for path in sorted((Path(__file__).parent / "captured").glob("*.txt")):
        for line in path.read_text().splitlines():
            direction, name, version, data = [*line.split(" "), ""][:4]
            yield Captured(path.stem, direction, name, int(version[1:]), bytes.fromhex(data))


EVERYTHING = list(captured())
REQUESTS = [one for one in EVERYTHING if one.direction == "request"]
RESPONSES = [one for one in EVERYTHING if one.direction == "response"]
INTERNAL = [one for one in EVERYTHING if one.direction == "record"]


def test_many_clients_and_apis_were_captured() -> None:
    clients = {"aiokafka", "confluent", "controller", "java", "kafka-python", "kcat"}

    assert {one.source for one in REQUESTS} == clients
    assert len({one.name for one in REQUESTS}) >= 55
    assert len({one.name for one in INTERNAL}) >= 45


@pytest.mark.parametrize("one", REQUESTS, ids=str)
def test_a_captured_request_is_read_and_written_again_the_same(one: Captured) -> None:
    key, version, correlation_id, client_id, pos = read_request_header(one.data)

    request = one.api.request.decode(memoryview(one.data), version, pos)

    header = encode_request_header(one.api, version, correlation_id, client_id)
    assert (key, version) == (one.api.key, one.version)
    assert header + request.encode(version) == one.data


@pytest.mark.parametrize("one", RESPONSES, ids=str)
def test_a_captured_response_is_read_and_written_again_the_same(one: Captured) -> None:
    correlation_id, pos = read_response_header(one.data, one.api, one.version)

    response = one.api.response.decode(memoryview(one.data), one.version, pos)

    header = encode_response_header(one.api, one.version, correlation_id)
    assert header + response.encode(one.version) == one.data


@pytest.mark.parametrize("one", INTERNAL, ids=str)
def test_a_captured_record_is_read_and_written_again_the_same(one: Captured) -> None:
    message = RECORDS[one.name].decode(one.data, one.version)

    assert message.encode(one.version) == one.data
