"""Who mistypes a name is told the one that was meant."""

from __future__ import annotations

import pytest

from barnabas.cli.near import did_you_mean, nearest

NAMES = ["orders", "payments", "Refunds"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("order", "orders"), ("oredrs", "orders"), ("refunds", "Refunds"), ("nothing", None)],
)
def test_the_nearest_name_is_found_if_one_is_near(typed: str, meant: str | None) -> None:
    assert nearest(typed, NAMES) == meant


def test_another_number_is_another_thing() -> None:
    assert nearest("orders-1", ["orders-2"]) is None
    assert nearest("order-1", ["orders-2", "orders-1"]) == "orders-1"


def test_without_a_near_name_nothing_is_said() -> None:
    assert did_you_mean("zzz", NAMES) == ""
    assert did_you_mean("payment", NAMES) == ": did you mean payments?"
