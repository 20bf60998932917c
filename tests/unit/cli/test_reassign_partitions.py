from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.main import run_tool
from barnabas.cli.options import UsageError, parse
from barnabas.cli.reassign_partitions import COMMAND
from barnabas.cli.reassign_partitions_options import check
from barnabas.client import patience
from barnabas.client.brokers import Place
from barnabas.client.cluster_admin import Endpoint
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.replica_admin import (
    BROKER,
    TOPIC,
    LogDirectory,
    Reassignment,
    Replica,
    ReplicaAdmin,
    StoredReplica,
)

Captured = pytest.CaptureFixture[str]


@dataclass(slots=True)
class FakeAdmin:
    """Brokers 1 to 3; topic t has partitions 0 on 1 and 2, and 1 on 2 and 3."""

    under_way: list[dict[Place, Reassignment]] = field(default_factory=list)
    """What is told of moves, one look after the other; the last look is repeated."""
    places: dict[Place, tuple[int, ...]] = field(
        default_factory=lambda: {("t", 0): (1, 2), ("t", 1): (2, 3)}
    )
    refused: dict[Place, RefusedError] = field(default_factory=dict)
    not_yet: int = 0
    """How often a replica is not there yet that is to be moved to another directory."""
    futures: set[Replica] = field(default_factory=set)
    away: int | None = 2
    """A broker that does not tell of its log directories."""
    error: ClientError | None = None
    changes: list[Any] = field(default_factory=list)

    def __enter__(self) -> FakeAdmin:
        return self

    def __exit__(self, *_: object) -> None: ...

    def cluster(self) -> list[Endpoint]:
        return [
            Endpoint(node_id=number, host="h", port=number, rack=None, is_fenced=False)
            for number in (1, 2, 3)
        ]

    def assignment(self, topics: Iterable[str]) -> dict[Place, tuple[int, ...]]:
        return {place: each for place, each in self.places.items() if place[0] in set(topics)}

    def reassignments(self) -> dict[Place, Reassignment]:
        if self.error is not None:
            raise self.error
        if not self.under_way:
            return {}
        return self.under_way.pop(0) if len(self.under_way) > 1 else self.under_way[0]

    def reassign(self, targets: Mapping[Place, Sequence[int] | None]) -> dict[Place, RefusedError]:
        self.changes.append(("reassign", dict(targets)))
        return self.refused

    def change_settings(self, kind: int, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        self.changes.append((kind, {name: dict(each) for name, each in changes.items()}))

    def log_directories(
        self, broker_id: int, places: Collection[Place] | None = None
    ) -> list[LogDirectory]:
        def replica(place: Place, *, is_future: bool) -> StoredReplica:
            return StoredReplica(
                topic=place[0], partition=place[1], size=9, offset_lag=0, is_future=is_future
            )

        if broker_id == self.away:
            raise ClientError(f"there is no broker {broker_id}")
        asked = places or ()
        return [
            LogDirectory(
                path="/a", error=None, replicas=[replica(each, is_future=False) for each in asked]
            ),
            LogDirectory(
                path="/b",
                error=None,
                replicas=[
                    replica(each, is_future=True)
                    for each in asked
                    if (*each, broker_id) in self.futures
                ],
            ),
        ]

    def forget(self, broker_id: int) -> None: ...

    def move_to_directories(
        self, directories: Mapping[Replica, str]
    ) -> dict[Replica, RefusedError | None]:
        self.changes.append(("directories", dict(directories)))
        error = None
        if self.not_yet:
            self.not_yet -= 1
            error = RefusedError("REPLICA_NOT_AVAILABLE", "not there.")
        return dict.fromkeys(directories, error)


MOVING = Reassignment(replicas=(3, 1, 2), adding=(3,), removing=(2,))


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(ReplicaAdmin, "connect", lambda properties: fake)
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.0)
    return fake


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Moves t-0 to brokers 3 and 1."""
    return write(tmp_path / "plan.json", {"topic": "t", "partition": 0, "replicas": [3, 1]})


def write(path: Path, *partitions: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return path


def run(line: str, *paths: Path) -> int:
    words = [*line.split(), *(f"--reassignment-json-file={path}" for path in paths)]
    return run_tool("kafka-reassign-partitions", "barnabas.cli.reassign_partitions", words)


ROLLBACK = (
    "Current partition replica assignment\n\n"
    '{"version":1,"partitions":'
    '[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["/a","any"]}]}\n\n'
    "Save this to use as the --reassignment-json-file option during rollback\n"
)


def test_moves_are_started(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    assert run("--execute", plan) == 0
    assert capsys.readouterr().out == (
        ROLLBACK + "Successfully started partition reassignment for t-0\n"
    )
    assert admin.changes == [("reassign", {("t", 0): (3, 1)})]


def test_throttles_are_set_first(admin: FakeAdmin, tmp_path: Path, capsys: Captured) -> None:
    plan = write(
        tmp_path / "plan.json",
        {"topic": "t", "partition": 0, "replicas": [3, 1], "log_dirs": ["any", "/b"]},
    )
    rates = "--throttle 1000 --replica-alter-log-dirs-throttle 50"
    assert run(f"--execute {rates}", plan) == 0
    replication = "replication.throttled"
    assert admin.changes[:4] == [
        (
            TOPIC,
            {
                "t": {
                    f"leader.{replication}.replicas": "0:1,0:2",
                    f"follower.{replication}.replicas": "0:3",
                }
            },
        ),
        (
            BROKER,
            {
                broker: {
                    f"leader.{replication}.rate": "1000",
                    f"follower.{replication}.rate": "1000",
                }
                for broker in ("1", "2", "3")
            },
        ),
        (BROKER, {"1": {"replica.alter.log.dirs.io.max.bytes.per.second": "50"}}),
        ("reassign", {("t", 0): (3, 1)}),
    ]
    assert capsys.readouterr().out.splitlines()[-5:] == [
        (
            "Warning: You must run --verify periodically, until the reassignment completes, to "
            "ensure the throttle is removed."
        ),
        "The inter-broker throttle limit was set to 1000 B/s",
        "The replica-alter-dir throttle limit was set to 50 B/s",
        "Successfully started partition reassignment for t-0",
        "Successfully started moving log directory to /b for replica t-0 with broker 1 ",
    ]


def test_no_throttle_is_minus_one(admin: FakeAdmin, plan: Path) -> None:
    assert run("--execute --throttle -1", plan) == 0
    assert [change[0] for change in admin.changes] == ["reassign"]


def test_moves_are_not_mixed_unless_told_so(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    admin.under_way = [{("t", 1): MOVING}]
    assert run("--execute", plan) == 1
    found = capsys.readouterr()
    assert found.err.startswith("Cannot execute because there is an existing partition assignment.")
    assert (found.out, found.err.count("\n"), admin.changes) == ("", 1, [])
    assert run("--execute --additional", plan) == 0


def test_refused_moves_fail(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    admin.refused = {("t", 0): RefusedError("INVALID_REPLICA_ASSIGNMENT", "no.")}
    assert run("--execute", plan) == 1
    assert capsys.readouterr().err == "Error reassigning partition(s):\nt-0: no.\n"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (("t", 0, [1, 9]), "Error: Unknown broker id 9\n"),
        (("t", 7, [1]), "Error: Unable to find partition: t-7\n"),
        (("u", 0, [1]), "Error: Topic u not found.\n"),
        (("t", 0, []), "Error: Partition replica list cannot be empty\n"),
    ],
)
def test_plans_for_what_is_not_there_are_refused(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured, wish: tuple[str, int, list[int]], said: str
) -> None:
    move = dict(zip(("topic", "partition", "replicas"), wish, strict=True))
    assert run("--execute", write(tmp_path / "plan.json", move)) == 1
    assert capsys.readouterr().err == said
    assert admin.changes == []


def test_a_plan_may_be_kept_from_changing_how_many_replicas_there_are(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured
) -> None:
    admin.under_way = [{("t", 1): Reassignment(replicas=(2, 3), adding=(3,), removing=())}]
    plan = write(
        tmp_path / "plan.json",
        {"topic": "t", "partition": 0, "replicas": [1, 2, 3]},
        {"topic": "t", "partition": 1, "replicas": [1]},
    )
    wish = "--execute --additional --disallow-replication-factor-change"
    assert run(wish, plan) == 1
    assert capsys.readouterr().err == (
        "Error reassigning partition(s):\nt-0: The replication factor is changed from 2 to 3\n"
    )
    assert admin.changes == []


def test_a_replica_that_is_not_there_yet_is_asked_for_again(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured
) -> None:
    plan = write(
        tmp_path / "plan.json",
        {"topic": "t", "partition": 0, "replicas": [3], "log_dirs": ["/b"]},
    )
    admin.not_yet = 2
    assert run("--execute", plan) == 0
    assert [change[0] for change in admin.changes] == ["reassign", *["directories"] * 3]

    admin.not_yet = 2
    capsys.readouterr()
    assert run("--execute --timeout 0", plan) == 1
    assert capsys.readouterr().err == (
        "Timed out before log directory move could be started for: t-0-3\n"
    )


DONE = (
    "Status of partition reassignment:\nReassignment of partition t-0 is completed.\n\n"
    "Clearing broker-level throttles on brokers 1,2,3\n"
    "Clearing topic-level throttles on topic t\n"
)


def test_what_is_done_is_verified_and_loses_its_throttles(
    admin: FakeAdmin, plan: Path, capsys: Captured
) -> None:
    admin.places["t", 0] = (3, 1)
    assert run("--verify", plan) == 0
    assert capsys.readouterr().out == DONE
    (brokers, topics) = admin.changes
    assert (brokers[0], sorted(brokers[1])) == (BROKER, ["1", "2", "3"])
    assert topics == (
        TOPIC,
        {
            "t": {
                "leader.replication.throttled.replicas": None,
                "follower.replication.throttled.replicas": None,
            }
        },
    )
    admin.changes.clear()
    assert run("--verify --preserve-throttles", plan) == 0
    assert admin.changes == []


def test_throttles_stay_while_anything_moves(
    admin: FakeAdmin, plan: Path, capsys: Captured
) -> None:
    admin.under_way = [{("other", 3): MOVING}]
    assert run("--verify", plan) == 0
    assert admin.changes == []
    assert "is 1,2 rather than 3,1." in capsys.readouterr().out


def test_waiting_ends_with_the_last_move(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    admin.under_way = [{}, {("t", 0): MOVING}, {("t", 0): MOVING}, {("t", 0): MOVING}, {}]
    admin.places["t", 0] = (3, 1)
    assert run("--execute --wait --throttle 1000", plan) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"Successfully started partition reassignment for t-0\n{DONE}")
    assert "You must run --verify" not in out
    assert admin.under_way == [{}]


def test_waiting_for_what_somebody_else_cancelled_fails(
    admin: FakeAdmin, plan: Path, capsys: Captured
) -> None:
    admin.under_way = [{("t", 0): MOVING}, {}]
    assert run("--verify --wait", plan) == 1
    assert "replica set is 1,2 rather than 3,1." in capsys.readouterr().out


def test_moves_are_cancelled(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    admin.under_way = [{("t", 0): MOVING, ("t", 1): MOVING}]
    assert run("--cancel", plan) == 0
    assert admin.changes[0] == ("reassign", {("t", 0): None})
    assert capsys.readouterr().out == (
        "Successfully cancelled partition reassignment for: t-0\n"
        "None of the specified partition moves are active.\n"
        "Clearing broker-level throttles on brokers 1,2,3\n"
        "Clearing topic-level throttles on topic t\n"
    )


def test_a_move_that_only_adds_replicas_is_cancelled_too(admin: FakeAdmin, plan: Path) -> None:
    admin.under_way = [{("t", 0): Reassignment(replicas=(1, 2, 3), adding=(3,), removing=())}]
    assert run("--cancel --preserve-throttles", plan) == 0
    assert admin.changes == [("reassign", {("t", 0): None})]


def test_moves_between_directories_are_cancelled(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured
) -> None:
    plan = write(
        tmp_path / "plan.json",
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/b", "/b"]},
    )
    admin.futures, admin.away = {("t", 0, 1)}, None
    assert run("--cancel --preserve-throttles", plan) == 0
    assert admin.changes == [("directories", {("t", 0, 1): "/a"})]
    assert capsys.readouterr().out == (
        "None of the specified partition reassignments are active.\n"
        "Successfully started moving log directory to /a for replica t-0 with broker 1 \n"
    )


def test_a_refused_cancel_fails(admin: FakeAdmin, plan: Path, capsys: Captured) -> None:
    admin.under_way = [{("t", 0): MOVING}]
    admin.refused = {("t", 0): RefusedError("NO_REASSIGNMENT_IN_PROGRESS", "none.")}
    assert run("--cancel", plan) == 1
    assert capsys.readouterr().err == ("Error cancelling partition reassignment for:\nt-0: none.\n")


def test_moves_are_listed(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--list") == 0
    assert capsys.readouterr().out == "No partition reassignments found.\n"
    admin.under_way = [{("t", 0): MOVING}]
    assert run("--list --json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "topic": "t",
        "partition": 0,
        "replicas": [3, 1, 2],
        "adding_replicas": [3],
        "removing_replicas": [2],
    }


def test_places_are_proposed(admin: FakeAdmin, tmp_path: Path, capsys: Captured) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text('{"version": 1, "topics": [{"topic": "t"}]}')
    assert run(f"--generate --broker-list 1,2,9 --topics-to-move-json-file {topics}") == 0
    found = capsys.readouterr()
    current, _, proposed = found.out.partition("\n\n")
    assert current.startswith("Current partition replica assignment\n{")
    heading, text = proposed.splitlines()
    assert heading == "Proposed partition reassignment configuration"
    assert all(sorted(each["replicas"]) == [1, 2] for each in json.loads(text)["partitions"])
    assert found.err == "warning: there is no broker 9: nothing is proposed for it\n"
    assert admin.changes == []


def test_nothing_is_proposed_for_a_topic_that_is_not_there(
    admin: FakeAdmin, tmp_path: Path, capsys: Captured
) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "none"}]}')
    assert run(f"--generate --broker-list 1 --topics-to-move-json-file {topics}") == 1
    assert capsys.readouterr().err == "Error: Topic none not found.\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "exactly one action is needed"),
        ("--list --verify", "exactly one action is needed"),
        ("--execute", "--reassignment-json-file is missing"),
        ("--verify", "--reassignment-json-file is missing"),
        ("--cancel", "--reassignment-json-file is missing"),
        ("--generate --broker-list 1", "--topics-to-move-json-file is missing"),
        ("--generate --topics-to-move-json-file f", "--broker-list is missing"),
        ("--list --throttle 5", "--throttle cannot be used with --list"),
        ("--verify --reassignment-json-file f --additional", "--additional cannot be used"),
        ("--execute --reassignment-json-file f --json", "--json cannot be used with --execute"),
        ("--cancel --reassignment-json-file f --wait", "--wait cannot be used with --cancel"),
        (
            "--execute --reassignment-json-file f --preserve-throttles",
            "--preserve-throttles cannot be used with --execute without --wait",
        ),
        ("--execute --reassignment-json-file f --throttle fast", '"fast" is not a whole number'),
        ("--execute --reassignment-json-file f --throttle -2", "-2 is out of range"),
        ("--executee", "unknown option --executee: did you mean --execute?"),
    ],
)
def test_options_that_do_not_go_together_are_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        check(parse(COMMAND.options, line.split()))
    assert said in str(raised.value)


def test_what_is_wrong_in_a_file_does_not_depend_on_a_broker(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"partitions": [}')
    assert run("--execute --bootstrap-server 127.0.0.1:1", path) == 1
    assert capsys.readouterr().err == (
        f"kafka-reassign-partitions: --reassignment-json-file: {path}: "
        "not valid JSON: Expecting value (line 1, column 17)\n"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotReachableError("h:1"), "broker not reachable at h:1"),
        (ClientError("h:1: no answer to X"), "Error: h:1: no answer to X"),
    ],
)
def test_troubles_of_brokers_are_one_line(
    admin: FakeAdmin, capsys: Captured, error: ClientError, said: str
) -> None:
    admin.error = error
    assert run("--list") == 1
    found = capsys.readouterr()
    assert found.err.startswith(said)
    assert found.err.count("\n") == 1
