"""Offsets, through our own codec: those of tiered logs, which librdkafka cannot ask for, and
those of many partitions with few requests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.client.brokers import Brokers, PartitionPlace, Place, by_topic, check_code, refusal
from barnabas.client.errors import ClientError, NoLeaderError
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import list_offsets

EARLIEST_LOCAL, LATEST_TIERED = -4, -5
KNOWN_SINCE = {EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""The version of ListOffsets that has this question."""
CONSUMER = -1
COMMITTED_ONLY = 1
"""The level of isolation at which a partition ends before its first open transaction."""


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
    request = _request(dict.fromkeys(led, when))
    request.timeout_ms = int(brokers.patience.seconds * 1000)
    answer = connection.call(request, list_offsets.ListOffsetsResponse)
    return {
        (topic.name, each.partition_index): refusal(each.error_code) or each.offset
        for topic in answer.topics
        for each in topic.partitions
    }


def leader_offsets(
    brokers: Brokers,
    places: Mapping[Place, PartitionPlace],
    asked: Mapping[Place, int],
    *,
    is_committed_only: bool = False,
) -> dict[Place, int]:
    """Asks the leaders of partitions for edges (-1, -2) or times; -1 where a time has no record.

    `NoLeaderError` or `RefusedError` if one of them has none to tell.
    """
    by_leader: dict[int, dict[Place, int]] = {}
    for place, when in asked.items():
        leader = places[place].leader
        if leader is None:
            raise NoLeaderError(*place)
        by_leader.setdefault(leader, {})[place] = when
    found: dict[Place, int] = {}
    for leader, led in by_leader.items():
        request = _request(led)
        request.isolation_level = COMMITTED_ONLY if is_committed_only else 0
        for topic in brokers.to(leader).call(request, list_offsets.ListOffsetsResponse).topics:
            for partition in topic.partitions:
                check_code(partition.error_code)
                found[topic.name, partition.partition_index] = partition.offset
    return found


def _request(asked: Mapping[Place, int]) -> list_offsets.ListOffsetsRequest:
    return list_offsets.ListOffsetsRequest(
        replica_id=CONSUMER,
        topics=[
            list_offsets.ListOffsetsTopic(
                name=topic,
                partitions=[
                    list_offsets.ListOffsetsPartition(
                        partition_index=number, timestamp=asked[topic, number]
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(asked).items()
        ],
    )
