"""What was written is known by its name and number; what does not fit is noticed."""

from __future__ import annotations

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.exactly_once import Done, Once, check_repetition, is_repeated, last_done

BATCH_7 = Once(name="query-0", number=7)


def test_the_last_batch_is_the_highest_whatever_topic_it_is_recorded_for() -> None:
    assert last_done({}) is None
    assert last_done({("a", 0): (8, "10"), ("b", 0): (9, "3")}) == Done(number=8, rows=3)
    assert last_done({("a", 0): (1, "")}) == Done(number=0, rows=-1)


def test_a_batch_is_repeated_if_it_was_written() -> None:
    assert not is_repeated(BATCH_7, Done(number=6, rows=1))
    assert is_repeated(BATCH_7, Done(number=7, rows=1))


def test_a_batch_before_one_that_was_written_is_not_passed_over() -> None:
    with pytest.raises(PipelineError, match="batch 8 was written, and this is batch 7"):
        is_repeated(BATCH_7, Done(number=8, rows=1))


def test_a_repetition_with_other_rows_stops_the_query() -> None:
    check_repetition(BATCH_7, Done(number=7, rows=5), 5)
    check_repetition(BATCH_7, Done(number=7, rows=-1), 5)
    with pytest.raises(PipelineError, match="written with 5 rows and now has 6"):
        check_repetition(BATCH_7, Done(number=7, rows=5), 6)
