from __future__ import annotations

import pytest

from barnabas.cli.options import Parsed, UsageError, parse
from barnabas.cli.topics import (
    COMMAND,
    check,
    check_topic_id,
    create_arguments,
    parse_assignment,
    parse_configs,
)


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split())


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("--list", "list"),
        ("--list --topic t --exclude-internal --json", "list"),
        ("--describe --under-replicated-partitions --unavailable-partitions", "describe"),
        ("--describe --topic-id aHnrSZh_SM-unF0m9kCAkA --if-exists", "describe"),
        ("--create --topic t --partitions 3 --replication-factor 1 --config a=b", "create"),
        ("--create --topic t --replica-assignment 1:2 --if-not-exists", "create"),
        ("--alter --topic t --partitions 3 --replica-assignment 1,2,3", "alter"),
        ("--delete --topic t --if-exists", "delete"),
    ],
)
def test_options_that_go_together(line: str, action: str) -> None:
    assert check(words(line)) == action


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "exactly one action is needed: --list, --describe, --create, --alter, --delete"),
        ("--list --create", "exactly one action is needed"),
        ("--create", "--topic is missing"),
        ("--delete", "--topic is missing"),
        ("--alter --topic t", "--partitions is missing"),
        (
            "--alter --topic t --partitions 2 --config a=b",
            "--config .* --alter: use kafka-configs",
        ),
        ("--alter --topic t --delete-config a", "--delete-config is no longer supported"),
        ("--list --partitions 3", "--partitions cannot be used with --list"),
        ("--describe --replication-factor 3", "--replication-factor .* with --describe"),
        ("--list --if-exists", "--if-exists cannot be used with --list"),
        ("--describe --if-not-exists", "--if-not-exists cannot be used with --describe"),
        ("--create --topic t --exclude-internal", "--exclude-internal .* with --create"),
        ("--list --at-min-isr-partitions", "--at-min-isr-partitions .* with --list"),
        ("--delete --topic t --json", "--json cannot be used with --delete"),
        (
            "--create --topic t --partitions 2 --replica-assignment 1",
            "--replica-assignment and --partitions cannot be used together",
        ),
        (
            "--describe --unavailable-partitions --topics-with-overrides",
            "--unavailable-partitions and --topics-with-overrides cannot be used together",
        ),
    ],
)
def test_options_that_do_not_go_together(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check(words(line))


def test_numbers_that_are_not_given_are_left_to_the_broker() -> None:
    assert create_arguments(words("--create --topic t")) == {
        "partitions": -1,
        "replication_factor": -1,
        "config": {},
    }
    given = words("--create --topic t --partitions 6 --replication-factor 3 --config a=b")
    assert create_arguments(given) == {
        "partitions": 6,
        "replication_factor": 3,
        "config": {"a": "b"},
    }


def test_an_assignment_takes_the_place_of_the_numbers() -> None:
    assert create_arguments(words("--create --topic t --replica-assignment 1:2,2:1")) == {
        "assignment": [[1, 2], [2, 1]],
        "config": {},
    }


def test_no_copies_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="--replication-factor: 0 is out of range"):
        create_arguments(words("--create --topic t --replication-factor 0"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("foo", "is not a list of broker ids"),
        ("1,,2", "is not a list of broker ids"),
        ("1:1", "partition 0 names a broker twice"),
        ("1:2,1", "partition 1 has 1 replicas, partition 0 has 2"),
    ],
)
def test_an_assignment_must_be_one(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^--replica-assignment: .*{complaint}"):
        parse_assignment(text)


def test_settings_of_a_topic() -> None:
    assert parse_configs(["cleanup.policy=compact,delete", " a = b=c "]) == {
        "cleanup.policy": "compact,delete",
        "a": "b=c",
    }
    for bad in ("a", "a=", "=b"):
        with pytest.raises(UsageError, match=f'--config: "{bad}" is not of the form key=value'):
            parse_configs([bad])


def test_a_topic_id_must_look_like_one() -> None:
    check_topic_id("aHnrSZh_SM-unF0m9kCAkA")
    with pytest.raises(UsageError, match="--topic-id: "):
        check(words("--describe --topic-id zzz"))
