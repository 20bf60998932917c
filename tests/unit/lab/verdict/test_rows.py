"""Verdicts in words and as JSON."""

from __future__ import annotations

from barnabas.lab.verdict.judging import Offence, Verdict
from barnabas.lab.verdict.rows import document, lines, summary

LOST = Offence("lost write", "t", 2, 7, "17", 'He said, "no"')
BARE = Offence("lost", "t", 0, -1, None)


def test_a_clean_verdict_is_two_lines() -> None:
    verdict = Verdict(sent=3, acknowledged=3, received=3)

    assert lines(verdict) == [
        "3 sent, 3 acknowledged; 3 processed",
        "nothing lost, nothing duplicated",
    ]


def test_offending_records_are_listed_up_to_a_number() -> None:
    verdict = Verdict(sent=4, acknowledged=2, unknown=1, refused=1, lost=(BARE, LOST, LOST))

    assert lines(verdict, shown=2) == [
        "4 sent, 2 acknowledged, 1 of unknown fate, 1 refused; 0 processed",
        "3 lost, 0 duplicated",
        "lost:",
        "  t-0 key null (lost)",
        '  t-2 offset 7 key 17 (lost write)  He said, "no"',
        "  and 1 more",
    ]


def test_kinds_beside_loss_and_duplication_are_said_if_there_are_any() -> None:
    assert summary(Verdict(foreign=(BARE,))) == "0 lost, 0 duplicated, 1 foreign"


def test_the_document_has_counts_and_every_offending_record() -> None:
    found = document(Verdict(sent=2, acknowledged=2, received=1, lost=(LOST,)))

    assert (found["sent"], found["lost"], found["duplicated"]) == (2, 1, 0)
    assert found["offending"] == [
        {
            "kind": "lost",
            "name": "lost write",
            "topic": "t",
            "partition": 2,
            "offset": 7,
            "key": "17",
            "value": 'He said, "no"',
            "consumer": None,
        }
    ]
    assert document(Verdict(lost=(BARE,)))["offending"][0]["offset"] is None
