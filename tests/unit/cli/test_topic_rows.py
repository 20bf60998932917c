from __future__ import annotations

import pytest

from barnabas.cli.options import UsageError
from barnabas.cli.topic_rows import (
    Filters,
    describe_json,
    describe_lines,
    describe_rows,
    list_json,
    select_names,
)
from barnabas.client.topic_admin import ConfigEntry, PartitionInfo, TopicInfo

ID = "aHnrSZh_SM-unF0m9kCAkA"


def topic(*partitions: PartitionInfo, name: str = "t") -> TopicInfo:
    return TopicInfo(name=name, topic_id=ID, is_internal=False, partitions=partitions)


def partition(
    number: int = 0,
    *,
    leader: int | None = 2,
    replicas: tuple[int, ...] = (2, 0, 1),
    isr: tuple[int, ...] = (2, 0, 1),
    elr: tuple[int, ...] | None = (),
    adding: tuple[int, ...] = (),
    removing: tuple[int, ...] = (),
) -> PartitionInfo:
    return PartitionInfo(
        partition=number,
        leader=leader,
        replicas=replicas,
        isr=isr,
        elr=elr,
        last_known_elr=elr,
        adding=adding,
        removing=removing,
    )


def configs(**values: tuple[str, int]) -> dict[str, list[ConfigEntry]]:
    entries = [
        ConfigEntry(name=name.replace("_", "."), value=value, source=source)
        for name, (value, source) in values.items()
    ]
    return {"t": entries}


def lines(
    described: TopicInfo,
    filters: Filters | None = None,
    *,
    settings: dict[str, list[ConfigEntry]] | None = None,
    live: frozenset[int] = frozenset({0, 1, 2}),
) -> list[str]:
    rows = describe_rows([described], settings or {}, set(live), filters or Filters())
    return describe_lines(rows)


def test_a_topic_is_a_heading_and_a_line_for_each_partition_with_tabs() -> None:
    settings = configs(retention_ms=("1000", 1), segment_ms=("5", 4), flush_ms=("9", 5))

    assert lines(topic(partition(0), partition(1, leader=None)), settings=settings) == [
        (
            f"Topic: t\tTopicId: {ID}\tPartitionCount: 2\tReplicationFactor: 3"
            "\tConfigs: retention.ms=1000,segment.ms=5"
        ),
        "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 2,0,1\tIsr: 2,0,1\tElr: \tLastKnownElr: ",
        (
            "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,0,1\tIsr: 2,0,1"
            "\tElr: \tLastKnownElr: "
        ),
    ]


def test_eligible_leaders_that_nobody_could_be_asked_for() -> None:
    assert lines(topic(partition(elr=None)))[1].endswith("\tElr: N/A\tLastKnownElr: N/A")
    assert lines(topic(partition(elr=(3, 1))))[1].endswith("\tElr: 3,1\tLastKnownElr: 3,1")


def test_a_reassignment_shows_and_does_not_count_as_replication() -> None:
    moving = partition(replicas=(2, 0, 3), isr=(2, 0), adding=(3,), removing=(0,))

    heading, line = lines(topic(moving))

    assert "ReplicationFactor: 2" in heading
    assert line.endswith("\tAdding Replicas: 3\tRemoving Replicas: 0")
    assert lines(topic(moving), Filters(under_replicated=True)) == []


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (Filters(under_replicated=True), [1, 2, 3]),
        (Filters(unavailable=True), [2, 3]),
        (Filters(under_min_isr=True), [2]),
        (Filters(at_min_isr=True), [1]),
        (Filters(under_min_isr=True, at_min_isr=True), [1, 2]),
    ],
)
def test_filters_show_only_the_partitions_they_mean(filters: Filters, numbers: list[int]) -> None:
    described = topic(
        partition(0, isr=(2, 0, 1)),
        partition(1, isr=(2, 1)),
        partition(2, leader=None, isr=(0,)),
        partition(3, leader=9, replicas=(9, 8, 7, 6), isr=(9, 8, 7)),
    )

    found = lines(described, filters, settings=configs(min_insync_replicas=("2", 1)))

    assert [line.split("\t")[2] for line in found] == [f"Partition: {n}" for n in numbers]


def test_topics_with_overrides_are_shown_without_their_partitions() -> None:
    only = Filters(overridden_only=True)

    assert lines(topic(partition()), only, settings=configs(flush_ms=("9", 5))) == []
    (heading,) = lines(topic(partition()), only, settings=configs(flush_ms=("9", 4)))
    assert heading.endswith("Configs: flush.ms=9")


def test_names_are_chosen_by_name_regex_or_list() -> None:
    names = ["b", "a", "aa", "a.b", "__consumer_offsets"]

    assert select_names(names, None) == ["__consumer_offsets", "a", "a.b", "aa", "b"]
    assert select_names(names, None, exclude_internal=True) == ["a", "a.b", "aa", "b"]
    assert select_names(names, "a") == ["a"]
    assert select_names(names, "a.*") == ["a", "a.b", "aa"]
    assert select_names(names, "a, b") == ["a", "b"]
    assert select_names(names, "'a|b'") == ["a", "b"]
    with pytest.raises(UsageError, match='--topic: "\\[a" is not a regular expression'):
        select_names(names, "[a")


def test_json_has_the_same_facts() -> None:
    rows = describe_rows(
        [topic(partition(leader=None, elr=None))], configs(a=("b", 1)), set(), Filters()
    )

    assert describe_json(rows) == [
        {
            "topic": "t",
            "topic_id": ID,
            "internal": False,
            "partition_count": 1,
            "replication_factor": 3,
            "configs": {"a": "b"},
            "partitions": [
                {
                    "partition": 0,
                    "leader": None,
                    "replicas": [2, 0, 1],
                    "isr": [2, 0, 1],
                    "elr": None,
                    "last_known_elr": None,
                    "adding_replicas": [],
                    "removing_replicas": [],
                }
            ],
        }
    ]
    assert list_json(["__consumer_offsets", "t"]) == [
        {"topic": "__consumer_offsets", "internal": True},
        {"topic": "t", "internal": False},
    ]


def test_json_of_a_filter_leaves_out_topics_without_such_partitions() -> None:
    rows = describe_rows([topic(partition())], {}, {2}, Filters(unavailable=True))

    assert describe_json(rows) == []
