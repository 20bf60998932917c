from __future__ import annotations

import json

from barnabas.cli.reassign_partitions_plan import Plan
from barnabas.cli.reassign_partitions_rows import (
    DirectoryState,
    cancelled_line,
    clearing_line,
    directory_lines,
    directory_states,
    late_directories_line,
    list_json,
    list_lines,
    partition_states,
    plan_json,
    refused_lines,
    started_directory_lines,
    started_line,
    state_lines,
)
from barnabas.client.errors import RefusedError
from barnabas.client.replica_admin import LogDirectory, Reassignment, StoredReplica


def stored(topic: str, partition: int, *, is_future: bool = False) -> StoredReplica:
    return StoredReplica(
        topic=topic, partition=partition, size=10, offset_lag=0, is_future=is_future
    )


def test_an_assignment_is_written_as_it_is_read() -> None:
    written = plan_json({("t", 1): (2, 1), ("t", 0): (1,)})
    assert written == (
        '{"version":1,"partitions":['
        '{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]},'
        '{"topic":"t","partition":1,"replicas":[2,1],"log_dirs":["any","any"]}]}'
    )
    assert json.loads(written)["version"] == 1


def test_states_tell_done_moving_and_elsewhere() -> None:
    plan = Plan(
        targets=[(("t", 10), (1, 2)), (("t", 2), (3,)), (("t", 0), (1,)), (("none", 0), (1, 2))],
        directories={},
    )
    states = partition_states(plan, {("t", 2)}, {("t", 10): (1, 2), ("t", 2): (1,), ("t", 0): (2,)})
    assert state_lines(states) == [
        "Status of partition reassignment:",
        "There is no active reassignment of partition none-0, but replica set is  rather than 1,2.",
        "There is no active reassignment of partition t-0, but replica set is 2 rather than 1.",
        "Reassignment of partition t-2 is still in progress.",
        "Reassignment of partition t-10 is completed.",
    ]


def test_the_order_of_replicas_is_part_of_a_plan() -> None:
    (state,) = partition_states(
        Plan(targets=[(("t", 0), (1, 2))], directories={}), set(), {("t", 0): (2, 1)}
    )
    assert "replica set is 2,1 rather than 1,2" in state_lines([state])[1]


def test_directories_tell_where_a_replica_is_and_goes() -> None:
    wanted = {
        ("t", 0, 2): "/b",
        ("t", 1, 1): "/b",
        ("t", 2, 1): "/b",
        ("t", 3, 1): "/b",
        ("t", 4, 1): "/b",
    }
    found = {
        1: [
            LogDirectory(
                path="/a", error=None, replicas=[stored("t", number) for number in (2, 3, 4)]
            ),
            LogDirectory(
                path="/b", error=None, replicas=[stored("t", 1), stored("t", 3, is_future=True)]
            ),
            LogDirectory(path="/c", error=None, replicas=[stored("t", 4, is_future=True)]),
        ],
        2: [LogDirectory(path="/a", error="KAFKA_STORAGE_ERROR", replicas=[])],
    }
    states = directory_states(wanted, found)

    assert directory_lines(states) == [
        "Reassignment of replica t-1-1 completed successfully.",
        "Partition t-2 on broker 1 is not being moved from log dir /a to /b.",
        "Reassignment of replica t-3-1 is still in progress.",
        "Partition t-4 on broker 1 is being moved to log dir /c instead of /b.",
        (
            "Partition t-0 is not found in any live log dir on broker 2. There is likely an "
            "offline log directory on the broker."
        ),
    ]
    assert [state.is_done for state in states] == [True, True, False, False, True]


def test_without_moves_between_directories_there_is_an_empty_line() -> None:
    assert directory_lines([]) == [""]


def test_a_state_is_done_when_nothing_is_being_copied() -> None:
    state = DirectoryState(replica=("t", 0, 1), target="/b", current="/a", future=None)
    assert state.is_done


def test_one_and_several_are_told_apart() -> None:
    one, two = [("t", 0)], [("t", 10), ("t", 2)]
    assert started_line(one) == "Successfully started partition reassignment for t-0"
    assert started_line(two) == "Successfully started partition reassignments for t-2,t-10"
    assert cancelled_line(one) == "Successfully cancelled partition reassignment for: t-0"
    assert cancelled_line(two) == "Successfully cancelled partition reassignments for: t-2,t-10"
    assert clearing_line("broker", [1]) == "Clearing broker-level throttles on broker 1"
    assert clearing_line("topic", ["a", "b"]) == "Clearing topic-level throttles on topics a,b"


def test_refusals_have_a_line_for_each_partition() -> None:
    errors = {("t", 1): RefusedError("X", "why."), ("t", 0): RefusedError("Y", "so.")}
    assert refused_lines("Error:", errors) == ["Error:", "t-0: so.", "t-1: why."]


def test_directories_that_were_started_or_not() -> None:
    moved = {("t", 1, 1): "/b", ("t", 0, 2): "/c", ("t", 0, 1): "/a"}
    assert started_directory_lines(moved) == [
        "Successfully started moving log directory to /a for replica t-0 with broker 1 ",
        "Successfully started moving log directory to /b for replica t-1 with broker 1 ",
        "Successfully started moving log directory to /c for replica t-0 with broker 2 ",
    ]
    assert late_directories_line(moved) == (
        "Timed out before log directory moves could be started for: t-0-1,t-1-1,t-0-2"
    )


def test_moves_are_listed() -> None:
    under_way = {
        ("t", 1): Reassignment(replicas=(1, 2, 3), adding=(3,), removing=(1,)),
        ("t", 0): Reassignment(replicas=(1,), adding=(), removing=()),
    }
    assert list_lines({}) == ["No partition reassignments found."]
    assert list_lines(under_way) == [
        "Current partition reassignments:",
        "t-0: replicas: 1.",
        "t-1: replicas: 1,2,3. adding: 3. removing: 1.",
    ]
    assert list_json(under_way)[1] == {
        "topic": "t",
        "partition": 1,
        "replicas": [1, 2, 3],
        "adding_replicas": [3],
        "removing_replicas": [1],
    }
