"""What the options of the programs mean to the client library."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.lab.programs.knobs import KnobError
from barnabas.lab.programs.options import ConsumerOptions, ProducerOptions


@pytest.mark.parametrize(
    ("texts", "is_idempotent", "said"),
    [
        ({}, True, None),
        ({"acks": "-1"}, True, None),
        ({"acks": "1"}, False, "idempotence is off: it is not possible with acks=1"),
        ({"acks": "0"}, False, "idempotence is off: it is not possible with acks=0"),
        (
            {"max-inflight": "1000"},
            False,
            "idempotence is off: it is not possible with max-inflight=1000",
        ),
        ({"idempotent": "false"}, False, None),
    ],
)
def test_idempotence_is_on_where_it_can_be_and_what_is_off_is_said(
    texts: dict[str, str], is_idempotent: bool, said: str | None
) -> None:
    options = ProducerOptions.of(texts)

    assert (options.idempotent, options.explanation) == (is_idempotent, said)
    assert options.config()["enable.idempotence"] == str(is_idempotent).lower()


@pytest.mark.parametrize("texts", [{"acks": "1"}, {"max-inflight": "6"}])
def test_idempotence_cannot_be_asked_for_where_it_cannot_be(texts: dict[str, str]) -> None:
    with pytest.raises(KnobError, match="idempotent: needs acks=all"):
        ProducerOptions.of({**texts, "idempotent": "true"})


@pytest.mark.parametrize(
    ("texts", "every", "is_auto"),
    [
        ({}, None, True),
        ({"auto-commit": "false"}, None, False),
        ({"ack-every-x-msgs": "50"}, 50, False),
        ({"ack-after-batch": "true", "ack-every-x-msgs": "50"}, None, False),
    ],
)
def test_commits_by_hand_turn_auto_commit_off_and_those_after_a_batch_win(
    texts: dict[str, str], every: int | None, is_auto: bool
) -> None:
    options = ConsumerOptions.of(texts)

    assert (options.ack_every_x_msgs, options.auto_commit) == (every, is_auto)


@pytest.mark.parametrize(("number", "name"), [("-1", "payload.log"), ("7", "payload-7.log")])
def test_the_payload_log_is_named_by_the_local_id(number: str, name: str) -> None:
    assert ProducerOptions.of({"local-id": number}).log_name == name
    assert ConsumerOptions.of({"local-id": number}).log_name == name


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"acks": "0", "retries": "0"},
        {"linger": "120000", "delivery-timeout": "1000"},
        {"request-timeout": "600000", "retry-backoff": "5000", "max-inflight": "1000"},
    ],
)
def test_the_library_takes_what_a_producer_is_told(texts: dict[str, str]) -> None:
    Producer({**ProducerOptions.of(texts).config(), "log_level": 0})


@pytest.mark.parametrize("strategy", ["coop", "range", "rr", "sticky"])
def test_the_library_takes_what_a_consumer_is_told(strategy: str) -> None:
    texts = {"assignment-strategy": strategy, "instance-id": "one", "session-timeout": "1000"}
    config = ConsumerOptions.of({**texts, "heartbeat-interval": "500"}).config()
    patient = ConsumerOptions.of({"session-timeout": "600000"}).config()

    assert config["group.instance.id"] == "one"
    for each in (config, patient):
        Consumer({**each, "log_level": 0}).close()
