"""What programs have logged, read as it grows."""

from __future__ import annotations

from pathlib import Path

from barnabas.lab.programs.journaling import Journal
from barnabas.lab.scenarios.ledger import Ledger
from barnabas.lab.verdict.journal import What


def test_counts_grow_with_the_journals(tmp_path: Path) -> None:
    ledger = Ledger("t")
    first, second = tmp_path / "producer.jsonl", tmp_path / "consumer.jsonl"
    ledger.open(first)
    book = ledger.open(second)
    with Journal(first, "p") as producer, Journal(second, "c") as consumer:
        producer.note(What.SENT, "t", keys=["1", "2", "3"])
        producer.note(What.ACKED, "t", 0, offsets=[0, 1], keys=["1", "2"])
        producer.note(What.FAILED, "t", 0, keys=["3"], detail="_MSG_TIMED_OUT")
        consumer.note(What.ASSIGNED, "t", 0)
        consumer.note(What.PROCESSED, "t", 0, offsets=[0], keys=["1"])
        counts = ledger.refresh()
        assert (counts.sent, counts.acked[0], counts.failed) == (3, 2, 1)
        assert (counts.processed[0], counts.reached) == (1, {0: 1})
        consumer.note(What.PROCESSED, "t", 0, offsets=[1], keys=["2"])
        consumer.note(What.COMMITTED, "t", 0, offsets=[2])
        consumer.note(What.REVOKED, "t", 0)
        counts = ledger.refresh()

    assert (counts.processed[0], counts.reached, counts.commits) == (2, {0: 2}, 1)
    assert counts.committed == {0: 2}
    assert book.counts.held == set()
    assert len(ledger.events()) == 8


def test_other_topics_do_not_count(tmp_path: Path) -> None:
    ledger = Ledger("t")
    ledger.open(tmp_path / "p.jsonl")
    with Journal(tmp_path / "p.jsonl", "p") as producer:
        producer.note(What.ACKED, "dead-letters", 0, offsets=[0], keys=["1"])

    assert ledger.refresh().acked.total() == 0
    assert len(ledger.events()) == 1


def test_what_is_not_judged_counts_for_the_timeline_only(tmp_path: Path) -> None:
    ledger = Ledger("t")
    ledger.open(tmp_path / "p.jsonl", is_judged=False)
    with Journal(tmp_path / "p.jsonl", "p") as producer:
        producer.note(What.ACKED, "t", 0, offsets=[0], keys=["1"])

    assert ledger.refresh().acked.total() == 1
    assert ledger.events() == []


def test_waiting_ends_when_the_condition_holds_or_time_is_up(tmp_path: Path) -> None:
    ledger = Ledger("t")
    ledger.open(tmp_path / "p.jsonl")
    with Journal(tmp_path / "p.jsonl", "p") as producer:
        producer.note(What.SENT, "t", keys=["1"])

    assert ledger.wait(lambda: ledger.counts.sent == 1, 30)
    assert not ledger.wait(lambda: ledger.counts.sent == 2, 0)
