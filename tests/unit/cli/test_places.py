from __future__ import annotations

import pytest

from barnabas.cli.options import UsageError
from barnabas.cli.places import broker_ids, duplicates, partition_name


def test_broker_ids_are_read_as_typed() -> None:
    assert broker_ids("1, 2,3,1") == [1, 2, 3, 1]


@pytest.mark.parametrize("text", ["", "1,", "a", "1;2", "-1", "localhost:9092", "99999999999"])
def test_what_is_no_broker_id_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of broker ids like 1,2,3"):
        broker_ids(text)


def test_duplicates_come_in_the_order_of_their_first_time() -> None:
    assert duplicates([3, 1, 3, 2, 1, 3]) == [3, 1]
    assert duplicates([]) == []


def test_a_partition_is_named_by_topic_and_number() -> None:
    assert partition_name(("a-b", 3)) == "a-b-3"
