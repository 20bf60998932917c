"""Bytes made to harm the reader: DecodeError, at once, and no memory spent on promises."""

from __future__ import annotations

import tracemalloc

import pytest

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.message import Message
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

CASES: dict[str, tuple[type[Message], int, str]] = {
    "nothing": (HeartbeatRequest, 0, ""),
    "string beyond the end": (HeartbeatRequest, 0, "0005 6767"),
    "null string where there is none": (HeartbeatRequest, 0, "ffff 00000000 0000"),
    "string of negative length": (HeartbeatRequest, 3, "0000 00000000 0000 fffe"),
    "string that is not UTF-8": (HeartbeatRequest, 0, "0002 c328 00000000 0000"),
    "compact string beyond the end": (HeartbeatRequest, 4, "09 6767"),
    "null compact string where there is none": (HeartbeatRequest, 4, "00 00000000 01 00 00"),
    "compact string longer than strings are": (
        HeartbeatRequest,
        4,
        "818002" + "67" * 0x8000 + "00000000 01 00 00",
    ),
    "bytes beyond the end": (SaslAuthenticateRequest, 0, "00000009 00"),
    "bytes of negative length": (SaslAuthenticateRequest, 0, "ffffffff"),
    "null compact bytes where there are none": (SaslAuthenticateRequest, 2, "00 00"),
    "list that could not fit": (MetadataRequest, 1, "7fffffff"),
    "list that could not fit by one": (MetadataRequest, 1, "00000002 0000"),
    "list of negative length": (MetadataRequest, 1, "fffffffe"),
    "null list where there is none": (MetadataRequest, 0, "ffffffff"),
    "compact list that could not fit": (MetadataRequest, 9, "ffffffff0f 01 00 00 00"),
    "null compact list where there is none": (FetchRequest, 12, "00000000" * 4 + "00" * 20),
    "inner list that could not fit": (WriteTxnMarkersRequest, 0, "00000001" + "7f" * 40),
    "overlong integer": (MetadataRequest, 9, "ffffffffff01 00 00 00"),
    "integer of more than 32 bits": (MetadataRequest, 9, "ffffffff7f 00 00 00"),
    "more tags than bytes": (MetadataRequest, 9, "01 00 00 00 ffffffff0f"),
    "tag beyond the end": (MetadataRequest, 9, "01 00 00 00 01 00 7f"),
    "tag of huge size": (MetadataRequest, 9, "01 00 00 00 01 00 ffffffff0f"),
    "tag without size": (MetadataRequest, 9, "01 00 00 00 01 00"),
    "bytes after the end": (MetadataRequest, 9, "01 00 00 00 00 00"),
    "records beyond the end": (
        ProduceRequest,
        2,
        "0001 00000000 00000001 0000 00000001 00000000 7fffffff",
    ),
    "nested lists": (OffsetDeleteRequest, 0, "0000 00000001 0000 7fffffff"),
    "secret bytes beyond the end": (
        AlterUserScramCredentialsRequest,
        0,
        "01 02 0161 01 00000000 ff01",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_hostile_bytes_are_refused(name: str) -> None:
    cls, version, written = CASES[name]

    with pytest.raises(DecodeError):
        cls.decode(bytes.fromhex(written), version)
    with pytest.raises(DecodeError):
        cls.decode(memoryview(bytes.fromhex(written)), version)


@pytest.mark.parametrize("name", [name for name in CASES if "list" in name])
def test_nothing_is_allocated_for_elements_that_are_not_there(name: str) -> None:
    cls, version, written = CASES[name]
    data = bytes.fromhex(written)
    with pytest.raises(DecodeError):
        cls.decode(data, version)  # compiled by now

    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            cls.decode(data, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 100_000


def test_the_message_says_what_was_wrong_and_where() -> None:
    with pytest.raises(DecodeError, match=r"MetadataRequest v1: topics has length 99 at byte 4"):
        MetadataRequest.decode(bytes.fromhex("00000063"), 1)


def test_a_count_that_needs_two_bytes_is_read() -> None:
    data = bytes.fromhex("ad02" + "0261 00" * 300 + "01 00 00 00")

    request = MetadataRequest.decode(data, 9)

    assert request.topics is not None
    assert [topic.name for topic in request.topics] == ["a"] * 300


def test_a_length_that_is_longer_than_it_need_be_is_accepted() -> None:
    """As Kafka does: 80 00 is a roundabout way to write zero."""
    assert MetadataRequest.decode(bytes.fromhex("8100 01 00 00 8000"), 9).topics == []
