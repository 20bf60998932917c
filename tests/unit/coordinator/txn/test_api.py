"""AddPartitionsToTxn between messages and events."""

from __future__ import annotations

import pytest
from transactions import A0, A1, B0, V1, V2, add

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.api import (
    errors_of,
    events_of,
    refused_partitions,
    request_of,
    response_of,
)
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)

E = ErrorCode


def topic_result(name: str, *codes: int) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        name=name,
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
            for index, code in enumerate(codes)
        ],
    )


@pytest.mark.parametrize("version", range(4))
def test_a_client_has_one_transaction(version: int) -> None:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=100,
        v3_and_below_producer_epoch=3,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name="a", partitions=[0, 1]),
            AddPartitionsToTxnTopic(name="b", partitions=[0]),
        ],
    )
    received = AddPartitionsToTxnRequest.decode(request.encode(version), version)
    assert events_of(received, version) == [add(100, 3, A0, A1, B0, client_version=V1)]


@pytest.mark.parametrize("version", [4, 5])
def test_a_leader_has_several_and_may_only_want_to_know(version: int) -> None:
    events = [
        add(100, 3, A0, A1, client_version=V2, verify_only=True),
        add(101, 0, B0, name="u", client_version=V2),
    ]
    received = AddPartitionsToTxnRequest.decode(request_of(events).encode(version), version)
    assert events_of(received, version) == events


@pytest.mark.parametrize("version", range(4))
def test_a_client_is_told_each_partition_in_its_own_words(version: int) -> None:
    fenced = E.PRODUCER_FENCED if version >= 2 else E.INVALID_PRODUCER_EPOCH
    errors = {A1: E.PRODUCER_FENCED, A0: E.NONE, B0: E.PRODUCER_FENCED}
    assert response_of([(add(1, 1), errors)], version) == AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[topic_result("a", 0, fenced), topic_result("b", fenced)]
    )


def test_a_leader_is_told_each_transaction() -> None:
    events = [add(100, 3, A0, A1), add(101, 0, B0, name="u")]
    errors = [{A0: E.NONE, A1: E.TRANSACTION_ABORTABLE}, {B0: E.PRODUCER_FENCED}]
    response = response_of([*zip(events, errors, strict=True)], 5)
    assert response == AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id="t",
                topic_results=[topic_result("a", 0, E.TRANSACTION_ABORTABLE)],
            ),
            AddPartitionsToTxnResult(
                transactional_id="u", topic_results=[topic_result("b", E.PRODUCER_FENCED)]
            ),
        ]
    )
    received = AddPartitionsToTxnResponse.decode(response.encode(5), 5)
    assert errors_of(received, events) == {"t": errors[0], "u": errors[1]}


def test_an_error_of_the_whole_request_is_one_of_each_partition() -> None:
    response = AddPartitionsToTxnResponse(error_code=E.NOT_COORDINATOR)
    assert errors_of(response, [add(1, 1, A0, A1)]) == {
        "t": {A0: E.NOT_COORDINATOR, A1: E.NOT_COORDINATOR}
    }
    forbidden = AddPartitionsToTxnResponse(error_code=E.CLUSTER_AUTHORIZATION_FAILED)
    assert errors_of(forbidden, [add(1, 1, A0)]) == {"t": {A0: E.INVALID_TXN_STATE}}


def test_what_the_coordinator_does_not_answer_is_not_in_order() -> None:
    response = AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transactional_id="t", topic_results=[topic_result("a", 9999)])
        ]
    )
    assert errors_of(response, [add(1, 1, A0, A1), add(2, 2, B0, name="u")]) == {
        "t": {A0: E.UNKNOWN_SERVER_ERROR, A1: E.INVALID_TXN_STATE},
        "u": {B0: E.INVALID_TXN_STATE},
    }


def test_one_bad_partition_keeps_all_from_being_added() -> None:
    def check(partition: TopicPartition) -> ErrorCode:
        return E.UNKNOWN_TOPIC_OR_PARTITION if partition == A1 else E.NONE

    assert refused_partitions(add(1, 1, A0, A1, B0), check) == {
        A0: E.OPERATION_NOT_ATTEMPTED,
        A1: E.UNKNOWN_TOPIC_OR_PARTITION,
        B0: E.OPERATION_NOT_ATTEMPTED,
    }
    assert refused_partitions(add(1, 1, A0, B0), check) is None
