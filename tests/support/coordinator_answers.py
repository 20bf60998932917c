"""All that can be asked about groups and transactions."""

from __future__ import annotations

from typing import Any

from coordinated import (
    CLASSIC,
    CONSUMER,
    OFFSETS,
    PARTITIONS,
    TOPIC,
    TRANSACTIONAL,
    await_coordinators,
)
from wire_client import WireClient

from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)


def everything(client: WireClient) -> dict[str, Any]:
    """Whole answers to every question about groups, offsets, transactions and producers."""
    await_coordinators(client)
    wanted = [OffsetFetchRequestGroup(group_id=g, topics=None) for g in {*CLASSIC, *CONSUMER}]
    wanted.sort(key=lambda group: group.group_id)
    every = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=list(range(PARTITIONS)))
    named = [OffsetFetchRequestGroup(group_id=w.group_id, topics=[every]) for w in wanted]
    topics = [
        TopicRequest(name=TOPIC, partition_indexes=list(range(PARTITIONS))),
        TopicRequest(name=OFFSETS, partition_indexes=[0]),
    ]
    listed = client.call(ListGroupsRequest(), 5)
    listed.groups.sort(key=lambda group: group.group_id)
    transactions = client.call(ListTransactionsRequest(), 1)
    transactions.transaction_states.sort(key=lambda state: state.transactional_id)
    described = client.call(DescribeGroupsRequest(groups=list(CLASSIC)), 6)
    consumers = client.call(ConsumerGroupDescribeRequest(group_ids=list(CONSUMER)), 1)
    for group in (*described.groups, *consumers.groups):
        group.members.sort(key=lambda member: member.member_id)
    return {
        "listed": listed,
        "described": described,
        "consumers": consumers,
        "offsets": client.call(OffsetFetchRequest(groups=wanted), 9),
        "stable offsets": client.call(OffsetFetchRequest(groups=named, require_stable=True), 9),
        "transactions": transactions,
        "described transactions": client.call(
            DescribeTransactionsRequest(transactional_ids=list(TRANSACTIONAL)), 0
        ),
        "producers": client.call(DescribeProducersRequest(topics=topics), 0),
    }
