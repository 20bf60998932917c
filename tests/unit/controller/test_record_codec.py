from __future__ import annotations

import logging

import pytest

from barnabas.controller.record_codec import decode_record, encode_record
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

A, DIR = b"a" * 16, b"d" * 16


def test_a_record_is_framed_as_kafka_does() -> None:
    """The bytes are from a bootstrap file that Apache Kafka 4.0 wrote."""
    data = bytes.fromhex("010c00116d657461646174612e76657273696f6e001900")

    record = mr.FeatureLevelRecord(name="metadata.version", feature_level=25)

    assert encode_record(record) == data
    assert decode_record(data) == record


@pytest.mark.parametrize(
    ("record", "version"),
    [
        (mr.TopicRecord(name="t", topic_id=A), 0),
        (mr.RegisterBrokerRecord(broker_id=1, log_dirs=[DIR]), 3),
        (mr.PartitionRecord(replicas=[1], directories=[DIR]), 1),
        (mr.PartitionRecord(replicas=[1], directories=[DIR], eligible_leader_replicas=[1]), 2),
        (mr.PartitionRecord(replicas=[1], directories=[DIR], last_known_elr=[1]), 2),
        (mr.PartitionChangeRecord(isr=[1]), 0),
        (mr.PartitionChangeRecord(directories=[DIR]), 1),
        (mr.PartitionChangeRecord(eligible_leader_replicas=[]), 2),
        (mr.PartitionChangeRecord(last_known_elr=[1]), 2),
        (mr.BrokerRegistrationChangeRecord(fenced=1), 0),
        (mr.BrokerRegistrationChangeRecord(in_controlled_shutdown=1), 1),
        (mr.BrokerRegistrationChangeRecord(log_dirs=[DIR]), 2),
    ],
    ids=repr,
)
def test_a_record_has_the_lowest_version_that_carries_it(record: Message, version: int) -> None:
    data = encode_record(record)

    assert data[:3] == bytes((1, record.api_key, version))
    assert decode_record(data) == record


def test_a_kind_of_a_later_release_is_skipped_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = bytes((1, 0xE7, 0x07, 0)) + b"whatever"

    with caplog.at_level(logging.WARNING):
        assert decode_record(data) is None
        assert decode_record(data) is None

    assert [r.getMessage() for r in caplog.records] == [
        "metadata records of kind 999 are not known to this release: skipped"
    ]


def test_a_later_version_is_read_as_ours_without_its_new_tags() -> None:
    """As a release to come may write it: version 9, with a tag that we do not know."""
    record = mr.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=14)
    data = bytearray(encode_record(record))
    data[2] = 9
    data[-1:] = bytes((1, 7, 1, 1))  # one tag: number 7, one byte long

    assert decode_record(bytes(data)) == record


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x02\x0c\x00",
        encode_record(mr.NoOpRecord()) + b"x",
        encode_record(mr.TopicRecord(name="t", topic_id=A))[:-3],
    ],
    ids=["empty", "short", "other frame", "more", "less"],
)
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_record(data)
