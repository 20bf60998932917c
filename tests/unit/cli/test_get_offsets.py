from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field

import pytest
from one_line import complaint

from barnabas.cli.get_offsets import parse_time
from barnabas.cli.main import run_tool
from barnabas.cli.options import UsageError
from barnabas.client import offset_details
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.partition_admin import PartitionAdmin, Place

Captured = pytest.CaptureFixture[str]


@dataclass(slots=True)
class FakeAdmin:
    """Topics a with 11 partitions and b with one, which nobody leads."""

    properties: dict[str, str] = field(default_factory=dict)
    answers: dict[Place, int | ClientError] = field(default_factory=dict)
    asked: list[tuple[set[Place], int]] = field(default_factory=list)
    error: ClientError | None = None

    def leaders(self) -> dict[Place, int | None]:
        if self.error is not None:
            raise self.error
        led: dict[Place, int | None] = {("a", number): 1 for number in range(11)}
        return {**led, ("b", 0): None, ("__consumer_offsets", 0): 1}

    def offsets(self, places: Collection[Place], when: int) -> dict[Place, int | ClientError]:
        self.asked.append((set(places), when))
        return {place: self.answers.get(place, 100 + place[1]) for place in places}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(
        PartitionAdmin, "connect", classmethod(lambda cls, properties, warn, timeout_s: fake)
    )
    return fake


def run(line: str) -> int:
    return run_tool("kafka-get-offsets", "barnabas.cli.get_offsets", line.split())


def test_offsets_are_listed_by_name(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--topic a --partitions 2,10,1") == 0
    assert capsys.readouterr().out == "a:1:101\na:10:110\na:2:102\n"
    assert admin.asked == [({("a", 1), ("a", 2), ("a", 10)}, -1)]


def test_a_partition_without_such_an_offset_is_left_out(admin: FakeAdmin, capsys: Captured) -> None:
    admin.answers["a", 1] = -1
    assert run("--topic-partitions a:0-3 --time 1700000000000") == 0
    assert capsys.readouterr().out == "a:0:100\na:2:102\n"
    assert admin.asked[0][1] == 1_700_000_000_000


def test_partitions_that_cannot_be_asked_are_told_and_fail(
    admin: FakeAdmin, capsys: Captured
) -> None:
    admin.answers["a", 0] = RefusedError("X", "no way.")
    assert run("--topic-partitions a:0-2,b") == 1
    found = capsys.readouterr()
    assert found.out == "a:1:101\n"
    assert found.err == (
        "Skip getting offsets for topic-partition a-0 due to error: no way.\n"
        "Skip getting offsets for topic-partition b-0 due to error: "
        "The partition has no leader at the moment.\n"
    )


def test_internal_topics_are_left_out_if_asked_for(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--topic-partitions :0") == 1
    assert "__consumer_offsets:0" in capsys.readouterr().out
    assert run("--topic-partitions :0 --exclude-internal-topics") == 1
    assert "__consumer_offsets:0" not in capsys.readouterr().out


def test_older_notes_say_how_many_offsets_they_want(admin: FakeAdmin, capsys: Captured) -> None:
    line = "--broker-list h:9092 --topic a --partitions 0 --time -1 --offsets 1 --max-wait-ms 1000"
    assert run(line) == 0
    assert capsys.readouterr().out == "a:0:100\n"


def test_rows_are_json_if_asked_for(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--topic a --partitions 3 --json") == 0
    assert json.loads(capsys.readouterr().out) == [{"topic": "a", "partition": 3, "offset": 103}]


def test_what_the_library_cannot_ask_goes_another_way(
    admin: FakeAdmin, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def special(
        properties: object, leaders: dict[Place, int], when: int, *, timeout_s: float
    ) -> dict[Place, int | ClientError]:
        return dict.fromkeys(leaders, -when)

    monkeypatch.setattr(offset_details, "special_offsets", special)
    assert run("--topic a --partitions 0 --time earliest-local") == 0
    assert run("--topic a --partitions 0 --time -5") == 0
    assert capsys.readouterr().out == "a:0:4\na:0:5\n"
    assert admin.asked == []


@pytest.mark.parametrize(
    ("text", "when"),
    [("latest", -1), ("-2", -2), ("max-timestamp", -3), ("-5", -5), ("0", 0), ("17", 17)],
)
def test_times_have_numbers_and_names(text: str, when: int) -> None:
    assert parse_time(text) == when


@pytest.mark.parametrize("text", ["now", "-6", "1.5", "", "9223372036854775808", "LATEST"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is neither a timestamp in ms nor one of -1 or latest"):
        parse_time(text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--topic none", "Error occurred: Could not match any topic-partitions"),
        ("--topic a --topic-partitions a", "--topic-partitions and --topic cannot be used"),
        ("--partitions 0 --topic-partitions a", "--topic-partitions and --partitions cannot"),
        ("--partitions x", "--partitions: "),
        ("--time soon", "--time: "),
        ("--topics a", "unknown option --topics"),
    ],
)
def test_bad_wishes_are_one_line(admin: FakeAdmin, capsys: Captured, line: str, said: str) -> None:
    assert said in complaint(capsys, lambda: run(line))


@pytest.mark.parametrize("error", [NotReachableError("h:1"), ClientError("h:1: gone")])
def test_troubles_of_brokers_are_one_line(
    admin: FakeAdmin, capsys: Captured, error: ClientError
) -> None:
    admin.error = error
    assert str(error) in complaint(capsys, lambda: run(""))
