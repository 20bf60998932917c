"""Transactions request by request: versions, fencing, and what a leader refuses to append."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka.admin import AdminClient
from eventually import eventually
from wire_client import (
    WireClient,
    batch_of,
    encoded,
    fetch_request,
    fetched,
    offset_for,
    produce_request,
    produced,
)

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

Identity = tuple[int, int]
"""Producer id and epoch."""
ADDS, VERIFIES, OLD = 12, 11, 10
"""Versions of Produce."""


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    create_topics(broker.bootstrap, name)
    return name


@pytest.fixture
def client(broker: BarnabasProcess) -> Iterator[WireClient]:
    with WireClient(broker.port) as connected:
        yield connected


def begin(client: WireClient, name: str, *, timeout_ms: int = 60_000) -> Identity:
    """Find the coordinator and become the producer of `name`."""
    found = client.call(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 6)
    assert found.coordinators[0].error_code == 0
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)
    passing = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}

    def ask() -> Any:
        answer = client.call(request, 5)
        return None if answer.error_code in passing else answer

    answer = eventually(ask)
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def transactional(name: str, topic: str, who: Identity, sequence: int, value: bytes) -> Any:
    batch = batch_of(
        value,
        producer_id=who[0],
        producer_epoch=who[1],
        base_sequence=sequence,
        transactional=True,
    )
    request = produce_request(topic, batch)
    request.transactional_id = name
    return request


def write(
    client: WireClient,
    name: str,
    topic: str,
    who: Identity,
    *,
    sequence: int = 0,
    version: int = ADDS,
    value: bytes = b"v",
) -> ErrorCode:
    answer = client.call(transactional(name, topic, who, sequence, value), version)
    return ErrorCode(produced(answer)[0])


def ending(name: str, who: Identity, *, commit: bool = True) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=name, producer_id=who[0], producer_epoch=who[1], committed=commit
    )


def end(client: WireClient, name: str, who: Identity, *, commit: bool = True) -> Identity:
    """EndTxn v5: the producer's next identity."""
    answer = client.call(ending(name, who, commit=commit), 5)
    assert answer.error_code == 0, ErrorCode(answer.error_code)
    return answer.producer_id, answer.producer_epoch


def add(client: WireClient, name: str, topic: str, who: Identity, *, version: int = 3) -> ErrorCode:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=who[0],
        v3_and_below_producer_epoch=who[1],
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
    )
    answer = client.call(request, version).results_by_topic_v3_and_below[0]
    return ErrorCode(answer.results_by_partition[0].partition_error_code)


def described(client: WireClient, name: str) -> Any:
    return client.call(DescribeTransactionsRequest(transactional_ids=[name]), 0).transaction_states[
        0
    ]


def test_every_end_takes_the_next_epoch_and_a_late_end_hits_nothing(
    client: WireClient, topic: str
) -> None:
    first = begin(client, topic)
    assert write(client, topic, topic, first) is ErrorCode.NONE
    late = encoded(ending(topic, first, commit=False), 5, correlation_id=77)
    second = end(client, topic, first)
    assert second == (first[0], first[1] + 1)
    assert write(client, topic, topic, second) is ErrorCode.NONE
    client.sock.sendall(late)
    frame = client.receive_frame()
    assert frame[:4] == (77).to_bytes(4, "big")
    # correlation id, tagged fields, throttle time, error code
    assert int.from_bytes(frame[9:11], "big") == ErrorCode.PRODUCER_FENCED
    assert described(client, topic).transaction_state == "Ongoing"
    third = end(client, topic, second)
    assert third == (first[0], first[1] + 2)
    assert end(client, topic, second) == third  # said twice
    assert described(client, topic).transaction_state == "CompleteCommit"


def test_batches_sent_without_waiting_are_appended_in_order(client: WireClient, topic: str) -> None:
    who = begin(client, topic)
    requests = [transactional(topic, topic, who, n, str(n).encode()) for n in range(5)]
    for request in requests:
        client.send(request, ADDS)
    answers = [produced(client.receive(request, ADDS)) for request in requests]
    assert answers == [(0, n) for n in range(5)]
    end(client, topic, who)


