"""Each promise has a history that breaks it, and only it."""

from __future__ import annotations

from typing import Any

from barnabas.lab.sim.checker import check
from barnabas.lab.sim.history import Ended, History, Outcome, Polled, Sent

TP = ("t", 0)


def sent(values: tuple[int, ...], offset: int, **more: Any) -> Sent:
    facts: dict[str, Any] = {
        "producer": "p",
        "number": offset,
        "partition": TP,
        "outcome": Outcome.ACKNOWLEDGED,
        **more,
    }
    return Sent(values=values, offset=offset, **facts)


def polled(
    *records: tuple[int, int], position: int = 0, consumer: str = "c", **more: Any
) -> Polled:
    return Polled(consumer=consumer, partition=TP, position=position, records=records, **more)


def good() -> History:
    log = [(0, 10), (1, 11), (2, 12)]
    return History(
        sent=[sent((10, 11), 0), sent((12,), 2)],
        polled=[polled((0, 10), (1, 11)), polled((2, 12), position=2)],
        final={TP: log},
        final_committed={TP: list(log)},
    )


def names(history: History) -> list[str]:
    return sorted({each.name for each in check(history)})


def test_a_history_that_keeps_every_promise_is_good() -> None:
    assert check(good()) == []


def test_nothing_is_promised_of_what_was_not_acknowledged() -> None:
    history = good()
    history.sent += [
        sent((13,), -1, number=3, outcome=Outcome.UNKNOWN),
        sent((14,), -1, number=4, outcome=Outcome.REFUSED),
    ]
    assert check(history) == []


def test_a_hole_where_an_acknowledged_record_was_is_a_lost_write() -> None:
    history = good()
    history.polled.clear()
    history.final[TP] = [(0, 10), (2, 12)]
    assert names(history) == ["lost write"]


def test_an_acknowledged_record_beyond_the_end_is_unseen() -> None:
    history = good()
    history.polled.clear()
    history.final[TP] = [(0, 10), (1, 11)]
    assert names(history) == ["unseen"]


def test_a_record_that_is_there_twice_is_a_duplicate() -> None:
    history = good()
    history.final[TP].append((3, 10))
    assert names(history) == ["duplicate"]


def test_two_records_at_one_offset_are_inconsistent() -> None:
    history = good()
    history.sent.append(sent((99,), 2, number=3, outcome=Outcome.UNKNOWN))
    history.polled.append(polled((2, 99), consumer="other", position=2))
    assert names(history) == ["inconsistent offsets"]


def test_an_offset_that_is_given_again_is_a_non_monotonic_poll() -> None:
    history = good()
    history.polled.append(polled((1, 11), position=1))
    assert names(history) == ["non-monotonic poll"]


def test_a_record_that_a_consumer_was_led_past_is_a_skip() -> None:
    history = good()
    history.polled = [polled((0, 10)), polled((2, 12), position=1)]
    assert names(history) == ["poll skip"]


def test_a_consumer_that_starts_later_skips_nothing() -> None:
    history = good()
    history.polled = [polled((2, 12), position=2)]
    assert check(history) == []


def test_records_in_another_order_than_they_were_sent_are_a_non_monotonic_send() -> None:
    history = good()
    history.sent = [sent((12,), 2, number=1), sent((10, 11), 0, number=2)]
    assert names(history) == ["non-monotonic send"]


def test_a_refused_record_must_not_be_read() -> None:
    history = good()
    history.sent.append(sent((13,), -1, number=3, outcome=Outcome.REFUSED))
    history.polled.append(polled((3, 13), position=3))
    assert names(history) == ["aborted read"]


def transactional(*, committed: bool | None) -> History:
    history = good()
    history.sent = [sent((10, 11), 0, transaction="x"), sent((12,), 2, transaction="x")]
    history.ended = [Ended(transaction="x", committed=committed)]
    history.polled = []
    return history


def test_an_aborted_transaction_is_only_seen_by_those_who_want_everything() -> None:
    history = transactional(committed=False)
    history.polled = [polled((0, 10), (1, 11), (2, 12))]
    history.final_committed[TP] = []
    assert check(history) == []
    history.polled.append(polled((0, 10), consumer="committed", committed_only=True))
    assert "aborted read" in names(history)


def test_a_committed_transaction_that_stays_hidden_is_lost() -> None:
    history = transactional(committed=True)
    history.final_committed[TP] = []
    assert names(history) == ["lost write"]


def test_half_a_transaction_is_torn() -> None:
    history = transactional(committed=None)
    history.final_committed[TP] = [(0, 10), (1, 11)]
    assert names(history) == ["torn transaction"]
