"""Delivering markers."""

from __future__ import annotations

import pytest
from transactions import A0, A1, B0, markers_written

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.coordinator.txn.markers import (
    MarkerDelivery,
    MarkerOutcome,
    codes_of,
    markers_request,
    outcome_of,
)
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

E = ErrorCode


def delivery(
    *partitions: TopicPartition, producer_id: int = 100, is_commit: bool = True
) -> MarkerDelivery:
    return MarkerDelivery(
        markers=WriteMarkers(
            transactional_id="t",
            producer_id=producer_id,
            producer_epoch=1,
            is_commit=is_commit,
            partitions=partitions,
            coordinator_epoch=9,
            transaction_version=2,
        )
    )


def answer(producer_id: int, codes: dict[TopicPartition, int]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=partition.topic,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=partition.partition, error_code=code
                    )
                ],
            )
            for partition, code in codes.items()
        ],
    )


@pytest.mark.parametrize("code", list(ErrorCode))
def test_only_a_marker_that_need_not_be_written_again_is_written(code: ErrorCode) -> None:
    expected = {
        E.NONE: MarkerOutcome.WRITTEN,
        E.UNSUPPORTED_FOR_MESSAGE_FORMAT: MarkerOutcome.WRITTEN,
        E.UNSUPPORTED_VERSION: MarkerOutcome.WRITTEN,
        E.INVALID_PRODUCER_EPOCH: MarkerOutcome.FENCED,
        E.TRANSACTION_COORDINATOR_FENCED: MarkerOutcome.FENCED,
    }.get(code, MarkerOutcome.AGAIN)
    assert outcome_of(code) is expected


def test_it_is_done_when_every_partition_has_answered() -> None:
    sent = delivery(A0, A1, B0)
    sent.answered(A0, E.NONE)
    sent.answered(A1, E.NOT_LEADER_OR_FOLLOWER)
    sent.gone(B0)
    assert sent.remaining == {A1}
    assert not sent.is_done
    sent.answered(A1, E.NONE)
    assert sent.is_done
    assert sent.written() == markers_written(100, 1)


def test_who_is_fenced_is_never_done() -> None:
    sent = delivery(A0, A1)
    sent.answered(A0, E.TRANSACTION_COORDINATOR_FENCED)
    sent.answered(A0, E.NONE)
    sent.answered(A1, E.NONE)
    assert not sent.is_done


def test_a_leader_gets_the_markers_of_several_transactions_at_once() -> None:
    one, two = delivery(A0, A1, B0), delivery(A0, producer_id=101, is_commit=False)

    request = markers_request([(one.markers, [A0, B0]), (two.markers, [A0])])

    def topic(name: str) -> WritableTxnMarkerTopic:
        return WritableTxnMarkerTopic(name=name, partition_indexes=[0])

    def marker(
        producer_id: int, *topics: WritableTxnMarkerTopic, commit: bool
    ) -> WritableTxnMarker:
        return WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=1,
            transaction_result=commit,
            coordinator_epoch=9,
            topics=list(topics),
        )

    assert request == WriteTxnMarkersRequest(
        markers=[
            marker(100, topic("a"), topic("b"), commit=True),
            marker(101, topic("a"), commit=False),
        ]
    )


def test_an_answer_tells_what_became_of_each_partition() -> None:
    response = WriteTxnMarkersResponse(
        markers=[answer(100, {A0: 0}), answer(101, {A0: 0, A1: E.REQUEST_TIMED_OUT}), answer(7, {})]
    )

    assert codes_of(response) == {(100, A0): 0, (101, A0): 0, (101, A1): E.REQUEST_TIMED_OUT}


def test_the_same_markers_have_the_same_key() -> None:
    assert delivery(A0).key == delivery(A1).key != delivery(A0, producer_id=101).key
