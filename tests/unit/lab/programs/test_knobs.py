"""Options of the lab's programs: their names and defaults are those of the exercises."""

from __future__ import annotations

import pytest

from barnabas.lab.programs.knobs import CONSUMER, PRODUCER, Knob, KnobError, of_side, read_all

PRODUCER_DEFAULTS = {
    "topic": "test-topic",
    "num_rolls": 1,
    "num_records_per_roll": 100,
    "wait_after_roll": 5000,
    "wait_after_send": 0,
    "local_id": -1,
    "payload_trunc": False,
    "acks": "all",
    "max_inflight": 5,
    "idempotent": None,
    "batch": 16384,
    "linger": 0,
    "retries": 2147483647,
    "delivery_timeout": 120000,
    "request_timeout": 30000,
    "retry_backoff": 100,
    "retry_max": 1000,
}
CONSUMER_DEFAULTS = {
    "topic": "test-topic",
    "poll_period": 1000,
    "wait_after_recv": 0,
    "wait_after_batch": 0,
    "wait_after_record": 0,
    "ack_every_x_msgs": None,
    "ack_after_batch": False,
    "wait_cmd_period": 5000,
    "local_id": -1,
    "payload_trunc": False,
    "group_id": "test-app",
    "instance_id": None,
    "auto_commit": True,
    "ac_interval": 5000,
    "fetch_min_bytes": 1,
    "max_poll_recs": 500,
    "assignment_strategy": "coop",
    "heartbeat_interval": 3000,
    "session_timeout": 45000,
    "auto_offset_reset": "latest",
}


@pytest.mark.parametrize(
    ("knobs", "defaults"), [(PRODUCER, PRODUCER_DEFAULTS), (CONSUMER, CONSUMER_DEFAULTS)]
)
def test_every_option_of_the_exercises_is_there_with_its_default(
    knobs: tuple[Knob, ...], defaults: dict[str, object]
) -> None:
    found = read_all(knobs, {})

    assert {name: found[name] for name in defaults} == defaults


@pytest.mark.parametrize("knob", [*PRODUCER, *CONSUMER], ids=lambda knob: knob.name)
def test_every_option_says_what_it_is_and_has_a_default_that_it_takes(knob: Knob) -> None:
    assert knob.help.endswith(".")
    assert knob.default is None or knob.read(knob.default) is not None


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("acks", "2", 'acks: "2" is not one of 0, 1, all, -1'),
        ("linger", "soon", 'linger: "soon" is not a whole number'),
        ("num-rolls", "0", "num-rolls: 0 is out of range: at least 1"),
        ("batch", str(2**31), "batch: 2147483648 is out of range: at most 2147483647"),
        ("payload-trunc", "yes", 'payload-trunc: "yes" is neither true nor false'),
        ("colour", "red", "colour: there is no such option"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_option(
    name: str, text: str, complaint: str
) -> None:
    with pytest.raises(KnobError, match=complaint.replace(".", r"\.")):
        read_all(PRODUCER, {name: text})


def test_a_poll_may_give_what_the_library_can_and_no_more() -> None:
    assert read_all(CONSUMER, {"max-poll-recs": "1000000"})["max_poll_recs"] == 1_000_000
    with pytest.raises(KnobError, match="max-poll-recs: 1000001 is out of range: at most 1000000"):
        read_all(CONSUMER, {"max-poll-recs": "1000001"})


def test_a_file_may_have_the_options_of_both_programs() -> None:
    both = {"producer.acks": "0", "consumer.group-id": "g", "other": "x"}

    assert of_side("producer", both) == {"acks": "0"}
    assert of_side("consumer", both) == {"group-id": "g"}
