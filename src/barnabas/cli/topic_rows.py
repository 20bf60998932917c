"""What `kafka-topics` shows: rows made from topics, and their lines.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.cli.options import UsageError
from barnabas.client.topic_admin import INTERNAL_TOPICS, ConfigEntry, PartitionInfo, TopicInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which partitions `--describe` is to show; without any, all of them."""

    under_replicated: bool = False
    unavailable: bool = False
    under_min_isr: bool = False
    at_min_isr: bool = False
    overridden_only: bool = False
    """Topics that have settings of their own, without their partitions."""

    @property
    def of_partitions(self) -> bool:
        return self.under_replicated or self.unavailable or self.under_min_isr or self.at_min_isr


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """One topic; `heading` is false where only chosen partitions are asked for."""

    topic: TopicInfo
    overrides: Sequence[ConfigEntry]
    partitions: Sequence[PartitionInfo]
    heading: bool


def select_names(
    names: Iterable[str], pattern: str | None, *, exclude_internal: bool = False
) -> list[str]:
    """The names that `--topic` means: a name, a regular expression, or several with commas."""
    regex = None if pattern is None else topic_regex("topic", pattern)
    return sorted(
        name
        for name in names
        if (regex is None or regex.fullmatch(name))
        and not (exclude_internal and name in INTERNAL_TOPICS)
    )


def topic_regex(option: str, text: str) -> re.Pattern[str]:
    """Kafka's reading of a topic expression: commas mean "or", spaces and outer quotes nothing."""
    plain = text.replace(" ", "").strip("\"'").replace(",", "|")
    try:
        return re.compile(plain)
    except re.error as error:
        raise UsageError(f'--{option}: "{text}" is not a regular expression: {error}') from None


def describe_rows(
    topics: Sequence[TopicInfo],
    configs: dict[str, list[ConfigEntry]],
    live_brokers: set[int],
    filters: Filters,
) -> list[TopicRow]:
    rows = []
    for topic in topics:
        entries = configs.get(topic.name, [])
        overrides = [entry for entry in entries if not entry.is_default]
        if filters.overridden_only and not overrides:
            continue
        min_isr = next((int(e.value) for e in entries if e.name == "min.insync.replicas"), 1)
        shown = [
            partition
            for partition in topic.partitions
            if not filters.overridden_only and _is_shown(partition, filters, live_brokers, min_isr)
        ]
        rows.append(
            TopicRow(
                topic=topic,
                overrides=overrides,
                partitions=shown,
                heading=not filters.of_partitions,
            )
        )
    return rows


def _is_shown(
    partition: PartitionInfo, filters: Filters, live_brokers: set[int], min_isr: int
) -> bool:
    if not filters.of_partitions:
        return True
    in_sync = len(partition.isr)
    return (
        (filters.under_replicated and in_sync < replication_factor(partition))
        or (filters.unavailable and partition.leader not in live_brokers)
        or (filters.under_min_isr and in_sync < min_isr)
        or (filters.at_min_isr and in_sync == min_isr)
    )


def replication_factor(partition: PartitionInfo) -> int:
    """Without the replicas that a reassignment is still adding."""
    return len(partition.replicas) - len(partition.adding)


def describe_lines(rows: Iterable[TopicRow]) -> list[str]:
    lines = []
    for row in rows:
        if row.heading:
            lines.append(_heading(row))
        lines += [_partition_line(row.topic.name, partition) for partition in row.partitions]
    return lines


def _heading(row: TopicRow) -> str:
    topic = row.topic
    factor = replication_factor(topic.partitions[0]) if topic.partitions else 0
    configs = ",".join(f"{entry.name}={entry.value}" for entry in row.overrides)
    return (
        f"Topic: {topic.name}\tTopicId: {topic.topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {configs}"
    )


def _partition_line(topic: str, partition: PartitionInfo) -> str:
    leader = "none" if partition.leader is None else partition.leader
    line = (
        f"\tTopic: {topic}\tPartition: {partition.partition}\tLeader: {leader}"
        f"\tReplicas: {_joined(partition.replicas)}\tIsr: {_joined(partition.isr)}"
        f"\tElr: {_joined(partition.elr)}\tLastKnownElr: {_joined(partition.last_known_elr)}"
    )
    if partition.adding or partition.removing:
        line += (
            f"\tAdding Replicas: {_joined(partition.adding)}"
            f"\tRemoving Replicas: {_joined(partition.removing)}"
        )
    return line


def _joined(ids: Sequence[int] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))


def describe_json(rows: Iterable[TopicRow]) -> list[dict[str, Any]]:
    return [
        {
            "topic": row.topic.name,
            "topic_id": row.topic.topic_id,
            "internal": row.topic.is_internal,
            "partition_count": len(row.topic.partitions),
            "replication_factor": (
                replication_factor(row.topic.partitions[0]) if row.topic.partitions else 0
            ),
            "configs": {entry.name: entry.value for entry in row.overrides},
            "partitions": [_partition_json(partition) for partition in row.partitions],
        }
        for row in rows
        if row.heading or row.partitions
    ]


def _partition_json(partition: PartitionInfo) -> dict[str, Any]:
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": None if partition.elr is None else list(partition.elr),
        "last_known_elr": (
            None if partition.last_known_elr is None else list(partition.last_known_elr)
        ),
        "adding_replicas": list(partition.adding),
        "removing_replicas": list(partition.removing),
    }


def list_json(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"topic": name, "internal": name in INTERNAL_TOPICS} for name in names]
