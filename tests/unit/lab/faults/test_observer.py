"""What passes is counted when it passes: sent, acknowledged, refused, replicated, committed."""

from __future__ import annotations

from passing_messages import passing_request, passing_response

from barnabas.lab.faults.observer import Observer
from barnabas.protocol.message import Message
from barnabas.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.records.batch import Record, encode_batch

ID = bytes(15) + b"\7"
NOT_ENOUGH_REPLICAS = 19


def produce(records: int, *, acks: int = 1) -> ProduceRequest:
    batch = encode_batch([Record(value=b"v") for _ in range(records)])
    partition = PartitionProduceData(index=2, records=batch)
    return ProduceRequest(
        acks=acks, topic_data=[TopicProduceData(name="t", partition_data=[partition])]
    )


def produced(*, error: int = 0, base_offset: int = 0) -> ProduceResponse:
    partition = PartitionProduceResponse(index=2, error_code=error, base_offset=base_offset)
    return ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[partition])]
    )


def exchange(observer: Observer, request: Message, response: Message, version: int) -> None:
    _, answered = observer.request(passing_request(request, version))
    assert answered is not None
    answered(passing_response(response, version))


def test_records_are_acknowledged_when_their_leader_says_so() -> None:
    observer = Observer()

    exchange(observer, produce(3), produced(base_offset=10), 9)
    exchange(observer, produce(2), produced(error=NOT_ENOUGH_REPLICAS), 9)

    traffic = observer.traffic
    assert traffic.sent == {("t", 2): 5}
    assert traffic.acked == {("t", 2): 3}
    assert traffic.acked_end == {("t", 2): 13}
    assert traffic.refused == {("t", 2): 2}
    assert traffic.refusals == {"NOT_ENOUGH_REPLICAS": 1}


def test_nobody_answers_a_producer_that_wants_no_answer() -> None:
    observer = Observer()

    assert observer.request(passing_request(produce(3, acks=0), 9)) == (False, None)
    assert observer.traffic.sent == {("t", 2): 3}


def test_a_follower_is_known_by_what_it_asks_for() -> None:
    observer = Observer()
    created = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", topic_id=ID)])
    observer.response(passing_response(created, 7))

    observer.request(passing_request(fetch(offset=40, follower=3), 17))
    observer.request(passing_request(fetch(offset=99, follower=-1), 17))

    assert observer.traffic.positions == {("t", 2, 3): 40}


def fetch(*, offset: int, follower: int) -> FetchRequest:
    partition = FetchPartition(partition=2, fetch_offset=offset)
    return FetchRequest(
        replica_state=ReplicaState(replica_id=follower),
        topics=[FetchTopic(topic_id=ID, partitions=[partition])],
    )


def test_a_commit_counts_when_it_was_answered_without_an_error() -> None:
    observer = Observer()

    exchange(observer, commit(50), commit_answer(0), 8)
    exchange(observer, commit(60), commit_answer(25), 8)

    assert observer.traffic.committed == {("g", "t", 2): 50}


def commit(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=2, committed_offset=offset)
    return OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])]
    )


def commit_answer(error: int) -> OffsetCommitResponse:
    partition = OffsetCommitResponsePartition(partition_index=2, error_code=error)
    return OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])]
    )


def test_a_copy_of_the_numbers_stays_as_it_is() -> None:
    observer = Observer()
    before = observer.traffic.copy()

    exchange(observer, produce(3), produced(), 9)

    assert before.acked == {}
    assert observer.traffic.copy() == observer.traffic
