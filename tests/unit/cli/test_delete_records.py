from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from one_line import complaint

from barnabas.cli.main import run_tool
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.partition_admin import PartitionAdmin, Place

Captured = pytest.CaptureFixture[str]


@dataclass(slots=True)
class FakeAdmin:
    """Topic t with three partitions; nobody leads the last one."""

    asked: list[Mapping[Place, int]] = field(default_factory=list)
    error: ClientError | None = None

    def leaders(self) -> dict[Place, int | None]:
        if self.error is not None:
            raise self.error
        return {("t", 0): 1, ("t", 1): 1, ("t", 2): None}

    def delete_records(self, before: Mapping[Place, int]) -> dict[Place, int | ClientError]:
        self.asked.append(before)
        return {
            place: offset
            if 0 <= offset < 100
            else RefusedError("OFFSET_OUT_OF_RANGE", "out of range.")
            for place, offset in before.items()
        }


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(
        PartitionAdmin, "connect", classmethod(lambda cls, properties, warn, timeout_s: fake)
    )
    return fake


@pytest.fixture
def offsets(tmp_path: Path) -> Path:
    return tmp_path / "offsets.json"


def wish(path: Path, *wishes: tuple[str, int, object]) -> None:
    partitions = [{"topic": t, "partition": p, "offset": o} for t, p, o in wishes]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))


def run(path: Path, line: str = "") -> int:
    words = ["--offset-json-file", str(path), *line.split()]
    return run_tool("kafka-delete-records", "barnabas.cli.delete_records", words)


def test_records_are_deleted(admin: FakeAdmin, offsets: Path, capsys: Captured) -> None:
    wish(offsets, ("t", 1, 7), ("t", 0, 3))
    assert run(offsets) == 0
    assert capsys.readouterr().out == (
        "Executing records delete operation\n"
        "Records delete operation completed:\n"
        "partition: t-0\tlow_watermark: 3\n"
        "partition: t-1\tlow_watermark: 7\n"
    )
    assert admin.asked == [{("t", 0): 3, ("t", 1): 7}]


def test_what_was_in_the_way_is_told_of_each_partition_and_fails(
    admin: FakeAdmin, offsets: Path, capsys: Captured
) -> None:
    wish(offsets, ("t", 0, 3), ("t", 1, 100), ("t", 2, 1), ("none", 0, 1))
    assert run(offsets) == 1
    assert capsys.readouterr().out.splitlines()[2:] == [
        "partition: none-0\terror: This broker has no such topic or partition.",
        "partition: t-0\tlow_watermark: 3",
        "partition: t-1\terror: out of range.",
        "partition: t-2\terror: The partition has no leader at the moment.",
    ]


def test_rows_are_json_if_asked_for(admin: FakeAdmin, offsets: Path, capsys: Captured) -> None:
    wish(offsets, ("t", 0, 3), ("t", 2, 1))
    assert run(offsets, "--json") == 1
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "t", "partition": 0, "low_watermark": 3, "error": None},
        {
            "topic": "t",
            "partition": 2,
            "low_watermark": None,
            "error": "The partition has no leader at the moment.",
        },
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", 'the field "partitions" is missing'),
        ("not json", "not valid JSON"),
        ('{"version": 3, "partitions": []}', "Not supported version field value 3"),
        ('{"partitions": [{"topic": "t", "partition": 0}]}', 'the field "offset" is missing'),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "offset": -2}]}',
            "partitions[0].offset: -2 is out of range: at least -1",
        ),
        (
            (
                '{"partitions": [{"topic": "t", "partition": 0, "offset": 1},'
                ' {"topic": "t", "partition": 0, "offset": 2}]}'
            ),
            "Offset json file contains duplicate topic partitions: t-0",
        ),
    ],
)
def test_bad_files_are_one_line(
    admin: FakeAdmin, offsets: Path, capsys: Captured, text: str, said: str
) -> None:
    offsets.write_text(text)
    assert said in complaint(capsys, lambda: run(offsets))
    assert admin.asked == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "--offset-json-file is missing: FILE"),
        ("--offset-json-file /none/none.json", "cannot read /none/none.json"),
        ("--offsets x", "unknown option --offsets"),
    ],
)
def test_bad_wishes_are_one_line(capsys: Captured, line: str, said: str) -> None:
    tool = ("kafka-delete-records", "barnabas.cli.delete_records")
    assert said in complaint(capsys, lambda: run_tool(*tool, line.split()))


@pytest.mark.parametrize("error", [NotReachableError("h:1"), ClientError("h:1: gone")])
def test_troubles_of_brokers_are_one_line(
    admin: FakeAdmin, offsets: Path, capsys: Captured, error: ClientError
) -> None:
    wish(offsets, ("t", 0, 1))
    admin.error = error
    assert str(error) in complaint(capsys, lambda: run(offsets))
