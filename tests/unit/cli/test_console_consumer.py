from __future__ import annotations

import pytest

from barnabas.cli.assigning import BEGINNING, END
from barnabas.cli.console_consumer import (
    COMMAND,
    assignment,
    check,
    consumer_properties,
    formatter_of,
    group_of,
    parse_offset,
)
from barnabas.cli.options import Parsed, UsageError, parse


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split())


@pytest.mark.parametrize(
    "line",
    [
        "--topic t",
        "--include a.*",
        "--whitelist a.*",
        "--topic t --partition 0 --offset 5",
        "--topic t --partition 0 --from-beginning",
        "--topic t --group g --from-beginning",
        "--new-consumer --bootstrap-server b:1 --topic t",
    ],
)
def test_options_that_go_together(line: str) -> None:
    check(words(line))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "exactly one of --topic and --include is needed"),
        ("--topic t --include x", "exactly one of --topic and --include is needed"),
        ("--topic t --offset 2", "--offset needs --partition"),
        ("--include x --partition 2", "--partition needs --topic"),
        ("--topic t --partition 0 --offset -3", '--offset: "-3" is not'),
        ("--topic t --partition 0 --offset foo", '--offset: "foo" is not'),
        ("--topic t --partition 0 --from-beginning --offset 1", "--from-beginning and --offset"),
        ("--topic t --partition 0 --group g", "--group and --partition"),
        ("--topic t --property a=b --formatter-property c=d", "--property and --formatter-prop"),
    ],
)
def test_options_that_do_not_go_together(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check(words(line))


def test_offsets_are_numbers_or_words() -> None:
    assert parse_offset("0") == 0
    assert parse_offset("Earliest") == BEGINNING
    assert parse_offset("latest") == END
    with pytest.raises(UsageError, match="--offset"):
        parse_offset(str(2**63))


def test_where_reading_starts() -> None:
    def start(line: str, **properties: str) -> int:
        named = {key.replace("_", "."): value for key, value in properties.items()}
        return assignment(words(line), named).offset

    assert start("--topic t") == END
    assert start("--topic t --from-beginning") == BEGINNING
    assert start("--topic t", auto_offset_reset="earliest") == BEGINNING
    assert start("--topic t --partition 3 --offset 7") == 7
    with pytest.raises(UsageError, match=r"auto\.offset\.reset=latest"):
        start("--topic t --from-beginning", auto_offset_reset="latest")


def test_a_pattern_leaves_out_internal_topics_unless_told_otherwise() -> None:
    assert not assignment(words("--include .*"), {}).wants("__consumer_offsets")
    assert assignment(words("--include .*"), {}).wants("orders")
    everything = assignment(words("--include .*"), {"exclude.internal.topics": "false"})
    assert everything.wants("__consumer_offsets")
    with pytest.raises(UsageError, match='--include: "\\[a" is not a regular expression'):
        assignment(words("--include [a"), {})


def test_the_group_comes_from_the_option_or_the_property() -> None:
    assert group_of(words("--topic t"), {}) is None
    assert group_of(words("--topic t --group g"), {}) == "g"
    assert group_of(words("--topic t"), {"group.id": "p"}) == "p"
    assert group_of(words("--topic t --group g"), {"group.id": "g"}) == "g"
    with pytest.raises(UsageError, match=r"--group: g differs from the property group\.id=p"):
        group_of(words("--topic t --group g"), {"group.id": "p"})
    with pytest.raises(UsageError, match="--partition cannot be used with a group"):
        group_of(words("--topic t --partition 0"), {"group.id": "p"})


def test_without_a_group_nothing_is_committed() -> None:
    alone = consumer_properties(words("--topic t --isolation-level read_committed"), {}, None)
    assert alone == {"isolation.level": "read_committed", "enable.auto.commit": "false"}

    member = consumer_properties(words("--topic t --from-beginning"), {}, "g")
    assert member == {"auto.offset.reset": "earliest", "group.id": "g"}


def test_a_bad_deserializer_is_named_by_its_option() -> None:
    with pytest.raises(UsageError, match=r'^--key-deserializer: "foo" is not known'):
        formatter_of(words("--topic t --key-deserializer foo"))
