from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fake_groups import FakeGroups, group, install

from barnabas.cli.consumer_groups import COMMAND
from barnabas.cli.consumer_groups_options import STATES, TYPES, check, chosen, timeout_s
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, UsageError, parse
from barnabas.client import group_details
from barnabas.client.errors import ClientError, RefusedError, SilentBrokerError
from barnabas.client.group_admin import Group, GroupListing, Member

MEMBER = Member(member_id="m-1", client_id="m", host="/h", assignment=[("t", 0), ("lost", 0)])
Captured = pytest.CaptureFixture[str]


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split())


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> FakeGroups:
    fake = install(monkeypatch)
    fake.add(group("empty"), {("t", 1): 15, ("t", 0): 12})
    fake.add(group("live", "Stable", [MEMBER]), {("t", 0): 13})
    return fake


def run(line: str) -> int:
    return run_tool("kafka-consumer-groups", "barnabas.cli.consumer_groups", line.split())


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("--list", "list"),
        ("--list --state --type --json", "list"),
        ("--list --state stable,EMPTY --type classic", "list"),
        ("--describe --group a --group b", "describe"),
        ("--describe --all-groups --members --verbose", "describe"),
        ("--describe --group a --state --verbose --timeout 1000", "describe"),
        ("--describe --group a --new-consumer", "describe"),
        ("--delete --all-groups", "delete"),
        ("--delete-offsets --group a --topic t --topic u:0,1", "delete-offsets"),
        ("--reset-offsets --group a --topic t --to-earliest", "reset-offsets"),
        ("--reset-offsets --all-groups --all-topics --shift-by -5 --execute", "reset-offsets"),
        ("--reset-offsets --group a --topic t:0 --to-offset -1 --dry-run", "reset-offsets"),
        ("--reset-offsets --group a --topic t --by-duration PT1H --export", "reset-offsets"),
        ("--validate-regex a.*", "validate-regex"),
    ],
)
def test_options_that_go_together(line: str, action: str) -> None:
    assert check(words(line)) == action


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "exactly one action is needed: --list, --describe, --delete, --reset-offsets"),
        ("--list --describe", "exactly one action is needed"),
        ("--describe", "--describe needs --group or --all-groups"),
        ("--delete", "--delete needs --group or --all-groups"),
        ("--reset-offsets --topic t --to-latest", "--reset-offsets needs --group or"),
        ("--describe --group a --all-groups", "--group and --all-groups cannot be used together"),
        ("--describe --group=", "--group: a group has a name"),
        ("--list --group a", "--group cannot be used with --list"),
        ("--describe --group a --topic t", "--topic cannot be used with --describe"),
        ("--delete --group a --topic t", "--topic cannot be used with --delete"),
        ("--describe --group a --members --offsets", "--offsets and --members cannot be used"),
        ("--describe --group a --members --state", "--members and --state cannot be used"),
        ("--describe --group a --state stable", "--state takes no value with --describe"),
        ("--list --members", "--members cannot be used with --list"),
        ("--delete --group a --state", "--state cannot be used with --delete"),
        ("--list --state odd", "--state: 'odd': valid states are: PreparingRebalance, "),
        ("--list --type classic,odd", "--type: 'classic,odd': valid types are: Classic, Consumer"),
        ("--delete-offsets --group a", "--topic is missing"),
        ("--delete-offsets --topic a", "--group is missing"),
        ("--delete-offsets --group a --group b --topic t", "--group is given twice"),
        ("--delete-offsets --group a --topic t:x", "--topic: "),
        ("--reset-offsets --group a --topic t", "--reset-offsets needs one of --to-earliest, "),
        ("--reset-offsets --group a --to-latest", "--reset-offsets needs --topic or --all-topics"),
        (
            "--reset-offsets --group a --topic t --to-latest --to-earliest",
            "--to-earliest and --to-latest cannot be used together",
        ),
        (
            "--reset-offsets --group a --topic t --all-topics --to-latest",
            "--topic and --all-topics cannot be used together",
        ),
        (
            "--reset-offsets --group a --topic t --to-latest --execute --dry-run",
            "--dry-run and --execute cannot be used together",
        ),
        ("--reset-offsets --group a --topic t --to-datetime soon", '--to-datetime: "soon"'),
        ("--reset-offsets --group a --topic t --by-duration 1h", '--by-duration: "1h"'),
        ("--reset-offsets --group a --from-file /none/such", "--from-file: cannot read"),
        ("--describe --group a --execute", "--execute cannot be used with --describe"),
        ("--describe --group a --to-latest", "--to-latest cannot be used with --describe"),
    ],
)
def test_options_that_do_not_go_together(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check(words(line))


def test_names_in_lists_may_be_of_any_case() -> None:
    assert chosen(words("--list --state stable,EMPTY"), "state", STATES) == {"Stable", "Empty"}
    assert chosen(words("--list --type"), "type", TYPES) == set()
    assert chosen(words("--list"), "type", TYPES) == set()


def test_the_time_limit() -> None:
    assert timeout_s(words("--list")) == 5
    assert timeout_s(words("--list --timeout 250")) == 0.25
    assert timeout_s(words("--list --timeout 2147483647")) == 3600


def test_the_list(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--list") == 0
    assert capsys.readouterr() == ("empty\nlive\n", "")

    assert run("--list --state empty") == 0
    assert capsys.readouterr().out.split() == ["GROUP", "STATE", "empty", "Empty"]

    assert run("--list --type consumer") == 0
    assert capsys.readouterr().out.split() == ["GROUP", "TYPE"]

    assert run("--list --json --state stable") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"group": "live", "type": "Classic", "state": "Stable"}
    ]


