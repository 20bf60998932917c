"""Where things are in a picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.lab.report.scale import Scale, rows_of, ticks


def test_a_scale_leads_from_one_end_to_the_other_and_never_out_of_the_picture() -> None:
    scale = Scale(10, 100, 200)

    assert [scale(value) for value in (-1, 0, 5, 10, 11)] == [100, 100, 150, 200, 200]
    assert Scale(0, 100, 200)(5) == 100


@given(st.floats(0.01, 1e7), st.integers(2, 12))
def test_ticks_are_few_and_within(most: float, about: int) -> None:
    found = ticks(most, about=about)

    assert found[0] == 0
    assert found[-1] <= most * 1.0001
    assert len(found) <= about + 1


def test_neighbours_get_rows_of_their_own() -> None:
    assert rows_of([0, 5, 8, 100], apart=20, rows=3) == [0, 1, 2, 0]


@pytest.mark.parametrize("count", [4, 9])
def test_with_too_many_neighbours_nobody_is_left_out(count: int) -> None:
    assert len(rows_of([1.0] * count, apart=20, rows=3)) == count
