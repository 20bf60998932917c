"""A range is read whole and once: leaders move, connections break, quotas and retention come by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fake_brokers import FakeCluster, install
from fetched_batches import rows

from barnabas.base.error_codes import ErrorCode
from barnabas.client.errors import ClientError
from barnabas.pipelines.cluster import Cluster
from barnabas.pipelines.errors import DataLossError, PipelineError
from barnabas.pipelines.fetching import RangeReader
from barnabas.pipelines.offsets import OffsetRange
from barnabas.pipelines.options import SourceOptions, source_options
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.records.batch import Record, encode_batch

PER_BATCH = 5
OPTIONS = source_options(
    {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "kafkaConsumer.pollTimeoutMs": "5000"},
    is_stream=False,
)
SPAN = OffsetRange("t", 0, 0, 20)


@dataclass(slots=True)
class Partition:
    """A partition of a fake cluster: a batch of five records at a time, up to `end`."""

    cluster: FakeCluster
    end: int = 20
    start: int = 0
    high_watermark: int = 20
    faults: list[Callable[[int], FetchResponse | ClientError]] = field(default_factory=list)
    """What goes wrong with the next fetches, one after the other."""

    def __post_init__(self) -> None:
        self.cluster.respond[FetchRequest] = self.fetch
        self.cluster.respond[ListOffsetsRequest] = self.list_offsets

    def fetch(self, broker: int, request: FetchRequest) -> FetchResponse:
        if self.faults:
            fault = self.faults.pop(0)(broker)
            if isinstance(fault, ClientError):
                raise fault
            return fault
        (partition,) = request.topics[0].partitions
        offset = partition.fetch_offset
        if not self.start <= offset <= self.high_watermark:
            return answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset >= self.end:
            return answer(high_watermark=self.high_watermark)
        base = offset - offset % PER_BATCH
        return answer(
            high_watermark=self.high_watermark,
            records=bytes(encode_batch([Record(timestamp=1)] * PER_BATCH, base_offset=base)),
        )

    def list_offsets(self, broker: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        found = ListOffsetsPartitionResponse(partition_index=0, offset=self.start)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])


def answer(throttle_time_ms: int = 0, **fields: Any) -> FetchResponse:
    return FetchResponse(
        throttle_time_ms=throttle_time_ms,
        responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(**fields)])],
    )


def refused(code: ErrorCode) -> Callable[[int], FetchResponse]:
    return lambda _: answer(error_code=code)


@pytest.fixture
def partition(monkeypatch: pytest.MonkeyPatch) -> Partition:
    return Partition(install(monkeypatch))


def read(span: OffsetRange = SPAN, options: SourceOptions = OPTIONS) -> list[int]:
    cluster = Cluster(options.properties, timeout_s=5)
    try:
        return [
            row["offset"]
            for found in RangeReader(cluster, span, options)
            for row in rows(found, span)
        ]
    finally:
        cluster.close()


def test_all_of_it_in_order(partition: Partition) -> None:
    assert read() == list(range(20))
    assert [request.topics[0].partitions[0].fetch_offset for _, request in fetches(partition)] == [
        *(0, 5, 10, 15)
    ]


def fetches(partition: Partition) -> list[tuple[int, FetchRequest]]:
    return partition.cluster.sent(FetchRequest)


def test_a_range_begins_and_ends_within_batches(partition: Partition) -> None:
    assert read(SPAN._replace(start=3, end=13)) == list(range(3, 13))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_leader_that_moves_is_followed(partition: Partition, code: ErrorCode) -> None:
    def moved(broker: int) -> FetchResponse:
        partition.cluster.leaders["t", 0] = 2
        return answer(error_code=code)

    partition.faults = [moved]

    assert read() == list(range(20))
    assert [broker for broker, _ in fetches(partition)] == [1, 2, 2, 2, 2]


def test_a_connection_that_breaks_is_made_again(partition: Partition) -> None:
    partition.faults = [lambda _: ClientError("gone"), lambda _: ClientError("gone again")]

    assert read() == list(range(20))
    assert partition.cluster.open_connections == 0


def test_a_refusal_that_does_not_pass_is_an_error(partition: Partition) -> None:
    partition.faults = [refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)]

    with pytest.raises(PipelineError, match="t-0"):
        read()


def test_a_quota_is_waited_for(partition: Partition) -> None:
    partition.faults = [lambda _: answer(throttle_time_ms=1, high_watermark=20)]

    assert read() == list(range(20))


def test_what_retention_took_is_an_error_or_passed_over_as_asked(partition: Partition) -> None:
    partition.start = 10

    with pytest.raises(DataLossError, match="offsets 0 to 9"):
        read()
    assert read(options=replace(OPTIONS, fail_on_data_loss=False)) == list(range(10, 20))


def test_a_range_that_is_gone_altogether_is_passed_over_if_asked(partition: Partition) -> None:
    partition.start = 20

    with pytest.raises(DataLossError, match="offsets 0 to 19"):
        read()
    assert read(options=replace(OPTIONS, fail_on_data_loss=False)) == []


def test_a_log_that_was_cut_is_data_loss(partition: Partition) -> None:
    partition.high_watermark = partition.end = 10

    with pytest.raises(DataLossError, match="offset 15, and what came after it"):
        read(SPAN._replace(start=15))
    lenient = replace(OPTIONS, fail_on_data_loss=False)
    assert read(SPAN._replace(start=15), options=lenient) == []


def test_a_tail_that_compaction_took_ends_the_range(partition: Partition) -> None:
    partition.end = 15

    assert read() == list(range(15))


def test_one_answer_without_records_ends_nothing(partition: Partition) -> None:
    partition.faults = [lambda _: answer(high_watermark=20)]

    assert read() == list(range(20))


def test_an_end_that_is_never_reached_is_an_error_in_the_end(partition: Partition) -> None:
    with pytest.raises(PipelineError, match="nothing at offset 20"):
        read(SPAN._replace(end=25), options=replace(OPTIONS, poll_timeout_ms=200))


def test_who_reads_committed_records_is_told_what_was_aborted(partition: Partition) -> None:
    partition.faults = [
        lambda _: answer(
            last_stable_offset=20,
            aborted_transactions=[AbortedTransaction(producer_id=7, first_offset=2)],
            records=bytes(encode_batch([Record(timestamp=1)] * 20)),
        )
    ]
    options = replace(OPTIONS, is_committed_only=True)
    cluster = Cluster(options.properties, timeout_s=5)

    (found,) = RangeReader(cluster, SPAN, options)
    cluster.close()

    assert found.aborted == [(7, 2)]
    assert fetches(partition)[0][1].isolation_level == 1
