"""Throttles of moves: settings of the topics and brokers that take part, set and removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.reassign_partitions_plan import (
    Move,
    brokers_of,
    follower_throttles,
    leader_throttles,
)
from barnabas.client.replica_admin import BROKER, TOPIC

if TYPE_CHECKING:
    from barnabas.client.brokers import Place
    from barnabas.client.replica_admin import Replica, ReplicaAdmin

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def throttle_brokers(admin: ReplicaAdmin, moved: Mapping[Place, Move], rate: int) -> None:
    """Names the replicas to be throttled, and then the rate at each broker that has some."""
    leaders, followers = leader_throttles(moved), follower_throttles(moved)
    admin.change_settings(
        TOPIC,
        {
            topic: {LEADER_REPLICAS: leaders[topic], FOLLOWER_REPLICAS: followers[topic]}
            for topic in leaders
        },
    )
    rates = {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}
    admin.change_settings(BROKER, {str(broker): rates for broker in brokers_of(moved)})


def throttle_directories(admin: ReplicaAdmin, replicas: Iterable[Replica], rate: int) -> None:
    brokers = {broker for _, _, broker in replicas}
    admin.change_settings(BROKER, {str(broker): {DIRECTORY_RATE: str(rate)} for broker in brokers})


def unthrottle_brokers(admin: ReplicaAdmin, brokers: Iterable[int]) -> None:
    none: dict[str, str | None] = dict.fromkeys((LEADER_RATE, FOLLOWER_RATE, DIRECTORY_RATE))
    admin.change_settings(BROKER, {str(broker): none for broker in brokers})


def unthrottle_topics(admin: ReplicaAdmin, topics: Iterable[str]) -> None:
    none: dict[str, str | None] = dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS))
    admin.change_settings(TOPIC, dict.fromkeys(topics, none))
