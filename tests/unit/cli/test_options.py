from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.options import (
    Option,
    Parsed,
    UsageError,
    at_most_one,
    help_text,
    parse,
    required,
)

OPTIONS = (
    Option(name="topic", value="NAME", help="A topic."),
    Option(name="topics-with-overrides", help="A flag."),
    Option(name="list", help="A flag."),
    Option(name="config", value="KEY=VALUE", many=True, help="A pair."),
    Option(name="partitions", value="NUMBER", whole=(1, 100), help="A number."),
    Option(name="acks", value="WHO", choices=("all", "-1", "0"), help="A choice."),
    Option(name="codec", value="NAME", alone="gzip", help="A value that may be missing."),
    Option(name="bootstrap-server", aliases=("broker-list",), value="HOST", help="An address."),
)


def words(line: str) -> Parsed:
    return parse(OPTIONS, line.split())


def complaint(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        words(line)
    return str(caught.value)


def test_a_value_follows_or_stands_behind_an_equals_sign() -> None:
    assert words("--topic t").text("topic") == "t"
    assert words("--topic=t").text("topic") == "t"
    assert words("--config=a=b").texts("config") == ["a=b"]
    assert words("--topic=").text("topic") == ""


def test_one_dash_is_as_good_as_two() -> None:
    assert words("-topic t -list").has("list")


def test_a_prefix_is_enough_if_it_is_unique() -> None:
    assert words("--part 3").number("partitions") == 3
    assert words("--broker x").text("bootstrap-server") == "x"
    assert "--topic, --topics-with-overrides" in complaint("--topi t")


def test_a_whole_name_wins_over_longer_ones() -> None:
    assert words("--topic t").text("topic") == "t"


def test_an_alias_is_the_same_option() -> None:
    assert words("--broker-list h:1").text("bootstrap-server") == "h:1"
    assert complaint("--broker-list a --bootstrap-server b") == "--bootstrap-server is given twice"


def test_values_may_begin_with_a_dash() -> None:
    assert words("--acks -1").text("acks") == "-1"


def test_a_repeated_option_keeps_all_values_in_order() -> None:
    assert words("--config a=1 --list --config b=2").texts("config") == ["a=1", "b=2"]


def test_a_value_that_may_be_missing() -> None:
    assert words("--codec --list").text("codec") == "gzip"
    assert words("--codec").text("codec") == "gzip"
    assert words("--codec zstd").text("codec") == "zstd"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--lst", "unknown option --lst: did you mean --list?"),
        ("--zzzzzzzz", "unknown option --zzzzzzzz: --help lists the options"),
        ("-x", "unknown option -x: --help lists the options"),
        ("--topic", "--topic needs a value: NAME"),
        ("--topic --list", "--topic needs a value: NAME"),
        ("--topic a --topic b", "--topic is given twice"),
        ("--list=yes", "--list takes no value"),
        ("--partitions many", '--partitions: "many" is not a whole number'),
        ("--partitions 1.5", '--partitions: "1.5" is not a whole number'),
        ("--partitions ٣", '--partitions: "٣" is not a whole number'),
        ("--partitions 0", "--partitions: 0 is out of range: at least 1"),
        ("--partitions 101", "--partitions: 101 is out of range: at most 100"),
        ("--acks 7", '--acks: "7" is not one of all, -1, 0'),
        ("--list stray", 'unexpected argument "stray"'),
        ("--list -1", 'unexpected argument "-1"'),
        ("--topic t\udcff", '"t\\xff" is not text in UTF-8'),
    ],
)
def test_what_cannot_be_meant_is_one_line_that_names_the_option(line: str, expected: str) -> None:
    assert complaint(line) == expected


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_command_line_is_read_or_refused(argv: list[str]) -> None:
    try:
        parsed = parse(OPTIONS, argv, words=(0, 2))
    except UsageError:
        return
    assert len(parsed.words) <= 2
    assert len(parsed.texts("topic")) <= 1


def test_help_ends_the_reading() -> None:
    assert words("--help --nonsense").has("help")
    assert words("-h").has("help")
    assert words("--topic t --version --nonsense").has("version")


def test_plain_words_are_counted() -> None:
    assert parse(OPTIONS, ["a", "--list", "b"], words=(1, 2)).words == ["a", "b"]
    with pytest.raises(UsageError, match='unexpected argument "c"'):
        parse(OPTIONS, ["a", "b", "c"], words=(1, 2))
    with pytest.raises(UsageError, match="missing argument"):
        parse(OPTIONS, [], words=(1, 2))


def test_of_options_that_exclude_each_other_one_may_be_given() -> None:
    assert at_most_one(words("--list"), "list", "topic") == "list"
    assert at_most_one(words(""), "list", "topic") is None
    with pytest.raises(UsageError, match="--list and --topic cannot be used together"):
        at_most_one(words("--topic t --list"), "list", "topic")


def test_a_required_option_must_have_a_value() -> None:
    assert required(words("--topic t"), "topic") == "t"
    for line in ("", "--topic="):
        with pytest.raises(UsageError, match="--topic is missing: NAME"):
            required(words(line), "topic")


def test_help_shows_every_option_within_the_width() -> None:
    text = help_text(
        "tool",
        summary="It does.",
        examples=["--list"],
        options=OPTIONS,
        width=50,
        notes=["A note."],
    )

    assert text.startswith("It does.\n\nExamples\n  tool --list\n\nOptions\n")
    assert "  --bootstrap-server, --broker-list HOST\n      An address.\n" in text
    assert "  --codec [NAME]\n" in text
    assert "  --help, -h\n" in text
    assert text.endswith("\n\nA note.\n")
    assert all(len(line) <= 50 for line in text.splitlines())


def test_the_order_of_options_is_kept_where_it_matters() -> None:
    options = [
        Option(name="type", value="T", many=True, help="."),
        Option(name="name", value="N", many=True, help="."),
        Option(name="default", help="."),
    ]
    parsed = parse(options, ["--type", "a", "--default", "--type=b", "--name", "n"])
    assert parsed.order == [("type", "a"), ("default", ""), ("type", "b"), ("name", "n")]


def test_choices_in_upper_case_are_taken_where_kafka_takes_them() -> None:
    kind = Option(name="kind", value="KIND", choices=("clean",), any_case=True, help="Which.")

    assert parse([kind], ["--kind", "CLEAN"]).text("kind") == "CLEAN"
    with pytest.raises(UsageError, match='"Unclean" is not one of clean'):
        parse([kind], ["--kind", "Unclean"])


def test_unlisted_spellings_are_understood_and_not_shown() -> None:
    option = Option(name="acks", value="WHO", help="Who.", unlisted=("Dproducer.acks",))

    assert parse([option], ["-Dproducer.acks=0"]).text("acks") == "0"
    assert "Dproducer" not in help_text("tool", summary="A.", examples=(), options=[option])
