"""The simulator's checker judges real clusters, too."""

from __future__ import annotations

import pytest

from barnabas.lab.verdict.promises import broken_promises
from barnabas.lab.verdict.records import History, ReceivedRecord, SentRecord, StoredRecord


def good() -> History:
    return History(
        sent=[SentRecord("t", 0, str(n), None, n, producer="p") for n in range(3)],
        received=[ReceivedRecord("t", 0, str(n), None, n, "c") for n in range(3)],
        stored=[StoredRecord("t", 0, str(n), None, n) for n in range(3)],
    )


def names(history: History) -> list[str]:
    return [violation.name for violation in broken_promises(history)]


def test_a_cluster_that_keeps_what_it_acknowledged_breaks_nothing() -> None:
    assert names(good()) == []


def test_a_hole_in_a_partition_is_a_lost_write() -> None:
    history = good()
    assert history.stored is not None
    del history.stored[1]
    history.received.clear()

    assert names(history) == ["lost write"]


def test_another_record_where_one_was_acknowledged_is_inconsistent() -> None:
    history = good()
    assert history.stored is not None
    history.stored[2] = StoredRecord("t", 0, "other", None, 2)

    assert set(names(history)) == {"unseen", "inconsistent offsets"}


def test_a_record_that_was_aborted_shows_in_what_is_committed() -> None:
    history = good()
    history.sent[1] = history.sent[1]._replace(transaction="x")
    history.ended["x"] = False

    assert "aborted read" in names(history)


def test_nothing_can_be_said_of_partitions_that_nobody_read() -> None:
    history = good()
    history.stored = None

    with pytest.raises(ValueError, match="not read"):
        broken_promises(history)


def test_nothing_can_be_said_of_records_that_cannot_be_told_apart() -> None:
    history = good()
    history.sent.append(history.sent[-1])

    with pytest.raises(ValueError, match="sent twice"):
        broken_promises(history)