def test_a_batch_after_the_end_of_its_transaction_is_refused(
    client: WireClient, topic: str
) -> None:
    who = begin(client, topic)
    assert write(client, topic, topic, who) is ErrorCode.NONE
    end(client, topic, who)
    found = write(client, topic, topic, who, sequence=1)
    assert found is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("version", "refusal"),
    [(OLD, ErrorCode.INVALID_TXN_STATE), (VERIFIES, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_older_clients_must_have_added_the_partition(
    client: WireClient, topic: str, version: int, refusal: ErrorCode
) -> None:
    who = begin(client, topic)
    assert write(client, topic, topic, who, version=version) is refusal
    assert add(client, topic, topic, who) is ErrorCode.NONE
    assert write(client, topic, topic, who, version=version) is ErrorCode.NONE
    assert client.call(ending(topic, who), 4).error_code == 0
    assert described(client, topic).producer_epoch == who[1]  # kept, as ever
    assert write(client, topic, topic, who, sequence=1, version=version) is refusal


def test_a_partition_that_is_not_there_cannot_be_added(client: WireClient, topic: str) -> None:
    who = begin(client, topic)
    assert add(client, topic, topic + "-none", who) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert described(client, topic).transaction_state == "Empty"


@pytest.mark.parametrize("internal", ["__consumer_offsets", "__transaction_state"])
def test_clients_cannot_write_to_internal_topics(
    client: WireClient, topic: str, internal: str
) -> None:
    client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[topic]), 6)
    who = begin(client, topic)
    ends = offset_for(client, internal, -1)
    plain = produce_request(internal, batch_of(b"v", key=b"k"))
    for _ in range(3):  # the second one like the first could take the short way
        assert produced(client.call(plain, 11))[0] == ErrorCode.INVALID_TOPIC_EXCEPTION
    for version in (OLD, VERIFIES, ADDS):
        code = write(client, topic, internal, who, version=version)
        assert code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert add(client, topic, internal, who) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert described(client, topic).transaction_state == "Empty"
    assert offset_for(client, internal, -1) == ends


@pytest.mark.parametrize("has_sent_before", [False, True])
def test_a_transactional_batch_without_a_transactional_id_is_refused(
    client: WireClient, topic: str, has_sent_before: bool
) -> None:
    """Also on the short way, which a second request like the first one takes."""
    ends = 0
    if has_sent_before:
        plain = produce_request(topic, batch_of(b"v"))
        assert produced(client.call(plain, 11)) == (0, 0)
        ends = 1
    request = transactional("", topic, (7_001, 0), 0, b"v")
    request.transactional_id = None
    code, _ = produced(client.call(request, 11))
    assert code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert offset_for(client, topic, -1) == ends


def commit_offsets(
    client: WireClient, name: str, who: Identity, offset: int, *, version: int
) -> ErrorCode:
    """For the group and the topic that are named after the transactional id."""
    request = TxnOffsetCommitRequest(
        transactional_id=name,
        group_id=name + "-group",
        producer_id=who[0],
        producer_epoch=who[1],
        topics=[
            TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                ],
            )
        ],
    )
    answer = client.call(request, version)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def committed_offset(client: WireClient, topic: str, group: str) -> tuple[int, int]:
    """Stable offset and error code."""
    wanted = OffsetFetchRequestGroup(
        group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    )
    answer = client.call(OffsetFetchRequest(groups=[wanted], require_stable=True), 8)
    found = answer.groups[0].topics[0].partitions[0]
    return found.committed_offset, found.error_code


def test_offsets_of_a_transaction_count_from_its_commit_on(client: WireClient, topic: str) -> None:
    group = topic + "-group"
    client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 6)
    who = begin(client, topic)
    assert commit_offsets(client, topic, who, 5, version=5) is ErrorCode.NONE
    assert committed_offset(client, topic, group) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    who = end(client, topic, who)
    assert committed_offset(client, topic, group) == (5, 0)
    assert commit_offsets(client, topic, who, 9, version=5) is ErrorCode.NONE
    end(client, topic, who, commit=False)
    assert committed_offset(client, topic, group) == (5, 0)


def test_offsets_of_partitions_that_are_not_there_are_refused(
    client: WireClient, topic: str
) -> None:
    group, missing = topic + "-group", [1, -1]
    client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 6)
    who = begin(client, topic)
    unknown, fine = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0
    expected = [(topic, {0: fine, 1: unknown, -1: unknown})]

    def told(answer: Any) -> list[tuple[str, dict[int, int]]]:
        return [
            (each.name, {p.partition_index: p.error_code for p in each.partitions})
            for each in answer.topics
        ]

    def commit(indexes: list[int]) -> Any:
        partitions = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=5)
            for index in indexes
        ]
        topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
        return client.call(OffsetCommitRequest(group_id=group, topics=topics), 8)

    def commit_in_transaction(indexes: list[int]) -> Any:
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=7)
            for index in indexes
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=topic,
            group_id=group,
            producer_id=who[0],
            producer_epoch=who[1],
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        return client.call(request, 5)

    def delete(indexes: list[int]) -> Any:
        partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
        topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
        return client.call(OffsetDeleteRequest(group_id=group, topics=topics), 0)

    for ask in (commit, commit_in_transaction, delete):
        assert told(ask(missing)) == [(topic, {1: unknown, -1: unknown})], ask
        assert told(ask([0, *missing])) == expected, ask
    end(client, topic, who)
    everything = OffsetFetchRequestGroup(group_id=group, topics=None)
    answer = client.call(OffsetFetchRequest(groups=[everything]), 8)
    assert answer.groups[0].topics == []


