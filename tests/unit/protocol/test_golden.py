"""Bytes written by hand from the rules of the protocol guide, against ours."""

from __future__ import annotations

from barnabas.protocol.message import Message
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from barnabas.protocol.messages.headers import RequestHeader
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

TOPIC_ID = bytes(range(16))


def check(message: Message, version: int, written: str) -> None:
    expected = bytes.fromhex(written)
    assert message.encode(version) == expected
    assert type(message).decode(expected, version) == message


def test_static_id_is_absent_before_v3() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=7, member_id="m")

    check(request, 2, "0001 67  00000007  0001 6d")


def test_a_null_string_has_length_minus_one() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=-1, member_id="m")

    check(request, 3, "0001 67  ffffffff  0001 6d  ffff")


def test_compact_strings_are_one_longer_and_tags_follow() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=7, member_id="", group_instance_id="é")

    check(request, 4, "02 67  00000007  01  03 c3a9  00")


def test_a_long_compact_string_has_a_length_of_two_bytes() -> None:
    request = HeartbeatRequest(group_id="x" * 127, member_id="y" * 200)

    check(
        request,
        4,
        "8001" + "78" * 127 + "00000000" + "c901" + "79" * 200 + "00" + "00",
    )


def test_null_and_empty_lists_differ_since_v1() -> None:
    check(MetadataRequest(topics=[]), 1, "00000000")
    check(MetadataRequest(topics=None), 1, "ffffffff")
    check(MetadataRequest(topics=[]), 9, "01 01 00 00 00")
    check(MetadataRequest(topics=None), 9, "00 01 00 00 00")


def test_topic_ids_are_sixteen_raw_bytes() -> None:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=TOPIC_ID, name=None)],
        allow_auto_topic_creation=False,
    )

    check(request, 12, "02" + TOPIC_ID.hex() + "00 00" + "00 00 00")


def test_produce_v9_has_compact_records() -> None:
    request = ProduceRequest(
        acks=-1,
        timeout_ms=1500,
        topic_data=[
            TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=5, records=b"batch")]
            )
        ],
    )

    check(request, 9, "00 ffff 000005dc  02 02 74  02 00000005 06 6261746368 00  00  00")
    check(request, 3, "ffff ffff 000005dc  00000001 0001 74  00000001 00000005 00000005 6261746368")


def test_fetch_v17_request() -> None:
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=0x00100000,
        isolation_level=1,
        session_id=3,
        session_epoch=4,
        topics=[
            FetchTopic(
                topic_id=TOPIC_ID,
                partitions=[
                    FetchPartition(
                        partition=2,
                        current_leader_epoch=6,
                        fetch_offset=9,
                        partition_max_bytes=0x1000,
                        replica_directory_id=TOPIC_ID[::-1],
                    )
                ],
            )
        ],
        rack_id="r",
    )

    check(
        request,
        17,
        "000001f4 00000001 00100000 01 00000003 00000004"
        "02" + TOPIC_ID.hex() + "02"
        "00000002 00000006 0000000000000009 ffffffff ffffffffffffffff 00001000"
        "01 00 10" + TOPIC_ID[::-1].hex() + "00"
        "01 02 72 00",
    )


def test_tagged_fields_come_in_the_order_of_their_tags() -> None:
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic_id=TOPIC_ID,
                partitions=[
                    PartitionData(
                        partition_index=1,
                        high_watermark=2,
                        last_stable_offset=3,
                        log_start_offset=0,
                        current_leader=LeaderIdAndEpoch(leader_id=7, leader_epoch=8),
                        aborted_transactions=[AbortedTransaction(producer_id=4, first_offset=5)],
                        records=b"xyz",
                    )
                ],
            )
        ]
    )

    check(
        response,
        16,
        "00000000 0000 00000000  02" + TOPIC_ID.hex() + "02"
        "00000001 0000 0000000000000002 0000000000000003 0000000000000000"
        "02 0000000000000004 0000000000000005 00"
        "ffffffff  04 78797a"
        "01 01 09 00000007 00000008 00"
        "00 00",
    )


def test_features_of_an_api_versions_answer_are_tagged() -> None:
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)],
        supported_features=[SupportedFeatureKey(name="f", min_version=1, max_version=2)],
        finalized_features_epoch=9,
    )

    check(
        response,
        3,
        "0000  02 0012 0000 0004 00  00000000"
        "02  00 08 02 02 66 0001 0002 00  01 08 0000000000000009",
    )
    check(
        ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4, "0278 0231 00"
    )


def test_a_structure_that_may_be_null_has_a_byte_before_it() -> None:
    absent = ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=1)
    present = ConsumerGroupHeartbeatResponse(
        assignment=Assignment(topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[3])])
    )

    check(absent, 0, "00000000 0000 00 026d 00000001 00000000 ff 00")
    check(
        present,
        0,
        "00000000 0000 00 00 00000000 00000000 01 02" + TOPIC_ID.hex() + "02 00000003 00 00 00",
    )


def test_a_tagged_structure_that_is_null_is_a_zero_byte() -> None:
    empty = "01 00 01 01 01 00 ffffffff 00"

    check(ConsumerGroupMemberMetadataValue(**NOBODY), 0, f"{empty} 00")
    check(
        ConsumerGroupMemberMetadataValue(classic_member_metadata=None, **NOBODY),
        0,
        f"{empty} 01 00 01 00",
    )
    check(
        ConsumerGroupMemberMetadataValue(
            classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=5), **NOBODY
        ),
        0,
        f"{empty} 01 00 07 01 00000005 01 00",
    )


NOBODY = {
    "instance_id": "",
    "rack_id": None,
    "subscribed_topic_regex": None,
    "server_assignor": None,
}


def test_the_client_id_of_a_header_is_never_compact() -> None:
    header = RequestHeader(
        request_api_key=3, request_api_version=9, correlation_id=5, client_id="c"
    )

    check(header, 1, "0003 0009 00000005 0001 63")
    check(header, 2, "0003 0009 00000005 0001 63 00")
