"""What a run says in the end, and what is said before it."""

from __future__ import annotations

import dataclasses

from lab_story import losses, result

from barnabas.lab.scenarios.catalogue import all_scenarios
from barnabas.lab.scenarios.result import OFFENDING_MAX, document, ranges
from barnabas.lab.scenarios.telling import list_lines, show_lines, summary_lines, verdict_lines
from barnabas.lab.verdict.judging import Offence


def test_the_verdict_says_counts_records_why_and_what_next() -> None:
    text = "\n".join(verdict_lines(result(lost=3)))

    assert "3.2b: as predicted: 3 lost, 0 duplicated" in text
    assert "lost write: lab-0, 3 records: offsets 450-452, keys 0, 1, 2" in text
    assert "one broker has the record" in " ".join(text.split())
    assert "barnabas lab run 3.3a" in text


def test_an_outcome_that_was_not_predicted_says_what_is_wrong() -> None:
    lines = verdict_lines(result(lost=0, is_seen=False))

    assert "3.2b: NOT as predicted" in "\n".join(lines)
    assert "  ! lost: 0, predicted some" in lines
    assert "  ! not seen: the follower leads, as it was in sync" in lines


def test_a_run_that_did_not_come_to_its_end_was_not_predicted_whatever_it_shows() -> None:
    failed = dataclasses.replace(result(), failure="no leader in 120 s")

    assert not failed.predicted
    assert failed.surprises == ["it did not come to its end: no leader in 120 s"]


def test_a_record_that_nobody_sent_is_a_surprise() -> None:
    expected = result(lost=3)
    verdict = dataclasses.replace(expected.verdict, foreign=(Offence("foreign", "lab", 0, 7, "x"),))
    surprising = dataclasses.replace(expected, verdict=verdict)

    assert not surprising.predicted
    text = "\n".join(verdict_lines(surprising))
    assert "3.2b: NOT as predicted: 3 lost, 0 duplicated, 1 foreign" in text
    assert "  ! foreign: 1, predicted none" in text
    assert document(surprising)["foreign"] == 1


def test_after_a_break_its_own_fix_comes_next() -> None:
    text = "\n".join(verdict_lines(result(name="3.4")))

    assert "next: barnabas lab run 3.4-fix" in text


def test_json_has_the_counts_of_all_and_the_first_of_the_records() -> None:
    made = document(result(lost=OFFENDING_MAX + 20))

    assert made["name"] == "3.2b"
    assert made["predicted"] is True
    assert (made["lost"], made["duplicated"]) == (OFFENDING_MAX + 20, 0)
    assert made["offending_total"] == OFFENDING_MAX + 20
    assert len(made["offending"]) == OFFENDING_MAX
    assert made["offending"][0] == {
        "name": "lost write",
        "topic": "lab",
        "partition": 0,
        "offset": 450,
        "key": "0",
    }


def test_runs_of_offsets_are_said_in_few_words() -> None:
    found = [*losses(3), Offence("lost write", "lab", 0, 700, "9", None, "")]

    assert ranges(found) == ["lost write: lab-0, 4 records: offsets 450-452, 700, keys 0, 1, 2, 9"]
    assert ranges([Offence("lost", "lab", 1, -1, "5", None, "")]) == [
        "lost: lab-1, 1 record: keys 5"
    ]
    assert ranges([]) == []


def test_the_list_has_a_line_for_each() -> None:
    lines = list_lines(all_scenarios().values())

    assert len(lines) == len(all_scenarios())
    assert lines[0].startswith("1.1 ")


def test_show_says_everything_that_a_run_depends_on() -> None:
    text = "\n".join(show_lines(all_scenarios()["3.4-fix"]))

    for expected in (
        "a controller and 3 brokers",
        "3 partitions, 3 replicas, min.insync.replicas=2",
        "--acks all --idempotent true",
        "lost none, duplicated none",
        "barnabas lab run 3.4-fix",
    ):
        assert expected in text


def test_the_summary_counts_those_that_came_out_as_predicted() -> None:
    lines = summary_lines([result(), result(lost=0)], 65.4)

    assert lines[-1] == "1 of 2 as predicted, 65 s in all"
    assert [line[:4].strip() for line in lines[2:4]] == ["ok", "NOT"]
