"""What declared messages promise to those who make, compare, print and send them."""

import copy
import pickle
from typing import Annotated, Any

import pytest

from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.message import Message, Struct
from barnabas.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.reader import reader_source
from barnabas.protocol.types import Int32, NullableString, String, fresh, ignorable, since, tag
from barnabas.protocol.writer import COPIED_RECORDS, writer_source


class Inner(Struct):
    number: Int32 = -1
    names: list[String] = []


class Outer(Message, versions="0-2", flexible="1+"):
    first: Annotated[Int32, since(1)] = 5
    second: Annotated[NullableString, since(2), ignorable] = None
    inner: Annotated[Inner, since(1), tag(3)] = fresh(Inner)
    other: Annotated[Inner | None, since(1), tag(1)] = None


class FileSlice:
    """Record bytes that are not in memory."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length


def fetch_response(records: Any) -> FetchResponse:
    partition = PartitionData(partition_index=1, records=records)
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])


class TestConstruction:
    def test_every_field_has_kafkas_default(self) -> None:
        request = FetchRequest()

        assert request.max_bytes == 0x7FFFFFFF
        assert request.session_epoch == -1
        assert request.topics == []
        assert request.cluster_id is None
        assert request.replica_state.replica_id == -1

    def test_default_lists_and_structures_are_not_shared(self) -> None:
        one, two = PartitionData(), PartitionData()
        one.diverging_epoch.epoch = 4
        FetchRequest().topics.append(FetchTopic())

        assert two.diverging_epoch == EpochEndOffset()
        assert FetchRequest().topics == []

    def test_decoded_defaults_are_not_shared(self) -> None:
        encoded = Outer().encode(0)
        one, two = Outer.decode(encoded, 0), Outer.decode(encoded, 0)
        one.inner.names.append("x")

        assert two.inner == Inner()

    def test_only_keywords_of_known_fields_are_taken(self) -> None:
        construct: Any = HeartbeatRequest
        with pytest.raises(TypeError, match="unexpected keyword"):
            construct(group="g")
        with pytest.raises(TypeError, match="positional"):
            construct("g")

    def test_there_is_no_place_for_other_attributes(self) -> None:
        request: Any = HeartbeatRequest()
        with pytest.raises(AttributeError):
            request.group = "g"

    def test_a_declaration_without_default_is_refused(self) -> None:
        with pytest.raises(AssertionError, match=r"Bad\.count needs a default"):

            class Bad(Struct):
                count: Int32

    def test_a_field_of_no_known_type_is_refused(self) -> None:
        class Bad(Struct):
            count: int = 0

        with pytest.raises(TypeError, match="not a type of the wire protocol"):
            Bad()


class TestComparison:
    def test_equal_fields_make_equal_messages(self) -> None:
        assert HeartbeatRequest(group_id="g") == HeartbeatRequest(group_id="g")
        assert HeartbeatRequest(group_id="g") != HeartbeatRequest(group_id="h")

    def test_messages_of_different_classes_are_never_equal(self) -> None:
        assert HeartbeatRequest() != HeartbeatResponse()

    def test_records_are_compared_by_content(self) -> None:
        assert PartitionProduceData(records=b"abc") == PartitionProduceData(
            records=memoryview(b"abc")
        )

    def test_messages_are_not_hashable_because_they_change(self) -> None:
        with pytest.raises(TypeError):
            hash(HeartbeatRequest())

    def test_messages_can_be_copied_and_pickled(self) -> None:
        request = FetchRequest(topics=[FetchTopic(topic="t")])

        assert copy.deepcopy(request) == request
        assert pickle.loads(pickle.dumps(request)) == request


class TestRepr:
    def test_fields_are_shown(self) -> None:
        assert repr(MetadataRequestTopic(name="t", topic_id=b"\x01" * 16)) == (
            "MetadataRequestTopic(topic_id=bytes.fromhex('01010101010101010101010101010101'), "
            "name='t')"
        )

    def test_records_are_only_counted(self) -> None:
        data = PartitionProduceData(index=1, records=memoryview(bytes(10_000)))

        assert repr(data) == "PartitionProduceData(index=1, records=<10000 bytes>)"

    def test_long_lists_are_cut(self) -> None:
        request = MetadataRequest(topics=[MetadataRequestTopic() for _ in range(1000)])

        assert "... 984 more]" in repr(request)
        assert len(repr(request)) < 3000

    def test_secrets_are_hidden_wherever_they_are(self) -> None:
        password = b"open sesame"
        messages = [
            SaslAuthenticateRequest(auth_bytes=password),
            ScramCredentialUpsertion(name="bob", salted_password=password, salt=password),
        ]

        for message in messages:
            assert "sesame" not in repr(message)
            assert password.hex() not in repr(message)
            assert "<hidden>" in repr(message)


class TestVersions:
    def test_a_field_of_another_version_keeps_its_default(self) -> None:
        message = Outer(first=9, second="x")

        assert Outer.decode(message.encode(1), 1) == Outer(first=9)

    def test_a_value_without_a_place_is_refused(self) -> None:
        with pytest.raises(EncodeError, match="Outer v0 cannot carry first"):
            Outer(first=9).encode(0)

    def test_an_ignorable_value_without_a_place_is_dropped(self) -> None:
        assert Outer(second="x").encode(0) == Outer().encode(0) == b""

    @pytest.mark.parametrize(
        "message",
        [Outer(inner=Inner(number=1)), Outer(inner=Inner(names=["a"])), Outer(other=Inner())],
    )
    def test_a_structure_without_a_place_is_refused_unless_default(self, message: Outer) -> None:
        with pytest.raises(EncodeError, match="cannot carry"):
            message.encode(0)

    def test_null_is_refused_where_the_version_has_none(self) -> None:
        with pytest.raises(EncodeError):
            MetadataRequest(topics=None).encode(0)

    @pytest.mark.parametrize("version", [-1, 3, 0x7FFF])
    def test_unknown_versions_are_refused(self, version: int) -> None:
        with pytest.raises(DecodeError, match="no version"):
            Outer.decode(b"", version)
        with pytest.raises(EncodeError, match="no version"):
            Outer().encode(version)
        with pytest.raises(EncodeError, match="no version"):
            Outer().parts(version)


class TestEncodingFaults:
    @pytest.mark.parametrize(
        "message",
        [
            HeartbeatRequest(generation_id=1 << 31),
            HeartbeatRequest(group_id="x" * 0x8000),
            HeartbeatRequest(group_id="\ud800"),
            HeartbeatRequest(group_id=None),
            HeartbeatRequest(group_id=b"bytes"),
            HeartbeatRequest(generation_id="1"),
        ],
        ids=["range", "long", "surrogate", "none", "bytes", "text"],
    )
    @pytest.mark.parametrize("version", [0, 4])
    def test_a_value_that_is_no_such_value_is_refused(
        self, message: HeartbeatRequest, version: int
    ) -> None:
        with pytest.raises(EncodeError):
            message.encode(version)

    @pytest.mark.parametrize("topic_id", [b"", bytes(15), bytes(17)])
    def test_an_id_of_another_length_is_refused(self, topic_id: bytes) -> None:
        request = FetchRequest(topics=[FetchTopic(topic_id=topic_id)])

        with pytest.raises(EncodeError, match="topic_id is not 16 bytes"):
            request.encode(13)


class TestRecords:
    def test_decoded_records_lie_in_the_buffer(self) -> None:
        request = ProduceRequest(
            topic_data=[
                TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"abc")])
            ]
        )
        buffer = bytearray(request.encode(11))

        records = (
            ProduceRequest.decode(memoryview(buffer), 11).topic_data[0].partition_data[0].records
        )
        assert isinstance(records, memoryview)
        records[:] = b"xyz"

        assert b"xyz" in buffer

    @pytest.mark.parametrize("version", [4, 17])
    def test_a_file_slice_stands_as_a_part_of_its_own(self, version: int) -> None:
        there = FileSlice(5)
        parts = fetch_response(there).parts(version, b"head")
        whole = fetch_response(b"12345").encode(version)

        assert parts[1] is there
        assert isinstance(parts[0], bytearray)
        sent = b"".join(b"12345" if isinstance(part, FileSlice) else part for part in parts)
        assert sent == b"head" + whole

    def test_large_records_are_not_copied(self) -> None:
        records = bytes(COPIED_RECORDS + 1)

        assert any(part is records for part in fetch_response(records).parts(17))
        assert len(fetch_response(bytes(COPIED_RECORDS)).parts(17)) == 1

    def test_an_empty_slice_leaves_no_part(self) -> None:
        assert len(fetch_response(FileSlice(0)).parts(17)) == 1

    def test_contiguous_bytes_cannot_hold_a_slice(self) -> None:
        with pytest.raises(EncodeError):
            fetch_response(FileSlice(5)).encode(17)


class TestTags:
    def test_unknown_tags_are_skipped(self) -> None:
        known = "03 06 00000002 01 00"
        message = Outer(first=1, inner=Inner(number=2))

        assert message.encode(1) == bytes.fromhex(f"00000001 01 {known}")
        assert Outer.decode(bytes.fromhex(f"00000001 02 {known} 64 03 aabbcc"), 1) == message

    def test_tags_are_accepted_in_any_order_and_the_last_counts(self) -> None:
        data = bytes.fromhex("00000001  03  03 06 00000002 01 00  01 01 00  03 06 00000003 01 00")

        assert Outer.decode(data, 1) == Outer(first=1, inner=Inner(number=3))

    def test_a_tag_of_the_wrong_size_is_refused(self) -> None:
        for size in ("05", "07"):
            data = bytes.fromhex(f"00000001  01  03 {size} 00000002 01 00 00")
            with pytest.raises(DecodeError):
                Outer.decode(data, 1)

    def test_many_unknown_tags_are_skipped(self) -> None:
        data = (
            bytes(4)
            + bytes.fromhex("ac02")
            + b"".join(
                bytes([0x80 | number & 0x7F, 1 + (number >> 7), 1, 0]) for number in range(300)
            )
        )

        assert Outer.decode(data, 1) == Outer(first=0)


def test_compiled_sources_can_be_looked_at() -> None:
    assert "def read(buf, pos):" in reader_source(FetchRequest, 17)
    assert "def write(o, out):" in writer_source(FetchResponse, 17)
    assert "def write(o, out, parts):" in writer_source(FetchResponse, 17, parts=True)
