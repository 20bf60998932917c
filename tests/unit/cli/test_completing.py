"""How a line that is being typed may go on."""

from __future__ import annotations

import pytest

from barnabas.cli.command import Command
from barnabas.cli.completing import Candidate, Kind, Place, Wanted, complete, lines_for, split
from barnabas.cli.options import Option, Parsed
from barnabas.cli.tools import TOOLS, Tool


def run(args: Parsed) -> int:
    raise AssertionError("completing runs nothing")


COMMAND = Command(
    summary="A tool.",
    examples=(),
    options=(
        Option(name="topic", value="NAME", help="The topic."),
        Option(name="group", value="NAME", many=True, help="A group. May be repeated."),
        Option(name="command-config", value="FILE", help="Properties."),
        Option(name="consumer.config", value="FILE", help="Older spelling of --command-config."),
        Option(name="bootstrap-server", aliases=("broker-list",), value="HOST", help="Brokers."),
        Option(name="level", value="LEVEL", choices=("low", "lower", "high"), help="How much."),
        Option(name="list", help="List."),
    ),
    run=run,
)
WORDS = Command(
    summary="A tool.",
    examples=(),
    options=(Option(name="json", help="JSON."),),
    run=run,
    words=(0, 1),
    word_values=("list", "describe"),
)
TAIL = Command(
    summary="A tool.", examples=(), options=(), run=run, words=(1, 9), words_are="topics"
)


def command_of(tool: Tool) -> Command:
    if tool == TOOLS["transactions"]:
        return WORDS
    return TAIL if tool == TOOLS["topics tail"] else COMMAND


def wanted(line: str) -> Wanted:
    return complete(line, command_of)


def texts(line: str, *names: str) -> list[str]:
    return [each.text for each in wanted(line).matching([Candidate(name) for name in names])]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kafka-topics", ["kafka-topics"]),
        ("kafka-topics ", ["kafka-topics", ""]),
        ("kafka-topics --to", ["kafka-topics", "--to"]),
        ("k --topic 'two wo", ["k", "--topic", "two wo"]),
        ('k --topic "two ', ["k", "--topic", "two "]),
        ("k a\\ ", ["k", "a "]),
        ("", [""]),
    ],
)
def test_a_line_is_split_as_a_shell_would_even_if_it_is_not_finished(
    line: str, words: list[str]
) -> None:
    assert split(line) == words


def test_options_are_offered_with_what_they_are_for_but_not_twice() -> None:
    assert texts("kafka-topics --li") == ["--list"]
    assert Candidate("--list", "List") in wanted("kafka-topics.sh --").matching()
    assert "--topic" not in texts("kafka-topics --topic orders --")
    assert "--group" in texts("kafka-topics --group a --"), "it may be repeated"
    assert "--consumer.config" not in texts("kafka-topics --"), "an older spelling"
    assert "--help" in texts("kafka-topics ")


def test_values_are_offered_where_they_are_known() -> None:
    assert texts("kafka-topics --level lo") == ["low", "lower"]
    assert texts("kafka-topics --level=hi") == ["--level=high"]
    assert wanted("kafka-topics --command-config ").kind is Kind.FILES
    assert wanted("kafka-topics --consumer.config x").kind is Kind.FILES
    assert wanted("kafka-topics --bootstrap-server ").kind is Kind.NOTHING


def test_names_of_the_cluster_are_wanted_from_the_brokers_of_the_line() -> None:
    line = wanted("kafka-topics --broker-list h:1 --topic or")

    assert (line.kind, line.place) == (Kind.TOPICS, Place("h:1"))
    found = [Candidate("orders"), Candidate("payments")]
    assert line.matching(found) == [Candidate("orders")]
    assert wanted("kafka-topics --group ").kind is Kind.GROUPS
    assert wanted("kafka-topics --bootstrap-server=h:2 --topic=").place == Place("h:2")
    assert wanted("kafka-topics --topic ").place == Place()
    assert wanted("kafka-topics --command-config f --topic ").place == Place(config="f")


def test_after_a_comma_comes_another_name() -> None:
    assert texts("kafka-topics --topic a,o", "orders", "a") == ["a,orders"]
    assert texts("kafka-topics --topic=a,o", "orders", "a") == ["--topic=a,orders"]


def test_the_one_program_offers_its_commands_and_those_within() -> None:
    assert texts("barnabas consumer-g") == ["consumer-groups"]
    assert texts("barnabas top") == ["topics"]
    assert texts("barnabas help consumer-g") == ["consumer-groups"]
    assert texts("barnabas groups ") == ["lag"]
    assert "tail" in texts("barnabas topics ")
    assert "--list" in texts("barnabas topics ")
    assert texts("barnabas topics --li") == ["--list"]
    assert wanted("barnabas topics tail ").kind is Kind.TOPICS


def test_words_that_are_known_are_offered_once() -> None:
    assert texts("kafka-transactions d") == ["describe"]
    assert texts("kafka-transactions ") == ["list", "describe"]
    assert texts("kafka-transactions list ") == ["--json", "--help", "--version"]


def test_a_class_is_as_good_as_a_script() -> None:
    assert texts("kafka-run-class GetO") == ["GetOffsetShell"]
    assert texts("kafka-run-class.sh kafka.admin.TopicCommand --li") == ["--list"]


def test_other_programs_are_none_of_our_business() -> None:
    assert texts("ls --") == []
    assert texts("kafka-run-class kafka.tools.Nonsense --") == []


def test_bash_is_given_what_comes_after_its_wordbreaks() -> None:
    line = "kafka-topics --topic=or"
    found = wanted(line).matching([Candidate("orders")])

    assert lines_for("bash", line, found) == ["orders"]
    assert lines_for("zsh", line, found) == ["--topic=orders"]
    assert lines_for("bash", "k --group a:", [Candidate("a:b")]) == ["b"]
    assert lines_for("fish", "k --li", [Candidate("--list", "List")]) == ["--list\tList"]
