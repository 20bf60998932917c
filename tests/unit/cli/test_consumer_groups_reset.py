from __future__ import annotations

from pathlib import Path

import pytest
from fake_groups import FakeGroups, group, install

from barnabas.base import clock
from barnabas.cli.main import run_tool

Captured = pytest.CaptureFixture[str]
HEADING = "GROUP           TOPIC           PARTITION  NEW-OFFSET"


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> FakeGroups:
    fake = install(monkeypatch)
    fake.add(group("g"), {("t", 0): 12, ("u", 0): 19})
    fake.add(group("live", "Stable"), {("t", 0): 12})
    return fake


def run(line: str) -> int:
    return run_tool("tool", "barnabas.cli.consumer_groups", f"--reset-offsets {line}".split())


def rows(capsys: Captured) -> list[tuple[str, int, int]]:
    """Of the one group `g`."""
    out = capsys.readouterr().out
    blank, heading, *lines = out.split("\n")
    assert (blank, heading, lines.pop()) == ("", HEADING, "")
    found = [line.split() for line in lines]
    assert all(each[0] == "g" for each in found)
    return [(topic, int(number), int(offset)) for _, topic, number, offset in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--topic t --to-earliest", [("t", 0, 10), ("t", 1, 10)]),
        ("--topic t:1 --to-latest", [("t", 1, 20)]),
        ("--topic t --topic u:0 --to-latest", [("t", 0, 20), ("t", 1, 20), ("u", 0, 20)]),
        ("--all-topics --to-earliest", [("t", 0, 10), ("u", 0, 10)]),
        ("--topic t --to-current", [("t", 0, 12), ("t", 1, 20)]),
        ("--all-topics --to-current", [("t", 0, 12), ("u", 0, 19)]),
        ("--topic t --to-offset 15", [("t", 0, 15), ("t", 1, 15)]),
        ("--topic t:0 --to-offset 0", [("t", 0, 10)]),
        ("--all-topics --shift-by 3", [("t", 0, 15), ("u", 0, 20)]),
        ("--all-topics --shift-by -1", [("t", 0, 11), ("u", 0, 18)]),
        ("--topic t:0 --to-datetime 1970-01-01T00:00:04.000", [("t", 0, 14)]),
        ("--topic t:0 --to-datetime 1970-01-01T01:00:04.000+01:00", [("t", 0, 14)]),
        ("--topic t:0 --by-duration PT1M", [("t", 0, 15)]),
    ],
)
def test_every_way_to_say_where_to(
    groups: FakeGroups,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    expected: list[tuple[str, int, int]],
) -> None:
    class At65Seconds:
        def now_ms(self) -> int:
            return 65_000

    monkeypatch.setattr(clock, "SYSTEM_CLOCK", At65Seconds())
    assert run(f"--group g --dry-run {line}") == 0
    assert rows(capsys) == expected
    assert groups.commits == []


def test_without_a_word_it_is_a_dry_run_with_a_warning(
    groups: FakeGroups, capsys: Captured
) -> None:
    assert run("--group g --topic t --to-latest") == 0
    assert capsys.readouterr().err.startswith(
        "WARN: No action will be performed as the --execute option is missing."
    )
    assert groups.commits == []


def test_execute_sets_what_is_shown(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--group g --group fresh --topic t:0 --to-latest --execute") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.split() for line in out.splitlines()[2:]] == [
        ["fresh", "t", "0", "20"],
        ["g", "t", "0", "20"],
    ]
    assert groups.commits == [("fresh", {("t", 0): 20}), ("g", {("t", 0): 20})]


