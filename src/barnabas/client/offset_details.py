"""Offsets that librdkafka cannot ask for: those of tiered logs.

Through our own codec.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.client.brokers import Brokers, Place, by_topic, refusal
from barnabas.client.errors import ClientError
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import list_offsets

EARLIEST_LOCAL, LATEST_TIERED = -4, -5
KNOWN_SINCE = {EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""The version of ListOffsets that has this question."""
CONSUMER = -1


def special_offsets(
    properties: Mapping[str, str],
    leaders: Mapping[Place, int],
    when: int,
    *,
    timeout_s: float,
) -> dict[Place, int | ClientError]:
    """Asks the leaders of partitions; -1 where there is no such offset."""
    found: dict[Place, int | ClientError] = {}
    with Brokers.connect(properties, timeout_s=timeout_s) as brokers:
        for leader in sorted(set(leaders.values())):
            led = [place for place, by in leaders.items() if by == leader]
            try:
                found |= _ask(brokers, leader, led, when)
            except ClientError as error:
                found |= dict.fromkeys(led, error)
    return found


def _ask(
    brokers: Brokers, leader: int, led: Collection[Place], when: int
) -> dict[Place, int | ClientError]:
    connection = brokers.to(leader)
    version = connection.version_of(ApiKey.LIST_OFFSETS)
    if version is None or version < KNOWN_SINCE[when]:
        raise ClientError(f"broker {leader} is too old to be asked for this offset.")
    answer = connection.call(
        list_offsets.ListOffsetsRequest(
            replica_id=CONSUMER,
            topics=[
                list_offsets.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        list_offsets.ListOffsetsPartition(partition_index=number, timestamp=when)
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(led).items()
            ],
            timeout_ms=int(brokers.patience.seconds * 1000),
        ),
        list_offsets.ListOffsetsResponse,
    )
    return {
        (topic.name, each.partition_index): refusal(each.error_code) or each.offset
        for topic in answer.topics
        for each in topic.partitions
    }
