from __future__ import annotations

import struct

import pytest

from barnabas.cli.deserializers import DeserializeError
from barnabas.cli.dump_log_decoders import (
    coordinator_parser,
    group_types,
    java_json,
    java_text,
    metadata_parser,
    share_state_types,
    text_parser,
    transaction_types,
    upper_snake,
)
from barnabas.cli.options import UsageError
from barnabas.controller.record_codec import encode_record
from barnabas.protocol.message import Message
from barnabas.protocol.messages import consumer_protocol as cp
from barnabas.protocol.messages import group_records as gr
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages import share_records as sr
from barnabas.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from barnabas.records.batch import Record


def packed(version: int, message: Message) -> bytes:
    return struct.pack(">h", version) + message.encode(version)


def test_json_is_in_javas_dialect() -> None:
    value = {"a": [None, True, 1, 1e10, 0.5], 'q"': "tab\t nul\0 é \\"}

    assert java_json(value) == ('{"a":[null,true,1,1.0E10,0.5],"q\\"":"tab\\t nul\\u0000 é \\\\"}')


@pytest.mark.parametrize(
    ("decoder", "data", "shown"),
    [
        ("StringDecoder", b"caf\xc3\xa9 \xff", "café \ufffd"),
        ("org.apache.kafka.tools.api.StringDecoder", b"x", "x"),
        ("kafka.serializer.StringDecoder", b"x", "x"),
        ("IntegerDecoder", b"\0\0\1\0", "256"),
        ("LongDecoder", b"\xff" * 8, "-1"),
        ("DefaultDecoder", b"\0a\\", "\\x00a\\x5C"),
        ("DoubleDeserializer", struct.pack(">d", 1.5), "1.5"),
    ],
)
def test_values_are_shown_as_their_decoder_shows_them(
    decoder: str, data: bytes, shown: str
) -> None:
    assert text_parser("StringDecoder", decoder)(Record(key=b"k", value=data)) == ("k", shown)


def test_nothing_is_shown_of_a_null() -> None:
    assert text_parser("StringDecoder", "StringDecoder")(Record()) == (None, None)


def test_a_value_of_another_type_is_an_error() -> None:
    with pytest.raises(DeserializeError, match="IntegerDeserializer is not 4"):
        text_parser("StringDecoder", "IntegerDecoder")(Record(value=b"x"))


def test_an_unknown_decoder_is_named_with_its_option() -> None:
    with pytest.raises(UsageError, match=r'--key-decoder-class: "com\.x\.Mine" is not known'):
        text_parser("com.x.Mine", "StringDecoder")


def test_positions_of_groups_are_shown() -> None:
    record = Record(
        key=packed(1, gr.OffsetCommitKey(group="g", topic="t", partition=3)),
        value=packed(3, gr.OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)),
    )

    assert coordinator_parser(group_types())(record) == (
        '{"type":"1","data":{"group":"g","topic":"t","partition":3}}',
        '{"version":"3","data":{"offset":7,"leaderEpoch":-1,"metadata":"m","commitTimestamp":9}}',
    )
    assert coordinator_parser(group_types())(record._replace(value=None))[1] == "<DELETE>"


def test_what_consumers_of_a_group_told_each_other_is_opened() -> None:
    subscription = packed(0, cp.ConsumerProtocolSubscription(topics=["t"]))
    members = [
        gr.MemberMetadata(member_id="a", subscription=subscription, assignment=b""),
        gr.MemberMetadata(member_id="b", subscription=b"\x7f\xff", assignment=b"mine"),
    ]
    value = gr.GroupMetadataValue(protocol_type="consumer", members=members)
    key = packed(2, gr.GroupMetadataKey(group="g"))

    _, shown = coordinator_parser(group_types())(Record(key=key, value=packed(0, value)))

    assert '"subscription":{"topics":["t"],"userData":null},"assignment":""' in (shown or "")
    assert '"subscription":"f/8=","assignment":"bWluZQ=="' in (shown or "")
    value.protocol_type = "connect"
    _, shown = coordinator_parser(group_types())(Record(key=key, value=packed(0, value)))
    assert '"subscription":"AAA' in (shown or "")


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        (struct.pack(">h", 999), b"", "Unknown record type 999 at offset 5, skipping."),
        (None, b"", "Error at offset 5, skipping. the record has no key"),
        (b"\0", b"", "Error at offset 5, skipping. the record has no key"),
        (
            packed(2, gr.GroupMetadataKey(group="g")),
            b"\0\x63",
            "Error at offset 5, skipping. GroupMetadataValue of version 99 is not known",
        ),
        (
            packed(2, gr.GroupMetadataKey(group="g")),
            b"\0",
            "Error at offset 5, skipping. a value of 1 bytes",
        ),
    ],
)
def test_a_record_that_cannot_be_decoded_is_said_to_be_so_in_its_place(
    key: bytes | None, value: bytes, shown: str
) -> None:
    parsed = coordinator_parser(group_types())(Record(offset=5, key=key, value=value))

    assert parsed == (shown, None)


def test_other_topics_of_coordinators_are_known() -> None:
    transaction = Record(
        key=packed(0, TransactionLogKey(transactional_id="x")),
        value=packed(1, TransactionLogValue(producer_id=4)),
    )
    share = Record(key=packed(1, sr.ShareUpdateKey(group_id="g", partition=2)), value=None)

    assert coordinator_parser(transaction_types())(transaction)[0] == (
        '{"type":"0","data":{"transactionalId":"x"}}'
    )
    assert coordinator_parser(share_state_types())(share) == (
        '{"type":"1","data":{"groupId":"g","topicId":"AAAAAAAAAAAAAAAAAAAAAA","partition":2}}',
        "<DELETE>",
    )


def test_records_of_the_metadata_log_are_shown() -> None:
    data = encode_record(mr.TopicRecord(name="t", topic_id=bytes(16)))

    assert metadata_parser(Record(value=data)) == (
        None,
        (
            '{"type":"TOPIC_RECORD","version":0,"data":'
            '{"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}}'
        ),
    )


@pytest.mark.parametrize("data", [b"", b"\1", b"\1\xe7\7\0", b"\2\2\0", b"\1\2\x09", b"\1\2\0\5"])
def test_metadata_that_cannot_be_decoded_does_not_end_the_dump(data: bytes) -> None:
    key, value = metadata_parser(Record(offset=8, value=data))

    assert key is None
    assert (value or "").startswith("Error at 8, skipping. ")


def test_names_of_records_are_spelt_as_types() -> None:
    assert upper_snake("BrokerRegistrationChangeRecord") == "BROKER_REGISTRATION_CHANGE_RECORD"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("é".encode(), "é"),
        (b"a\xffb", "a\ufffdb"),
        (b"\xed\xa0\x80!", "\ufffd!"),
        (b"\xed\xbf!", "\ufffd!"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
    ],
)
def test_bytes_that_are_no_text_are_shown_as_java_shows_them(data: bytes, shown: str) -> None:
    assert java_text(data) == shown
