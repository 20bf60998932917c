from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from one_line import complaint

from barnabas.cli.main import run_tool
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.partition_admin import NOT_NEEDED, PartitionAdmin, Place

Captured = pytest.CaptureFixture[str]


@dataclass(slots=True)
class FakeAdmin:
    outcome: dict[Place, RefusedError | None] = field(default_factory=dict)
    asked: list[tuple[Collection[Place] | None, bool]] = field(default_factory=list)
    error: ClientError | None = None

    def elect(
        self, places: Collection[Place] | None, *, unclean: bool
    ) -> dict[Place, RefusedError | None]:
        if self.error is not None:
            raise self.error
        self.asked.append((places, unclean))
        return self.outcome


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(
        PartitionAdmin, "connect", classmethod(lambda cls, properties, warn, timeout_s: fake)
    )
    return fake


def run(line: str) -> int:
    return run_tool("kafka-leader-election", "barnabas.cli.leader_election", line.split())


def test_one_partition_is_asked_for_by_hand(admin: FakeAdmin, capsys: Captured) -> None:
    admin.outcome = {("t", 0): None}
    assert run("--election-type preferred --topic t --partition 0") == 0
    assert admin.asked == [([("t", 0)], False)]
    assert capsys.readouterr().out == (
        "Successfully completed leader election (PREFERRED) for partitions t-0\n"
    )


def test_several_are_asked_for_by_a_file(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(
        '{"partitions": [{"topic": "t", "partition": 10}, {"topic": "t", "partition": 2}]}'
    )
    admin.outcome = {("t", 10): None, ("t", 2): None}
    assert run(f"--election-type UNCLEAN --path-to-json-file {path}") == 0
    assert admin.asked == [([("t", 10), ("t", 2)], True)]
    assert capsys.readouterr().out == (
        "Successfully completed leader election (UNCLEAN) for partitions t-2, t-10\n"
    )


def test_where_none_is_needed_nothing_is_said(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--election-type preferred --all-topic-partitions") == 0
    assert admin.asked == [(None, False)]
    assert capsys.readouterr().out == ""


def test_what_came_of_each_is_told(admin: FakeAdmin, capsys: Captured) -> None:
    admin.outcome = {
        ("t", 0): RefusedError("PREFERRED_LEADER_NOT_AVAILABLE", "it is away."),
        ("t", 1): None,
        ("t", 2): RefusedError(NOT_NEEDED, "not needed."),
        ("t", 3): RefusedError("UNKNOWN_TOPIC_OR_PARTITION", "no such partition."),
    }
    assert run("--election-type preferred --all-topic-partitions") == 1
    found = capsys.readouterr()
    assert found.out == (
        "Successfully completed leader election (PREFERRED) for partitions t-1\n"
        "Valid replica already elected for partitions t-2\n"
        "Error completing leader election (PREFERRED) for partition: t-0: it is away.\n"
        "Error completing leader election (PREFERRED) for partition: t-3: no such partition.\n"
    )
    assert found.err == "kafka-leader-election: 2 replica(s) could not be elected\n"


def test_rows_are_json_if_asked_for(admin: FakeAdmin, capsys: Captured) -> None:
    admin.outcome = {("t", 0): None, ("t", 1): RefusedError(NOT_NEEDED, "not needed.")}
    assert run("--election-type preferred --all-topic-partitions --json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "t", "partition": 0, "elected": True, "error": None},
        {"topic": "t", "partition": 1, "elected": False, "error": None},
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--all-topic-partitions", "--election-type is missing"),
        ("--election-type best --all-topic-partitions", '"best" is not one of preferred, unclean'),
        ("--election-type preferred", "exactly one of these is needed: --topic,"),
        ("--election-type preferred --all-topic-partitions --topic t", "exactly one of these"),
        ("--election-type preferred --topic t", "--topic needs --partition"),
        ("--election-type preferred --all-topic-partitions --partition 0", "needs --topic"),
        ("--election-type preferred --topic t --partition one", '"one" is not a whole number'),
        ("--election-type preferred --path-to-json-file /none/x", "cannot read /none/x"),
        ("--type preferred", "unknown option --type"),
    ],
)
def test_bad_wishes_are_one_line(admin: FakeAdmin, capsys: Captured, line: str, said: str) -> None:
    assert said in complaint(capsys, lambda: run(line))
    assert admin.asked == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", 'the field "partitions" is missing'),
        ("{", "not valid JSON"),
        ('{"partitions": [{"topic": "t"}]}', 'the field "partition" is missing'),
        (
            '{"partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 0}]}',
            "Replica election data contains duplicate partitions: [t-0]",
        ),
    ],
)
def test_bad_files_are_one_line(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured, text: str, said: str
) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(text)
    wish = f"--election-type preferred --path-to-json-file {path}"
    assert said in complaint(capsys, lambda: run(wish))


@pytest.mark.parametrize("error", [NotReachableError("h:1"), ClientError("h:1: gone")])
def test_troubles_of_brokers_are_one_line(
    admin: FakeAdmin, capsys: Captured, error: ClientError
) -> None:
    admin.error = error
    assert str(error) in complaint(
        capsys, lambda: run("--election-type preferred --all-topic-partitions")
    )
