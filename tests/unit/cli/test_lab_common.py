"""How the lab's programs are told what to do, and when to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli import lab_consumer, lab_producer
from barnabas.cli.lab_common import described, texts_of
from barnabas.cli.options import UsageError, help_text, parse
from barnabas.lab.programs.knobs import CONSUMER, PRODUCER
from barnabas.lab.programs.options import ConsumerOptions, ProducerOptions


def told(*argv: str) -> dict[str, str]:
    return texts_of(parse(lab_producer.COMMAND.options, argv), "producer", PRODUCER)


@pytest.mark.parametrize("knob", PRODUCER, ids=lambda knob: knob.name)
def test_every_option_of_the_producer_has_both_spellings(knob: object) -> None:
    name = getattr(knob, "name", "")
    value = getattr(knob, "default", None) or {"idempotent": "true"}.get(name, "x")

    assert told(f"--{name}={value}") == told(f"-Dproducer.{name}={value}") == {name: value}


@pytest.mark.parametrize("knob", CONSUMER, ids=lambda knob: knob.name)
def test_every_option_of_the_consumer_has_both_spellings(knob: object) -> None:
    name = getattr(knob, "name", "")
    value = getattr(knob, "default", None) or "7"
    args = parse(lab_consumer.COMMAND.options, [f"-Dconsumer.{name}={value}"])

    assert texts_of(args, "consumer", CONSUMER) == {name: value}


def test_a_switch_alone_means_yes() -> None:
    assert told("--payload-trunc", "--acks", "1") == {"payload-trunc": "true", "acks": "1"}
    assert told("--payload-trunc=FALSE")["payload-trunc"] == "FALSE"


def test_both_spellings_of_one_option_are_one_too_many() -> None:
    with pytest.raises(UsageError, match="--acks is given twice"):
        told("--acks=0", "-Dproducer.acks=1")


def test_the_other_programs_spelling_is_not_understood() -> None:
    with pytest.raises(UsageError, match=r"unknown option -Dconsumer\.acks"):
        told("-Dconsumer.acks=1")


def test_what_is_typed_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lab.properties"
    file.write_text("producer.acks=0\nproducer.linger=5\nconsumer.group-id=g\n")

    assert told("--options", str(file), "--acks=1") == {"acks": "1", "linger": "5"}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("producer.acks=7", 'producer.acks: "7" is not one of'),
        ("producer.aks=1", "producer.aks: there is no such option"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    file = tmp_path / "lab.properties"
    file.write_text(f"{line}\n")

    with pytest.raises(UsageError, match=complaint):
        told("--options", str(file))


def test_options_that_do_not_go_together_are_named() -> None:
    with pytest.raises(UsageError, match="--idempotent: needs acks=all"):
        described({"idempotent": "true", "acks": "0"}, ProducerOptions)
    assert described({"group-id": "g"}, ConsumerOptions).group_id == "g"


@pytest.mark.parametrize("module", [lab_producer, lab_consumer])
def test_help_has_every_option_with_its_default_and_none_in_the_other_spelling(
    module: object,
) -> None:
    command = getattr(module, "COMMAND", None)
    assert command is not None
    text = help_text(
        "p", summary=command.summary, examples=command.examples, options=command.options
    )

    for option in command.options:
        assert f"  --{option.name}" in text
    assert "--Dproducer" not in text
    assert "Default: test-topic." in text
