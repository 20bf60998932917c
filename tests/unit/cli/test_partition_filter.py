from __future__ import annotations

import pytest

from barnabas.cli.options import UsageError
from barnabas.cli.partition_filter import chosen, rules

PLACES = [(topic, number) for topic in ("orders", "orders2", "pay") for number in range(12)]


def names(
    topic: str | None = None, partitions: str | None = None, topic_partitions: str | None = None
) -> list[str]:
    allowed = rules(topic=topic, partitions=partitions, topic_partitions=topic_partitions)
    return [f"{name}:{number}" for name, number in chosen(PLACES, allowed)]


def test_without_any_wish_all_are_meant() -> None:
    assert len(names()) == len(PLACES)


def test_a_topic_is_a_whole_name_or_an_expression() -> None:
    assert {each.partition(":")[0] for each in names(topic="orders")} == {"orders"}
    assert {each.partition(":")[0] for each in names(topic="ord.*")} == {"orders", "orders2"}
    assert {each.partition(":")[0] for each in names(topic="orders,pay")} == {"orders", "pay"}
    assert names(topic="none") == []


def test_partitions_are_those_of_every_topic() -> None:
    assert names(topic="pay", partitions="0,3") == ["pay:0", "pay:3"]
    assert names(partitions="11") == ["orders:11", "orders2:11", "pay:11"]
    assert len(names(topic="pay", partitions="")) == 12


def test_they_are_listed_by_name_as_text() -> None:
    assert names(topic="pay", partitions="2,10,1") == ["pay:1", "pay:10", "pay:2"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pay:3", [3]),
        ("pay:2-4", [2, 3]),
        ("pay:10-", [10, 11]),
        ("pay:-2", [0, 1]),
        ("pay:", list(range(12))),
        ("pay", list(range(12))),
        ("p.y:5,pay:7", [5, 7]),
        ("pay:4-4", []),
    ],
)
def test_rules_have_ranges(text: str, meant: list[int]) -> None:
    assert sorted(names(topic_partitions=text)) == sorted(f"pay:{number}" for number in meant)


def test_a_rule_without_a_topic_is_for_all() -> None:
    assert names(topic_partitions=":11") == ["orders:11", "orders2:11", "pay:11"]


@pytest.mark.parametrize("text", ["pay:a", "pay:1:2", "pay:1-2-3", "pay:-1-2"])
def test_rules_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--topic-partitions: .* is not of the form"):
        rules(topic=None, partitions=None, topic_partitions=text)


@pytest.mark.parametrize("text", ["a", "1,", "-1", "1-2"])
def test_partitions_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--partitions: .* is not a list of partition numbers"):
        rules(topic=None, partitions=text, topic_partitions=None)


def test_expressions_that_are_none_are_refused() -> None:
    for wish in ({"topic": "[x"}, {"topic_partitions": "[x:1"}):
        with pytest.raises(UsageError, match="is not a regular expression"):
            names(**wish)
