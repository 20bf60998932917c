"""Which quota counts: the order is the one that Apache Kafka documents."""

from __future__ import annotations

import pytest

from barnabas.broker.quotas.precedence import Owner, find
from barnabas.controller.image import QuotaEntity

ORDER: list[tuple[QuotaEntity, Owner]] = [
    ((("client-id", "app"), ("user", "alice")), ("alice", "app")),
    ((("client-id", None), ("user", "alice")), ("alice", "app")),
    ((("user", "alice"),), ("alice", None)),
    ((("client-id", "app"), ("user", None)), ("alice", "app")),
    ((("client-id", None), ("user", None)), ("alice", "app")),
    ((("user", None),), ("alice", None)),
    ((("client-id", "app"),), (None, "app")),
    ((("client-id", None),), (None, "app")),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_special_one_counts(first: int) -> None:
    quotas = {entity: {"k": float(place)} for place, (entity, _) in enumerate(ORDER)}
    there = {entity: quotas[entity] for entity, _ in ORDER[first:]}

    assert find(there, "k", "alice", "app") == (ORDER[first][1], float(first))


def test_each_kind_of_quota_is_looked_for_by_itself() -> None:
    quotas: dict[QuotaEntity, dict[str, float]] = {
        (("user", "alice"),): {"a": 1.0},
        (("client-id", "app"),): {"b": 2.0},
    }

    assert find(quotas, "a", "alice", "app") == (("alice", None), 1.0)
    assert find(quotas, "b", "alice", "app") == ((None, "app"), 2.0)
    assert find(quotas, "c", "alice", "app") is None


def test_others_have_no_limit() -> None:
    quotas: dict[QuotaEntity, dict[str, float]] = {
        (("user", "bob"),): {"k": 1.0},
        (("client-id", "other"), ("user", "alice")): {"k": 1.0},
        (("ip", "::1"),): {"k": 1.0},
    }

    assert find(quotas, "k", "alice", "app") is None
