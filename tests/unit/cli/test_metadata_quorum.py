from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.ids import NO_ID, id_text
from barnabas.cli.main import run_tool
from barnabas.cli.metadata_quorum import COMMAND, check
from barnabas.cli.metadata_quorum_rows import (
    replication_json,
    replication_lines,
    status_json,
    status_lines,
)
from barnabas.cli.options import UsageError, parse
from barnabas.client.cluster_admin import Quorum, QuorumReplica


def replica(number: int, end: int, **fields: Any) -> QuorumReplica:
    known: dict[str, Any] = {
        "directory_id": id_text(NO_ID),
        "last_fetch_ms": None,
        "last_caught_up_ms": None,
        "endpoints": (),
    }
    return QuorumReplica(node_id=number, log_end_offset=end, **(known | fields))


LEADER = replica(3, 100, last_fetch_ms=5000, last_caught_up_ms=5000, endpoints=["C://h:1"])
SLOW = replica(2, 80, last_caught_up_ms=3000, directory_id="0123456789abcdefghijAB")
LOOKS_ON = replica(1, 95, last_fetch_ms=4000)


def quorum(*voters: QuorumReplica, leader: int = 3) -> Quorum:
    return Quorum(
        leader_id=leader, leader_epoch=7, high_watermark=90, voters=voters, observers=[LOOKS_ON]
    )


def test_the_status_tells_how_far_the_slowest_voter_is_behind() -> None:
    voters = (
        '{"id": 2, "directoryId": "0123456789abcdefghijAB"}, {"id": 3, "endpoints": ["C://h:1"]}'
    )
    assert status_lines("abc", quorum(SLOW, LEADER)) == [
        "ClusterId:              abc",
        "LeaderId:               3",
        "LeaderEpoch:            7",
        "HighWatermark:          90",
        "MaxFollowerLag:         20",
        "MaxFollowerLagTimeMs:   2000",
        f"CurrentVoters:          [{voters}]",
        'CurrentObservers:       [{"id": 1}]',
    ]


@pytest.mark.parametrize(
    ("voters", "leader", "lag", "behind"),
    [
        ([LEADER], 3, 0, 0),
        ([LEADER, replica(2, 90)], 3, 10, -1),
        ([LEADER], 9, 0, -1),
    ],
)
def test_what_is_not_known_is_minus_one(
    voters: list[QuorumReplica], leader: int, lag: int, behind: int
) -> None:
    lines = status_lines("abc", quorum(*voters, leader=leader))
    assert lines[4:6] == [
        f"MaxFollowerLag:         {lag}",
        f"MaxFollowerLagTimeMs:   {behind}",
    ]
    document = status_json("abc", quorum(*voters, leader=leader))
    assert document["max_follower_lag_time_ms"] == (None if behind < 0 else behind)


def test_the_leader_stands_before_followers_and_observers() -> None:
    rows = [line.split("\t") for line in replication_lines(quorum(SLOW, LEADER), None)]
    assert [cell.strip() for cell in rows[0]][:4] == [
        "NodeId",
        "DirectoryId",
        "LogEndOffset",
        "Lag",
    ]
    assert [(row[0].strip(), row[3].strip(), row[6].strip()) for row in rows[1:]] == [
        ("3", "0", "Leader"),
        ("2", "20", "Follower"),
        ("1", "5", "Observer"),
    ]
    assert [row[4].strip() for row in rows[1:]] == ["5000", "-1", "4000"]
    assert [each["status"] for each in replication_json(quorum(SLOW, LEADER))] == [
        "leader",
        "follower",
        "observer",
    ]


def test_times_are_how_long_ago_on_request() -> None:
    rows = [line.split("\t") for line in replication_lines(quorum(LEADER), 5250)]
    assert [row[4].strip() for row in rows[1:]] == ["250 ms ago", "1250 ms ago"]
    ahead = [line.split("\t") for line in replication_lines(quorum(LEADER), 4990)]
    assert ahead[1][4].strip() == "0 ms ago", "a clock of another machine may be ahead"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "a command is needed: describe"),
        ("nonsense", '"nonsense" is not a command: describe'),
        ("describe", "describe needs --status or --replication"),
        ("describe --status --replication", "cannot be used together"),
        ("describe --status --human-readable", "--human-readable needs --replication"),
    ],
)
def test_what_cannot_be_meant_is_said(line: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(parse(COMMAND.options, line.split(), words=COMMAND.words))
    assert complaint in str(caught.value)


def test_nobody_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--bootstrap-controller", "127.0.0.1:1", "describe", "--status"]
    assert run_tool("kafka-metadata-quorum", "barnabas.cli.metadata_quorum", words) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("controller not reachable at 127.0.0.1:1: is it running?")
