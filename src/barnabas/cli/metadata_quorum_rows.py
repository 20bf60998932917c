"""What `kafka-metadata-quorum` shows: rows made from a quorum, and their lines.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.printing import table

if TYPE_CHECKING:
    from barnabas.client.cluster_admin import Quorum, QuorumReplica

REPLICATION_HEADING = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)
NAME_COLUMNS = 24


def leader_of(quorum: Quorum) -> QuorumReplica | None:
    return next((each for each in quorum.voters if each.node_id == quorum.leader_id), None)


def lag(quorum: Quorum, replica: QuorumReplica) -> int:
    leader = leader_of(quorum)
    return 0 if leader is None else leader.log_end_offset - replica.log_end_offset


def status_lines(cluster_id: str, quorum: Quorum) -> list[str]:
    most, behind_ms = _furthest_behind(quorum)
    values = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": most,
        "MaxFollowerLagTimeMs": behind_ms,
        "CurrentVoters": f"[{', '.join(map(_node, quorum.voters))}]",
        "CurrentObservers": f"[{', '.join(map(_node, quorum.observers))}]",
    }
    return [f"{f'{name}:':<{NAME_COLUMNS}}{value}" for name, value in values.items()]


def _furthest_behind(quorum: Quorum) -> tuple[int, int]:
    """Lag of the slowest voter, and how long ago it had all; -1 if nobody knows."""
    leader = leader_of(quorum)
    if leader is None:
        return 0, -1
    slowest = min(quorum.voters, key=lambda each: each.log_end_offset)
    if slowest is leader:
        return 0, 0
    most = leader.log_end_offset - slowest.log_end_offset
    if leader.last_caught_up_ms is None or slowest.last_caught_up_ms is None:
        return most, -1
    return most, leader.last_caught_up_ms - slowest.last_caught_up_ms


def _node(replica: QuorumReplica) -> str:
    parts = [f'"id": {replica.node_id}']
    if replica.has_directory:
        parts.append(f'"directoryId": "{replica.directory_id}"')
    if replica.endpoints:
        listed = ", ".join(f'"{each}"' for each in replica.endpoints)
        parts.append(f'"endpoints": [{listed}]')
    return f"{{{', '.join(parts)}}}"


def _with_status(quorum: Quorum) -> Iterator[tuple[QuorumReplica, str]]:
    """The leader, then the others that vote, then those that only look on."""
    for replica in quorum.voters:
        if replica.node_id == quorum.leader_id:
            yield replica, "Leader"
    for replica in quorum.voters:
        if replica.node_id != quorum.leader_id:
            yield replica, "Follower"
    for replica in quorum.observers:
        yield replica, "Observer"


def replication_lines(quorum: Quorum, now_ms: int | None) -> list[str]:
    """Times are shown as they are, or with `now_ms` as how long ago they were."""
    rows: list[Sequence[object]] = [
        (
            replica.node_id,
            replica.directory_id,
            replica.log_end_offset,
            lag(quorum, replica),
            _time(replica.last_fetch_ms, now_ms),
            _time(replica.last_caught_up_ms, now_ms),
            status,
        )
        for replica, status in _with_status(quorum)
    ]
    return table(REPLICATION_HEADING, rows)


def _time(timestamp_ms: int | None, now_ms: int | None) -> str:
    if timestamp_ms is None:
        return "-1"
    return str(timestamp_ms) if now_ms is None else f"{max(0, now_ms - timestamp_ms)} ms ago"


def status_json(cluster_id: str, quorum: Quorum) -> dict[str, Any]:
    most, behind_ms = _furthest_behind(quorum)
    return {
        "cluster_id": cluster_id,
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "max_follower_lag": most,
        "max_follower_lag_time_ms": None if behind_ms < 0 else behind_ms,
        "current_voters": [_node_json(each) for each in quorum.voters],
        "current_observers": [_node_json(each) for each in quorum.observers],
    }


def _node_json(replica: QuorumReplica) -> dict[str, Any]:
    return {
        "id": replica.node_id,
        "directory_id": replica.directory_id if replica.has_directory else None,
        "endpoints": list(replica.endpoints),
    }


def replication_json(quorum: Quorum) -> list[dict[str, Any]]:
    return [
        {
            "node_id": replica.node_id,
            "directory_id": replica.directory_id,
            "log_end_offset": replica.log_end_offset,
            "lag": lag(quorum, replica),
            "last_fetch_timestamp": replica.last_fetch_ms,
            "last_caught_up_timestamp": replica.last_caught_up_ms,
            "status": status.lower(),
        }
        for replica, status in _with_status(quorum)
    ]
