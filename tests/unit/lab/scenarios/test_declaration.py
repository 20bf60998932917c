"""Scenarios as their files say them."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.lab.scenarios.declaration import DeclarationError, changed, read_scenarios
from barnabas.lab.scenarios.expectation import SOME

HALF = {"does": "Something.", "takeaway": "It happens. Mind it."}


def document(**changes: Any) -> dict[str, Any]:
    return {"title": "T", "question": "Q?", "play": "basics:baseline", **changes}


def test_a_file_with_both_halves_is_two_scenarios() -> None:
    names = [each.name for each in read_scenarios("3.4", document(**{"break": HALF}, fix=HALF))]

    assert names == ["3.4", "3.4-fix"]


@pytest.mark.parametrize("half", ["break", "show", "fix"])
def test_a_file_with_one_half_is_one_scenario_of_the_files_name(half: str) -> None:
    (scenario,) = read_scenarios("3.3b", document(**{half: HALF}))

    assert (scenario.name, scenario.half) == ("3.3b", half)


def test_a_half_changes_what_it_names_and_leaves_the_rest() -> None:
    shared = {
        "producer": {"acks": 1, "linger": 1000},
        "topic": {"partitions": 3, "configs": {"min.insync.replicas": 2}},
    }
    changed = {
        **HALF,
        "producer": {"acks": "all", "idempotent": True},
        "topic": {"configs": {"unclean.leader.election.enable": False}},
    }
    broken, fixed = read_scenarios("x", document(**shared, **{"break": HALF}, fix=changed))

    assert broken.producer == {"acks": "1", "linger": "1000"}
    assert fixed.producer == {"acks": "all", "linger": "1000", "idempotent": "true"}
    assert broken.topic.configs == {"min.insync.replicas": "2"}
    assert fixed.topic.configs == {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
    }
    assert fixed.topic.partitions == 3


def test_expectations_and_sights_are_of_the_half() -> None:
    half = {**HALF, "expect": {"lost": "some"}, "see": {"moved": "the leader moved"}}
    (scenario,) = read_scenarios("x", document(**{"break": half}))

    assert scenario.expect.lost == SOME
    assert scenario.expect.sights == {"moved": "the leader moved"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, r"x: one of \[break\], \[show\] and \[fix\] is needed"),
        ({"show": HALF, "brokers": 3}, 'x: "brokers" is not known'),
        ({"show": {**HALF, "acks": 0}}, r'x \[show\]: "acks" is not known'),
        ({"show": {"takeaway": "t"}}, r"x \[show\]: does is missing"),
        ({"show": {**HALF, "expect": {"lost": "few"}}}, "'few' is not a count"),
        ({"show": {**HALF, "expect": {"gone": 1}}}, '"gone" is not known'),
        ({"show": HALF, "cluster": {"nodes": 3}}, "nodes"),
    ],
)
def test_a_file_that_is_none_says_where(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(DeclarationError, match=text):
        read_scenarios("x", document(**changes))


def test_a_change_is_of_what_it_names_and_of_nothing_that_is_predicted() -> None:
    half = {**HALF, "expect": {"lost": "some"}}
    shared = {"producer": {"acks": 1}, "params": {"killed-at": 1200}}
    (written,) = read_scenarios("x", document(**shared, **{"break": half}))
    pairs = {
        "producer.acks": "all",
        "topic.min.insync.replicas": "2",
        "cluster.replica.lag.time.max.ms": "1000",
        "consumer.ack-after-batch": "true",
        "params.killed-at": "700",
    }

    other = changed(written, pairs)

    assert other.producer == {"acks": "all"}
    assert other.topic.configs == {"min.insync.replicas": "2"}
    assert other.cluster.settings == {"replica.lag.time.max.ms": "1000"}
    assert other.consumer == {"ack-after-batch": "true"}
    assert other.params == {"killed-at": 700}
    assert other.expect == written.expect
    assert written.producer == {"acks": "1"}


@pytest.mark.parametrize("key", ["acks", "broker.acks", "producer.", "params.nobody"])
def test_a_change_of_nothing_is_refused(key: str) -> None:
    (written,) = read_scenarios("x", document(show=HALF))

    with pytest.raises(DeclarationError, match="changes nothing of x"):
        changed(written, {key: "1"})
