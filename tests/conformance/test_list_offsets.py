"""Who is told which end of a partition: a client, and one that says that it debugs."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from harness.brokers import Broker

from barnabas.client.addresses import parse_servers
from barnabas.client.wire import Connection
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

PATIENCE_S = 60
CONSUMER, DEBUGGER = -1, -2
READ_COMMITTED = 1


@pytest.mark.parametrize(("replica", "end"), [(CONSUMER, 0), (DEBUGGER, 2)])
def test_a_debugger_is_told_the_log_end_and_a_client_what_it_may_read(
    target: Broker, topic: str, replica: int, end: int
) -> None:
    name = f"{topic[-40:]}-{-replica}"
    producer = Producer({"bootstrap.servers": target.bootstrap, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for value in (b"1", b"2"):
        producer.produce(name, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0

    wanted = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(
        replica_id=replica,
        isolation_level=READ_COMMITTED,
        topics=[ListOffsetsTopic(name=name, partitions=[wanted])],
    )
    with Connection(*parse_servers(target.bootstrap)[0], timeout_s=PATIENCE_S) as connection:
        answer = connection.call(request, ListOffsetsResponse)
    producer.abort_transaction(PATIENCE_S)

    assert answer.topics[0].partitions[0].offset == end
