"""Frames and headers."""

from __future__ import annotations

import pytest

from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import (
    FrameReader,
    encode_request_header,
    encode_response_header,
    frame,
    next_frame,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
)
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.protocol.messages.headers import RequestHeader, ResponseHeader
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

HEARTBEAT = api(ApiKey.HEARTBEAT)


class FileSlice:
    def __len__(self) -> int:
        return 10_000


class TestFrames:
    def test_frames_are_cut_out_of_what_was_fed(self) -> None:
        reader = FrameReader()

        assert list(reader.feed(frame(b"one") + frame(b"") + frame(b"three")[:6])) == [b"one", b""]
        assert reader.pending_bytes == 6
        assert list(reader.feed(frame(b"three")[6:])) == [b"three"]
        assert reader.pending_bytes == 0

    def test_a_length_that_is_not_complete_waits(self) -> None:
        reader = FrameReader()
        frames = [found for byte in frame(b"xy") for found in reader.feed(bytes([byte]))]

        assert frames == [b"xy"]

    @pytest.mark.parametrize("length", [-1, -(1 << 31), 11, (1 << 31) - 1])
    def test_a_length_outside_the_cap_is_refused_before_its_bytes_come(self, length: int) -> None:
        reader = FrameReader(max_frame=10)
        feeding = reader.feed(frame(b"good") + length.to_bytes(4, "big", signed=True))

        assert next(feeding) == b"good"
        with pytest.raises(DecodeError, match="at most 10"):
            next(feeding)

    def test_a_frame_of_exactly_the_cap_is_taken(self) -> None:
        assert list(FrameReader(max_frame=10).feed(frame(bytes(10)))) == [bytes(10)]

    def test_next_frame_tells_where_the_content_is(self) -> None:
        data = b"xx" + frame(b"abc")

        assert next_frame(data, 2) == (6, 9)
        assert next_frame(data[:-1], 2) is None
        assert next_frame(data, 9) is None


class TestRequestHeader:
    @pytest.mark.parametrize("client_id", [None, "", "näme", "x" * 300])
    @pytest.mark.parametrize("version", HEARTBEAT.versions)
    def test_it_survives_encoding(self, version: int, client_id: str | None) -> None:
        encoded = encode_request_header(HEARTBEAT, version, 77, client_id)
        declared = RequestHeader(
            request_api_key=12,
            request_api_version=version,
            correlation_id=77,
            client_id=client_id,
        )

        assert encoded == declared.encode(HEARTBEAT.request_header_version(version))
        assert read_request_header(b"__" + encoded + b"body", 2) == (
            12,
            version,
            77,
            client_id,
            2 + len(encoded),
        )

    def test_tags_of_a_flexible_header_are_skipped(self) -> None:
        data = bytes.fromhex("000c 0004 00000001 0001 63 01 05 02 aabb")

        assert read_request_header(data) == (12, 4, 1, "c", len(data))

    @pytest.mark.parametrize(
        "written",
        ["03e7 0000 00000001 ffff", "0012 7fff 00000001 ffff", "000c 0005 00000001 ffff"],
        ids=["unknown api", "unknown version of ApiVersions", "unknown version"],
    )
    def test_what_is_unknown_is_read_up_to_the_client_id(self, written: str) -> None:
        data = bytes.fromhex(written + "99")

        assert read_request_header(data)[3:] == (None, 10)

    @pytest.mark.parametrize(
        "written",
        [
            "",
            "000c 0004 0000",
            "000c 0000 00000001 0005 63",
            "000c 0000 00000001 fffe",
            "000c 0000 00000001 0002 c328",
            "000c 0004 00000001 0001 63",
            "000c 0004 00000001 0001 63 01 00 7f",
        ],
    )
    def test_a_bad_header_is_refused(self, written: str) -> None:
        with pytest.raises(DecodeError):
            read_request_header(bytes.fromhex(written))


class TestResponseHeader:
    @pytest.mark.parametrize("version", HEARTBEAT.versions)
    def test_it_survives_encoding(self, version: int) -> None:
        encoded = encode_response_header(HEARTBEAT, version, 77)
        declared = ResponseHeader(correlation_id=77)

        assert encoded == declared.encode(HEARTBEAT.response_header_version(version))
        assert read_response_header(encoded + b"body", HEARTBEAT, version) == (77, len(encoded))

    def test_an_api_versions_answer_has_no_tags_in_its_header(self) -> None:
        assert encode_response_header(api(ApiKey.API_VERSIONS), 4, 1) == bytes.fromhex("00000001")

    @pytest.mark.parametrize("written", ["", "0000", "00000001", "00000001 01 00"])
    def test_a_bad_header_is_refused(self, written: str) -> None:
        with pytest.raises(DecodeError):
            read_response_header(bytes.fromhex(written), HEARTBEAT, 4)


class TestWholeMessages:
    def test_a_request_has_length_header_and_body(self) -> None:
        request = HeartbeatRequest(group_id="g", generation_id=7, member_id="m")

        found = request_frame(request, HEARTBEAT, 2, 5, "c")

        assert found == bytes.fromhex(
            "00000015  000c 0002 00000005 0001 63  0001 67 00000007 0001 6d"
        )

    @pytest.mark.parametrize(
        ("version", "written"),
        [(0, "00000006 00000005 001b"), (4, "0000000c 00000005 00 00000000 001b 00")],
    )
    def test_a_response_has_length_header_and_body(self, version: int, written: str) -> None:
        header = HEARTBEAT.response_header_version(version)

        (part,) = response_frame(HeartbeatResponse(error_code=27), version, 5, header)

        assert part == bytes.fromhex(written)

    def test_the_length_of_a_response_counts_slices_of_files(self) -> None:
        records = FileSlice()
        response = FetchResponse(
            responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])]
        )

        parts = response_frame(response, 17, 5, 1)

        assert parts[1] is records
        assert isinstance(parts[0], bytearray)
        assert int.from_bytes(parts[0][:4], "big") == sum(map(len, parts)) - 4
