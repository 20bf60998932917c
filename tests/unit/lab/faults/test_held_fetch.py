"""What a follower must not have yet is cut out of the answers to its fetches."""

from __future__ import annotations

import pytest
from passing_messages import passing_response

from barnabas.lab.faults.held_fetch import Hold, is_empty
from barnabas.lab.faults.passing import Passing
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas.records.batch import Record, encode_batch

ID = bytes(15) + b"\7"


def batch(base_offset: int, count: int) -> bytes:
    return bytes(encode_batch([Record(value=b"v") for _ in range(count)], base_offset=base_offset))


BATCHES = batch(0, 5), batch(5, 5), batch(10, 5)


def answer(records: bytes, partition: int = 0) -> Passing:
    data = PartitionData(partition_index=partition, records=records)
    topic = FetchableTopicResponse(topic_id=ID, partitions=[data])
    return passing_response(FetchResponse(responses=[topic]), 17, peer=2)


def hold(at_offset: int, follower: int | None = None) -> Hold:
    return Hold(topic="t", topic_id=ID, partition=0, at_offset=at_offset, follower=follower)


@pytest.mark.parametrize(
    ("at_offset", "kept"), [(0, 0), (4, 0), (5, 1), (7, 1), (10, 2), (14, 2), (15, 3), (99, 3)]
)
def test_no_batch_that_has_the_offset_or_a_later_one_passes(at_offset: int, kept: int) -> None:
    passing = answer(b"".join(BATCHES))

    assert hold(at_offset).cut(passing) is (kept < 3)
    assert bytes(passing.message.responses[0].partitions[0].records) == b"".join(BATCHES[:kept])
    assert is_empty(passing) is (kept == 0)


def test_other_partitions_are_left_alone() -> None:
    passing = answer(BATCHES[0], partition=1)

    assert not hold(0).cut(passing)
    assert not is_empty(passing)


def test_an_answer_without_records_is_not_changed() -> None:
    assert not hold(0).cut(answer(b""))


def test_only_fetches_of_the_follower_are_looked_into() -> None:
    assert hold(0).may_match(ApiKey.FETCH, 2)
    assert not hold(0).may_match(ApiKey.FETCH, None)
    assert not hold(0).may_match(ApiKey.PRODUCE, 2)
    assert hold(0, follower=2).may_match(ApiKey.FETCH, 2)
    assert not hold(0, follower=3).may_match(ApiKey.FETCH, 2)