def test_states_that_librdkafka_does_not_know_can_be_chosen(
    groups: FakeGroups, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups.add(group("newer", "Unknown", kind="Consumer"))

    def exact(listings: list[GroupListing], *_: object, **__: object) -> list[GroupListing]:
        return [replace(each, state="Assigning") for each in listings if each.state == "Unknown"]

    monkeypatch.setattr(group_details, "with_exact_states", exact)
    assert run("--list --state assigning") == 0
    assert capsys.readouterr().out.split() == ["GROUP", "STATE", "newer", "Assigning"]


def test_offsets_are_shown_with_a_note_on_groups_without_members(
    groups: FakeGroups, capsys: Captured
) -> None:
    assert run("--describe --group live --group empty --timeout 700") == 0

    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines() if not line.startswith("GROUP")]
    assert rows == [
        [],
        ["empty", "t", "0", "12", "20", "8", "-", "-", "-"],
        ["empty", "t", "1", "15", "20", "5", "-", "-", "-"],
        [],
        ["live", "lost", "0", "-", "-", "-", "m-1", "/h", "m"],
        ["live", "t", "0", "13", "20", "7", "m-1", "/h", "m"],
    ]
    assert err == "\nConsumer group 'empty' has no active members.\n"
    assert groups.asked_ends == [[("t", 0), ("t", 1)]]
    assert groups.patience.seconds == 0.7


def test_a_group_that_does_not_exist_fails_but_does_not_hide_the_others(
    groups: FakeGroups, capsys: Captured
) -> None:
    assert run("--describe --group none --group live --state") == 1
    out, err = capsys.readouterr()
    assert err == "\nError: Consumer group 'none' does not exist.\n"
    assert "live            h:9092  (1)" in out