def test_what_is_outside_the_log_is_said_to_be_moved(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--group g --topic t:0 --to-offset 99 --dry-run") == 0
    assert capsys.readouterr().err == (
        "warning: New offset (99) is higher than latest offset for topic partition t-0. "
        "Value will be set to 20\n"
    )


def test_a_time_after_the_last_record_means_the_end(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--group g --topic t:1 --to-datetime 2030-01-01T00:00:00.000 --dry-run") == 0
    out, err = capsys.readouterr()
    assert out.split()[-1] == "20"
    assert err == (
        "\nWarn: Partition 1 from topic t is empty. Falling back to latest known offset.\n"
    )


def test_a_group_with_members_is_left_alone(groups: FakeGroups, capsys: Captured) -> None:
    assert run("--group live --group g --topic t:0 --to-latest --execute") == 1
    out, err = capsys.readouterr()
    assert err == (
        "\nError: Assignments can only be reset if the group 'live' is inactive, "
        "but the current state is Stable.\n"
    )
    assert [line.split() for line in out.splitlines()[2:]] == [["g", "t", "0", "20"]]
    assert [plan for _, plan in groups.commits if plan] == [{("t", 0): 20}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--topic none", 'The topics "none" do not exist'),
        ("--topic t:0,7 --topic none:1", 'The partitions "none-1,t-7" do not exist'),
        ("--topic lost", 'The partitions "lost-0" have no leader'),
    ],
)
def test_partitions_that_cannot_be_had(
    groups: FakeGroups, capsys: Captured, line: str, reason: str
) -> None:
    assert run(f"--group g --to-latest --execute {line}") == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"Error: Executing consumer group command failed due to {reason}\n",
    )
    assert groups.commits == []


def test_nothing_is_set_if_one_group_cannot_be(groups: FakeGroups, capsys: Captured) -> None:
    groups.add(group("a"), {("t", 0): 12, ("t", 1): 12})
    assert run("--group a --group g --topic t --shift-by 1 --execute") == 1
    assert "Cannot shift offset for partition t-1 since there is no" in capsys.readouterr().err
    assert groups.commits == []


def test_a_plan_goes_to_a_file_and_back(
    groups: FakeGroups, capsys: Captured, tmp_path: Path
) -> None:
    groups.add(group("other"), {("t", 1): 17})
    assert run("--group g --all-topics --to-current --dry-run --export") == 0
    exported = capsys.readouterr().out
    assert exported == "t,0,12\nu,0,19\n\n"
    plan = tmp_path / "plan.csv"
    plan.write_text(exported)

    assert run(f"--group g --from-file {plan} --execute") == 0
    assert groups.commits == [("g", {("t", 0): 12, ("u", 0): 19})]
    assert rows(capsys) == [("t", 0, 12), ("u", 0, 19)]

    assert run("--group g --group other --all-topics --to-current --dry-run --export") == 0
    exported = capsys.readouterr().out
    assert exported == "g,t,0,12\ng,u,0,19\nother,t,1,17\n\n"


def test_a_group_that_the_file_does_not_have(
    groups: FakeGroups, capsys: Captured, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("g,t,0,99\n")
    assert run(f"--group g --group other --from-file {plan} --dry-run") == 1
    out, err = capsys.readouterr()
    assert "\nError: No reset plan for group other found\n" in err
    assert [line.split() for line in out.splitlines()[2:]] == [["g", "t", "0", "20"]]


def test_a_file_that_cannot_be_used_is_told_before_any_broker_is_asked(
    capsys: Captured, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("t,zero,99\n")
    assert run(f"--group g --from-file {plan} --dry-run") == 1
    assert capsys.readouterr().err == (
        f"tool: --from-file: {plan}: line 1: zero,99 are not two whole numbers\n"
    )
    plan.write_bytes(b"\xff\xfe")
    assert run(f"--group g --from-file {plan} --dry-run") == 1
    assert capsys.readouterr().err.startswith(f"tool: --from-file: {plan}: ")


def test_all_groups_may_be_none(groups: FakeGroups, capsys: Captured) -> None:
    groups.groups.clear()
    assert run("--all-groups --all-topics --to-latest --dry-run") == 0
    assert capsys.readouterr() == ("\n", "")