def test_older_clients_must_have_added_the_group(client: WireClient, topic: str) -> None:
    group = topic + "-group"
    who = begin(client, topic)
    request = AddOffsetsToTxnRequest(
        transactional_id=topic, producer_id=who[0], producer_epoch=who[1], group_id=group
    )
    client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 6)
    assert commit_offsets(client, topic, who, 5, version=3) is ErrorCode.INVALID_TXN_STATE
    assert client.call(request, 3).error_code == 0
    assert commit_offsets(client, topic, who, 5, version=3) is ErrorCode.NONE
    assert client.call(ending(topic, who), 4).error_code == 0
    assert committed_offset(client, topic, group) == (5, 0)
    zombie = (who[0], who[1] - 1)
    assert commit_offsets(client, topic, zombie, 1, version=3) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_transactions_are_listed_and_described(client: WireClient, topic: str) -> None:
    who = begin(client, topic, timeout_ms=54_321)
    assert write(client, topic, topic, who) is ErrorCode.NONE
    answer = described(client, topic)
    assert (answer.transaction_state, answer.transaction_timeout_ms) == ("Ongoing", 54_321)
    assert (answer.producer_id, answer.producer_epoch) == who
    assert [(t.topic, t.partitions) for t in answer.topics] == [(topic, [0])]
    request = ListTransactionsRequest(
        state_filters=["Ongoing", "Nonsense"], producer_id_filters=[who[0]]
    )
    listed = client.call(request, 1)
    assert listed.unknown_state_filters == ["Nonsense"]
    found = [(t.transactional_id, t.transaction_state) for t in listed.transaction_states]
    assert found == [(topic, "Ongoing")]
    request.duration_filter = 3_600_000
    assert client.call(request, 1).transaction_states == []
    end(client, topic, who)
    missing = described(client, topic + "-none")
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_reader_is_told_of_aborted_transactions(client: WireClient, topic: str) -> None:
    who = begin(client, topic)
    assert write(client, topic, topic, who) is ErrorCode.NONE
    request = fetch_request(topic)
    request.isolation_level = 1
    assert fetched(client.call(request, 12)).last_stable_offset == 0
    end(client, topic, who, commit=False)
    answer = fetched(client.call(request, 12))
    assert (answer.last_stable_offset, answer.high_watermark) == (2, 2)
    assert [(a.producer_id, a.first_offset) for a in answer.aborted_transactions] == [(who[0], 0)]


def test_a_transaction_can_be_ended_by_a_marker_of_a_tool(client: WireClient, topic: str) -> None:
    who = begin(client, topic)
    assert write(client, topic, topic, who) is ErrorCode.NONE
    marker = WritableTxnMarker(
        producer_id=who[0],
        producer_epoch=who[1],
        transaction_result=False,
        coordinator_epoch=0,
        topics=[
            WritableTxnMarkerTopic(name=topic, partition_indexes=[0]),
            WritableTxnMarkerTopic(name=topic + "-none", partition_indexes=[0]),
        ],
    )
    answer = client.call(WriteTxnMarkersRequest(markers=[marker]), 1).markers[0]
    codes = [topic.partitions[0].error_code for topic in answer.topics]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    request = fetch_request(topic)
    request.isolation_level = 1
    assert fetched(client.call(request, 12)).last_stable_offset == 2


def test_a_transaction_whose_topic_was_deleted_completes(
    broker: BarnabasProcess, client: WireClient, topic: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    who = begin(client, topic)
    assert write(client, topic, topic, who) is ErrorCode.NONE
    admin.delete_topics([topic])[topic].result(30)
    end(client, topic, who)
    assert described(client, topic).transaction_state == "CompleteCommit"


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_transactions_are_the_same_after_a_restart(tmp_path: Path, is_killed: bool) -> None:
    names = ["open", "committed", "aborted", "empty"]
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        with WireClient(broker.port) as client:
            producers = {name: begin(client, name) for name in names}
            for name in names[:3]:
                assert write(client, name, "t", producers[name]) is ErrorCode.NONE
            end(client, "committed", producers["committed"])
            end(client, "aborted", producers["aborted"], commit=False)
            before = [described(client, name) for name in names]
        broker.kill() if is_killed else broker.stop()
        broker.start()
        with WireClient(broker.port) as client:
            loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            eventually(lambda: all(described(client, n).error_code != loading for n in names))
            assert [described(client, name) for name in names] == before
            end(client, "open", producers["open"])
            assert fetched(client.call(fetch_request("t"), 12)).last_stable_offset == 6