def test_members_and_states_of_all_groups(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--describe --all-groups --members") == 0
    out, err = capsys.readouterr()
    assert out.count("GROUP ") == 2
    assert err == "\nConsumer group 'empty' has no active members.\n"

    assert run("--describe --all-groups --state --verbose") == 0
    assert capsys.readouterr().out.count("TARGET-ASSIGNMENT-EPOCH") == 2


def test_details_of_the_newer_protocol_are_added(
    groups: FakeGroups, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def detailed(found: list[Group], *_: object, **__: object) -> list[Group]:
        return [replace(each, state="Reconciling", epoch=77) for each in found]

    monkeypatch.setattr(group_details, "add_group_details", detailed)
    assert run("--describe --group live --state --verbose") == 0
    out, err = capsys.readouterr()
    assert out.split()[-3:] == ["77", "-", "1"]
    assert err == "\nWarning: Consumer group 'live' is rebalancing.\n"


@pytest.mark.parametrize(
    ("view", "key"), [("--offsets", "offsets"), ("--members", "members"), ("", "offsets")]
)
def test_groups_as_json(groups: FakeGroups, capsys: Captured, view: str, key: str) -> None:
    assert run(f"--describe --all-groups --json {view}") == 0
    out, err = capsys.readouterr()
    described: list[dict[str, Any]] = json.loads(out)
    assert [(each["group"], len(each[key])) for each in described] == [
        ("empty", 2 if key == "offsets" else 0),
        ("live", 2 if key == "offsets" else 1),
    ]
    assert err == ""


def test_states_as_json(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--describe --group none --group live --state --json") == 1
    out, err = capsys.readouterr()
    assert [each["state"] for each in json.loads(out)] == ["Stable"]
    assert "'none' does not exist" in err


def test_what_a_broker_refuses_is_one_line(groups: FakeGroups, capsys: Captured) -> None:
    groups.refused["live"] = RefusedError("GROUP_AUTHORIZATION_FAILED", "Not allowed.")
    assert run("--describe --group live") == 1
    assert capsys.readouterr().err == (
        "Error: Executing consumer group command failed due to Not allowed.\n"
    )
    groups.refused["live"] = SilentBrokerError("h:1")
    assert run("--describe --group live") == 1
    assert capsys.readouterr().err.startswith("no usable answer from h:1")


def test_groups_are_deleted(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--delete --group b --group a") == 0
    assert capsys.readouterr() == (
        "Deletion of requested consumer groups ('a', 'b') was successful.\n",
        "",
    )


def test_groups_that_cannot_be_deleted_are_named(groups: FakeGroups, capsys: Captured) -> None:
    groups.refused["live"] = ClientError("The group is not empty.")
    assert run("--delete --all-groups") == 1
    assert capsys.readouterr() == (
        "\nThese consumer groups were deleted successfully: 'empty'\n",
        (
            "\nError: Deletion of some consumer groups failed:\n"
            "* Group 'live' could not be deleted due to: The group is not empty.\n"
        ),
    )
    assert run("--delete --group live") == 1
    assert capsys.readouterr().out == ""


def test_offsets_are_deleted(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--delete-offsets --group empty --topic t --topic u:0") == 0
    assert capsys.readouterr() == (
        (
            "Request succeeded for deleting offsets from group empty.\n"
            "\nTOPIC           PARTITION  STATUS         "
            "\nt               0          Successful     "
            "\nt               1          Successful     "
            "\nu               0          Successful     \n"
        ),
        "",
    )


def test_offsets_that_cannot_be_deleted_are_shown(groups: FakeGroups, capsys: Captured) -> None:
    groups.forgotten = {("t", 1): RefusedError("GROUP_SUBSCRIBED_TO_TOPIC", "It is read from.")}
    assert run("--delete-offsets --group live --topic t --topic none") == 1
    out, err = capsys.readouterr()
    assert err == "\nError: Encountered some partition-level error, see the follow-up details.\n"
    assert [line.split(None, 2)[1:] for line in out.splitlines()[2:]] == [
        ["-", "Error: There is no such topic."],
        ["0", "Successful     "],
        ["1", "Error: It is read from."],
    ]

    assert run("--delete-offsets --group live --topic none") == 1
    assert "Error: There is no such topic." in capsys.readouterr().out


def test_a_group_whose_offsets_cannot_be_deleted(groups: FakeGroups, capsys: Captured) -> None:
    groups.forgotten = RefusedError("GROUP_ID_NOT_FOUND", "There is no such group.")
    assert run("--delete-offsets --group none --topic t:0") == 1
    out, err = capsys.readouterr()
    assert err == "\nError: There is no such group.\n"
    assert out.splitlines()[-1].endswith("Error: There is no such group.")


def test_patterns_of_subscriptions(capsys: Captured) -> None:
    assert run("--validate-regex orders-.*") == 0
    assert capsys.readouterr().out == "The regular expression `orders-.*` is valid.\n"
    assert run("--validate-regex (?=a)") == 1
    assert capsys.readouterr().out.startswith("The regular expression `(?=a)` is invalid: ")
