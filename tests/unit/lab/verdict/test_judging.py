"""Each kind of offence has a history that shows it, and only it."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.lab.verdict.judging import Delivery, Verdict, judge, named_anew
from barnabas.lab.verdict.records import (
    NOWHERE,
    History,
    Outcome,
    ReceivedRecord,
    SentRecord,
    StoredRecord,
)


def sent(number: int, **more: Any) -> SentRecord:
    facts: dict[str, Any] = {"offset": number, "producer": "p", **more}
    return SentRecord("t", 0, str(number), f"value {number}", **facts)


def received(number: int, offset: int | None = None, **more: Any) -> ReceivedRecord:
    at = number if offset is None else offset
    return ReceivedRecord("t", 0, str(number), f"value {number}", at, **{"consumer": "c", **more})


def stored(number: int, offset: int | None = None) -> StoredRecord:
    return StoredRecord(
        "t", 0, str(number), f"value {number}", number if offset is None else offset
    )


def history(*got: ReceivedRecord, count: int = 3) -> History:
    return History(sent=[sent(number) for number in range(count)], received=list(got))


def kinds(verdict: Verdict) -> dict[str, list[tuple[str, int, str | None]]]:
    """Name, offset and key of each record, by kind, where there are any."""
    found = {
        kind: [(one.name, one.offset, one.key) for one in getattr(verdict, kind)]
        for kind in ("lost", "duplicated", "reordered", "aborted", "foreign")
    }
    return {kind: records for kind, records in found.items() if records}


def test_what_is_processed_once_and_in_order_is_clean() -> None:
    verdict = judge(history(received(0), received(1), received(2)))

    assert verdict == Verdict(sent=3, acknowledged=3, received=3)
    assert verdict.is_clean


def test_an_acknowledged_record_that_nobody_processed_is_lost() -> None:
    verdict = judge(history(received(0), received(2)))

    assert kinds(verdict) == {"lost": [("lost write", 1, "1")]}


def test_the_end_of_a_partition_that_nobody_saw_is_unseen() -> None:
    assert kinds(judge(history(received(0), received(1)))) == {"lost": [("unseen", 2, "2")]}


def test_without_offsets_it_is_simply_lost() -> None:
    bare = History(sent=[sent(0, offset=-1), sent(1, offset=-1)], received=[received(0, offset=-1)])
    assert kinds(judge(bare)) == {"lost": [("lost", -1, "1")]}


def test_the_partition_tells_what_the_cluster_lost_from_what_the_group_passed_over() -> None:
    told = history(received(0), received(3), count=4)
    before = judge(told)
    told.stored = [stored(0), stored(2), stored(3)]
    verdict = judge(told)

    assert kinds(verdict) == {"lost": [("lost write", 1, "1"), ("poll skip", 2, "2")]}
    assert kinds(before) == {"lost": [("lost write", 1, "1"), ("lost write", 2, "2")]}
    assert named_anew(before, told) == verdict


def test_a_lost_record_is_named_by_where_it_is_stored_if_nobody_acknowledged_an_offset() -> None:
    told = History(
        sent=[sent(0, offset=-1), sent(1, offset=-1)],
        received=[received(1, 1)],
        stored=[stored(0), stored(1)],
    )
    assert kinds(judge(told)) == {"lost": [("poll skip", 0, "0")]}


def test_nothing_is_promised_of_what_was_not_acknowledged() -> None:
    told = history(received(0), received(1), received(2))
    told.sent += [sent(3, outcome=Outcome.UNKNOWN), sent(4, outcome=Outcome.UNKNOWN)]
    told.received.append(received(3))
    verdict = judge(told)

    assert verdict.is_clean
    assert (verdict.sent, verdict.acknowledged, verdict.unknown) == (5, 3, 2)


def test_what_went_nobody_knows_where_may_be_anywhere_once() -> None:
    told = History(sent=[SentRecord("t", NOWHERE, "0", "value 0", outcome=Outcome.UNKNOWN)])
    assert judge(told).is_clean
    told.received = [received(0)]
    assert judge(told).is_clean
    told.received += [received(0)]
    assert kinds(judge(told)) == {"duplicated": [("non-monotonic poll", 0, "0")]}


def test_what_was_acknowledged_nobody_says_where_is_found_wherever_it_is() -> None:
    def bare(number: int) -> SentRecord:
        return SentRecord("t", NOWHERE, str(number), f"value {number}")

    told = History(
        sent=[bare(0), bare(1), bare(2)], received=[received(1, 0), received(0, 1), received(0, 1)]
    )
    assert kinds(judge(told)) == {
        "lost": [("lost", -1, "2")],
        "duplicated": [("non-monotonic poll", 1, "0")],
        "reordered": [("non-monotonic send", 1, "0")],
    }
    before = judge(told)
    told.stored = [stored(1, 0), stored(0, 1), stored(2, 2)]
    verdict = judge(told)
    assert [(one.name, one.partition, one.offset) for one in verdict.lost] == [("unseen", 0, 2)]
    assert named_anew(before, told) == verdict


def test_what_was_sent_nobody_says_where_may_be_processed_once_in_all_partitions_together() -> None:
    told = History(
        sent=[SentRecord("t", NOWHERE, "0", "value 0")],
        received=[received(0), received(0)._replace(partition=1)],
    )
    verdict = judge(told)

    assert [(one.name, one.partition) for one in verdict.duplicated] == [("duplicate", 1)]
    told.sent.append(SentRecord("t", 1, "0", "value 0"))
    assert judge(told).is_clean
    told.sent.pop()
    told.sent.append(told.sent[0])
    assert judge(told).is_clean


@pytest.mark.parametrize(("partition", "missing"), [(0, NOWHERE), (1, 0)])
def test_one_receipt_does_not_stand_for_two_that_were_sent(partition: int, missing: int) -> None:
    told = History(
        sent=[sent(0), SentRecord("t", NOWHERE, "0", "value 0")],
        received=[received(0)._replace(partition=partition)],
    )
    assert [one.partition for one in judge(told).lost] == [missing]
    told.received += [received(0, 1)]
    assert not judge(told).lost


def test_a_record_in_another_partition_is_another_record() -> None:
    told = history(received(0), received(1)._replace(partition=1), received(2))

    assert kinds(judge(told)) == {
        "lost": [("lost write", 1, "1")],
        "foreign": [("foreign", 1, "1")],
    }


def test_one_offset_processed_again_was_given_again() -> None:
    verdict = judge(history(received(0), received(1), received(2), received(1)))

    assert kinds(verdict) == {"duplicated": [("non-monotonic poll", 1, "1")]}


def test_a_record_at_two_offsets_is_a_duplicate() -> None:
    verdict = judge(history(received(0), received(1), received(2), received(1, 3)))

    assert kinds(verdict) == {"duplicated": [("duplicate", 3, "1")]}


def test_every_time_too_often_counts() -> None:
    verdict = judge(history(received(0), received(1), received(2), received(1), received(1)))

    assert len(verdict.duplicated) == 2


def test_what_was_sent_twice_may_be_processed_twice() -> None:
    told = history(received(0), received(1), received(2), received(2, 3))
    told.sent.append(sent(2, offset=3))

    assert judge(told).is_clean
    told.received.pop()
    assert len(judge(told).lost) == 1


def test_a_record_that_nobody_sent_is_foreign() -> None:
    told = history(received(0), received(1), received(2), received(9))

    assert kinds(judge(told)) == {"foreign": [("foreign", 9, "9")]}


def test_another_value_under_the_same_key_is_another_record() -> None:
    told = history(received(0), received(1)._replace(value="other"), received(2))

    assert kinds(judge(told)) == {
        "lost": [("lost write", 1, "1")],
        "foreign": [("foreign", 1, "1")],
    }


def test_a_refused_record_must_not_be_read() -> None:
    told = history(received(0), received(1), received(2), received(3))
    told.sent.append(sent(3, outcome=Outcome.REFUSED))

    assert kinds(judge(told)) == {"aborted": [("aborted read", 3, "3")]}


def test_a_refused_record_must_not_be_read_wherever_it_was_to_go() -> None:
    told = History(
        sent=[SentRecord("t", NOWHERE, "0", "value 0", outcome=Outcome.REFUSED)],
        received=[received(0)],
    )
    assert kinds(judge(told)) == {"aborted": [("aborted read", 0, "0")]}


def aborted_then_committed(*got: ReceivedRecord, offset: int = 0) -> History:
    """Record 0 at offset 0, aborted, and once more at offset 2, committed; record 1 in between."""
    again = sent(0, offset=2 if offset >= 0 else -1, transaction="good")
    return History(
        sent=[sent(0, offset=offset, transaction="bad"), sent(1), again],
        received=list(got),
        ended={"bad": False, "good": True},
    )


@pytest.mark.parametrize("offset", [0, -1])
def test_what_is_committed_after_an_abort_may_be_read_and_must_be(offset: int) -> None:
    one, both = received(1, committed_only=True), received(0, 2, committed_only=True)

    assert not judge(aborted_then_committed(one, both, offset=offset)).breaks(Delivery.EXACTLY_ONCE)
    missed = judge(aborted_then_committed(one, offset=offset))
    assert [lost.offset for lost in missed.lost] == [2 if offset >= 0 else -1]
    assert not missed.aborted


def test_who_sees_everything_sees_both_and_in_order() -> None:
    assert judge(aborted_then_committed(received(0), received(1), received(0, 2))).is_clean


def test_the_offset_tells_what_was_aborted_from_what_was_committed() -> None:
    hidden, both = received(0, committed_only=True), received(0, 2, committed_only=True)
    one = received(1, committed_only=True)

    assert kinds(judge(aborted_then_committed(hidden, one))) == {
        "lost": [("unseen", 2, "0")],
        "aborted": [("aborted read", 0, "0")],
    }
    assert kinds(judge(aborted_then_committed(one, both, both))) == {
        "duplicated": [("non-monotonic poll", 2, "0")]
    }
    assert kinds(judge(aborted_then_committed(hidden, hidden, one, both))) == {
        "duplicated": [("non-monotonic poll", 0, "0")],
        "aborted": [("aborted read", 0, "0"), ("aborted read", 0, "0")],
    }


@pytest.mark.parametrize("offset", [0, -1])
def test_without_offsets_what_is_read_more_often_than_committed_was_aborted(offset: int) -> None:
    bare = received(0, -1, committed_only=True)
    verdict = judge(aborted_then_committed(bare, received(1), bare, offset=offset))

    assert not verdict.lost
    assert not verdict.duplicated
    assert len(verdict.aborted) == 1


@pytest.mark.parametrize("committed_only", [True, False])
def test_an_aborted_record_is_hidden_from_those_who_were_promised_that(
    committed_only: bool,
) -> None:
    told = history(received(0), received(1), received(2))
    told.sent.append(sent(3, transaction="x"))
    told.ended["x"] = False
    assert judge(told).is_clean
    told.received.append(received(3, committed_only=committed_only))

    expected = {"aborted": [("aborted read", 3, "3")]} if committed_only else {}
    assert kinds(judge(told)) == expected


@pytest.mark.parametrize(("committed", "lost"), [(True, 1), (False, 0), (None, 0)])
def test_only_what_a_transaction_committed_can_be_lost(committed: bool | None, lost: int) -> None:
    told = History(sent=[sent(0, transaction="x")], ended={"x": committed})

    assert len(judge(told).lost) == lost


def test_records_behind_later_ones_are_reordered() -> None:
    told = history(received(0, 0), received(2, 1), received(1, 2))

    assert kinds(judge(told)) == {"reordered": [("non-monotonic send", 2, "1")]}


def test_where_a_record_stands_counts_not_when_which_consumer_had_it() -> None:
    told = history(received(2, consumer="a"), received(0, consumer="b"), received(1, consumer="b"))

    assert judge(told).is_clean


def test_without_offsets_the_order_of_each_consumer_counts() -> None:
    told = history(
        received(2, -1, consumer="a"), received(1, -1, consumer="b"), received(0, -1, consumer="b")
    )

    assert kinds(judge(told)) == {"reordered": [("non-monotonic send", -1, "0")]}


def test_producers_have_no_order_among_each_other() -> None:
    told = History(sent=[sent(0), sent(1, producer="q")], received=[received(1, 0), received(0, 1)])
    assert judge(told).is_clean


@pytest.mark.parametrize(
    ("promise", "keys"),
    [
        (Delivery.AT_LEAST_ONCE, ["1"]),
        (Delivery.AT_MOST_ONCE, ["0"]),
        (Delivery.EXACTLY_ONCE, ["1", "0"]),
    ],
)
def test_each_promise_is_broken_by_its_own_offences(promise: Delivery, keys: list[str]) -> None:
    verdict = judge(history(received(0), received(0), received(2)))

    assert [one.key for one in verdict.breaks(promise)] == keys


def test_offences_come_by_partition_and_offset_and_numbers_by_their_size() -> None:
    told = History(
        sent=[
            SentRecord("t", 1, "5", offset=0),
            SentRecord("t", 0, "10"),
            SentRecord("t", 0, "9"),
            SentRecord("t", 0, None),
            SentRecord("t", 0, "a"),
        ]
    )
    assert [one.key for one in judge(told).lost] == [None, "9", "10", "a", "5"]
