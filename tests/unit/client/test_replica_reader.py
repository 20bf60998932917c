from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.base.error_codes import ErrorCode
from barnabas.client.brokers import PartitionPlace
from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.replica_reader import EARLIEST, LATEST, ReplicaData, ReplicaReader
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import fetch
from barnabas.protocol.messages import list_offsets as listed

ID = b"t" * 16
P, Q = ("t", 0), ("t", 1)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


@pytest.fixture
def reader(cluster: FakeCluster) -> Iterator[ReplicaReader]:
    with ReplicaReader.connect(PLAIN) as connected:
        connected.places = {
            P: PartitionPlace(leader=1, replicas=(1, 2), topic_id=ID),
            Q: PartitionPlace(leader=2, replicas=(2,), topic_id=ID),
        }
        yield connected
    assert cluster.open_connections == 0


def fetched(broker: int, request: fetch.FetchRequest) -> fetch.FetchResponse:
    """Each broker has, of each partition, its own number and the offset asked for."""
    return fetch.FetchResponse(
        responses=[
            fetch.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    fetch.PartitionData(
                        partition_index=each.partition,
                        high_watermark=100 + broker,
                        records=b"%d-%d" % (broker, each.fetch_offset),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def test_topics_are_found_with_their_partitions(cluster: FakeCluster) -> None:
    with ReplicaReader.connect(PLAIN) as reader:
        assert reader.topics() == ["t"]
        assert sorted(reader.places) == [P, Q]


@pytest.mark.parametrize("version", [12, 14, 17])
def test_every_replica_is_asked_as_a_debugging_consumer(
    cluster: FakeCluster, reader: ReplicaReader, version: int
) -> None:
    cluster.highest[ApiKey.FETCH] = version
    cluster.respond[fetch.FetchRequest] = fetched

    found = reader.fetch({P: 5, Q: 6}, max_bytes=1_000, max_wait_ms=7)

    assert {place: sorted(replicas) for place, replicas in found.items()} == {P: [1, 2], Q: [2]}
    assert bytes(found[P][2].records) == b"2-5"
    assert found[P][1].high_watermark == 101
    for _, request in cluster.sent(fetch.FetchRequest):
        who = request.replica_state.replica_id if version >= 15 else request.replica_id
        assert (who, request.max_wait_ms, request.min_bytes) == (-2, 7, 1)
        assert request.topics[0].partitions[0].partition_max_bytes == 1_000


def test_an_error_of_a_replica_is_told_with_its_data(
    cluster: FakeCluster, reader: ReplicaReader
) -> None:
    def refuse(broker: int, request: fetch.FetchRequest) -> fetch.FetchResponse:
        answer = fetched(broker, request)
        answer.responses[0].partitions[0].error_code = 1 if broker == 1 else 9999
        if broker == 2:
            del answer.responses[0].partitions[1]
        return answer

    cluster.respond[fetch.FetchRequest] = refuse

    found = reader.fetch({P: 5, Q: 6}, max_bytes=1, max_wait_ms=1)

    assert found[P][1] == ReplicaData(error=ErrorCode.OFFSET_OUT_OF_RANGE.text)
    assert found[P][2] == ReplicaData(error="error code 9999")
    assert found[Q][2] == ReplicaData(error="no answer for it")


def test_a_broker_that_is_gone_is_asked_again_over_a_new_connection(
    cluster: FakeCluster, reader: ReplicaReader
) -> None:
    def gone(broker: int, request: fetch.FetchRequest) -> fetch.FetchResponse:
        if broker == 2:
            raise ClientError("connection closed by the broker")
        return fetched(broker, request)

    cluster.respond[fetch.FetchRequest] = gone
    found = reader.fetch({P: 5}, max_bytes=1, max_wait_ms=1)
    assert found[P][2] == ReplicaData(error="connection closed by the broker")
    assert found[P][1].error is None
    assert 2 not in reader.brokers.connections

    cluster.respond[fetch.FetchRequest] = fetched
    assert reader.fetch({P: 5}, max_bytes=1, max_wait_ms=1)[P][2].error is None
    assert 2 in reader.brokers.connections


def test_where_to_begin_is_asked_of_leaders(cluster: FakeCluster, reader: ReplicaReader) -> None:
    def offsets(broker: int, request: listed.ListOffsetsRequest) -> listed.ListOffsetsResponse:
        return listed.ListOffsetsResponse(
            topics=[
                listed.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        listed.ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            offset={EARLIEST: 3, LATEST: 50, 1_000: -1}[each.timestamp] * broker,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    cluster.respond[listed.ListOffsetsRequest] = offsets

    assert reader.offsets([P, Q], EARLIEST) == {P: 3, Q: 6}
    assert reader.offsets([P, Q], 1_000) == {P: 50, Q: 100}, "nothing so late: the end"


def test_a_partition_without_a_leader_cannot_be_begun(reader: ReplicaReader) -> None:
    reader.places[P] = PartitionPlace(leader=None, replicas=(1, 2), topic_id=ID)

    with pytest.raises(ClientError, match="partition t-0 has no leader"):
        reader.offsets([P], LATEST)


def test_a_refusal_of_offsets_is_raised(cluster: FakeCluster, reader: ReplicaReader) -> None:
    cluster.respond[listed.ListOffsetsRequest] = lambda broker, request: listed.ListOffsetsResponse(
        topics=[
            listed.ListOffsetsTopicResponse(
                name="t",
                partitions=[listed.ListOffsetsPartitionResponse(partition_index=0, error_code=6)],
            )
        ]
    )

    with pytest.raises(RefusedError):
        reader.offsets([P], LATEST)
