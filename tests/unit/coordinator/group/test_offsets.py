"""Committed offsets: who may commit, and what is read back."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine, topic

from barnabas.base.errors import ErrorCode as E
from barnabas.base.errors import MessageTooLarge
from barnabas.coordinator.group.config import GroupConfig
from barnabas.coordinator.group.events import Call
from barnabas.coordinator.group.records import offset_commit
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.group_records import OffsetCommitValue
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

# Commit


def test_a_commit_is_one_record_for_each_partition() -> None:
    machine = GroupMachine()
    request = OffsetCommitRequest(
        group_id=GROUP,
        topics=[
            OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=3,
                        committed_offset=42,
                        committed_leader_epoch=7,
                        committed_metadata="m",
                    ),
                    OffsetCommitRequestPartition(
                        partition_index=4, committed_offset=1, committed_metadata=None
                    ),
                    OffsetCommitRequestPartition(
                        partition_index=5, committed_offset=1, committed_metadata="x" * 4097
                    ),
                ],
            )
        ],
    )

    decision = machine.shard.decide(Call(request=request, version=9), ticket=1, now_ms=1_000)

    assert decision == Decision(
        records=(
            offset_commit(
                GROUP,
                "t",
                3,
                OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=1_000),
            ),
            offset_commit(
                GROUP,
                "t",
                4,
                OffsetCommitValue(offset=1, leader_epoch=-1, metadata="", commit_timestamp=1_000),
            ),
        ),
        reply=OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name="t",
                    partitions=[
                        OffsetCommitResponsePartition(partition_index=3),
                        OffsetCommitResponsePartition(partition_index=4),
                        OffsetCommitResponsePartition(
                            partition_index=5, error_code=E.OFFSET_METADATA_TOO_LARGE
                        ),
                    ],
                )
            ]
        ),
        standalone=True,
    )


def test_metadata_is_measured_in_utf_16() -> None:
    machine = GroupMachine(config=GroupConfig(offset_metadata_max_bytes=4))

    assert machine.commit(1, metadata="éééé") == E.NONE
    assert machine.commit(1, metadata="\U0001f600\U0001f600") == E.NONE
    assert machine.commit(1, metadata="\U0001f600\U0001f600!") == E.OFFSET_METADATA_TOO_LARGE


def test_a_group_without_members_takes_commits_of_anyone_who_claims_no_membership() -> None:
    machine = GroupMachine()

    assert machine.commit(5) == E.NONE
    assert machine.commit(6, member="someone") == E.NONE
    assert machine.fetch() == (6, 0)
    assert machine.commit(7, group="") == E.NONE, "the group without a name has offsets too"


@pytest.mark.parametrize(
    ("version", "code"), [(9, E.GROUP_ID_NOT_FOUND), (8, E.ILLEGAL_GENERATION)]
)
def test_a_generation_of_a_group_that_is_not_there(version: int, code: E) -> None:
    assert GroupMachine().commit(5, member="m", epoch=1, version=version) == code


@pytest.mark.parametrize("version", [8, 9])
def test_a_generation_of_a_group_that_only_has_offsets(version: int) -> None:
    machine = GroupMachine()
    machine.commit(5)

    assert machine.commit(6, member="m", epoch=1, version=version) == E.UNKNOWN_MEMBER_ID
    assert machine.txn_commit(6, member="m", generation=1) == E.UNKNOWN_MEMBER_ID
    assert machine.fetch() == (5, 0)


@pytest.mark.parametrize(
    ("member", "epoch", "instance", "code"),
    [
        (None, 1, None, E.NONE),
        (None, 0, None, E.ILLEGAL_GENERATION),
        (None, 2, None, E.ILLEGAL_GENERATION),
        (None, -1, None, E.ILLEGAL_GENERATION),
        ("nobody", 1, None, E.UNKNOWN_MEMBER_ID),
        (None, 1, "i", E.UNKNOWN_MEMBER_ID),
        ("", -1, None, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_while_a_group_has_members_only_they_commit(
    member: str | None, epoch: int, instance: str | None, code: E
) -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()
    who = member_id if member is None else member

    assert machine.commit(5, member=who, epoch=epoch, instance=instance) == code
    assert machine.fetch() == ((5, 0) if code == E.NONE else (-1, 0))


def test_no_commits_while_the_assignment_is_awaited() -> None:
    machine = GroupMachine()
    member_id, join = machine.new_member()
    machine.advance(100)
    assert not join.waits

    assert machine.commit(5, member=member_id, epoch=1) == E.REBALANCE_IN_PROGRESS


def test_members_may_still_commit_while_a_rebalance_gathers() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)
    machine.join(leader)

    assert machine.commit(5, member=follower, epoch=generation) == E.NONE


def test_a_commit_counts_as_a_sign_of_life() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group(session_ms=10_000)
    for offset in range(4):
        machine.advance(9_000)
        assert machine.commit(offset, member=member_id, epoch=generation) == E.NONE


def test_a_commit_too_large_for_the_log_fails_alone() -> None:
    machine = GroupMachine()
    machine.commit(5)
    machine.log.refuse = MessageTooLarge()

    assert machine.commit(6) == E.INVALID_COMMIT_OFFSET_SIZE
    assert machine.reloads == 0
    assert machine.fetch() == (5, 0)


def test_a_commit_is_read_back_when_it_is_committed() -> None:
    machine = GroupMachine()
    machine.log.hold = True
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)])
    machine.send(
        OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                OffsetCommitRequestTopic(
                    name="t", partitions=[OffsetCommitRequestPartition(committed_offset=9)]
                )
            ],
        )
    )

    fetch = machine.send(request)
    assert fetch.waits

    machine.log.release()
    assert fetch.reply.groups[0].topics[0].partitions[0].committed_offset == 9


# Fetch


def test_null_topics_mean_all() -> None:
    machine = GroupMachine()
    for name, partition, offset in (("u", 0, 3), ("t", 1, 2), ("t", 0, 1)):
        machine.commit(offset, topic=name, partition=partition, metadata=name)

    reply = machine.send(
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id=GROUP, topics=None),
                OffsetFetchRequestGroup(group_id="other", topics=None),
            ]
        )
    ).reply

    def found(index: int, offset: int, metadata: str) -> OffsetFetchResponsePartitions:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=offset, metadata=metadata
        )

    assert reply == OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=GROUP,
                topics=[
                    OffsetFetchResponseTopics(
                        name="t", partitions=[found(0, 1, "t"), found(1, 2, "t")]
                    ),
                    OffsetFetchResponseTopics(name="u", partitions=[found(0, 3, "u")]),
                ],
            ),
            OffsetFetchResponseGroup(group_id="other"),
        ]
    )


@pytest.mark.parametrize("version", [1, 2, 7])
def test_older_versions_ask_for_one_group(version: int) -> None:
    machine = GroupMachine()
    machine.commit(5, metadata="m")

    reply = machine.send(
        OffsetFetchRequest(
            group_id=GROUP, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
        ),
        version=version,
    ).reply

    assert reply == OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name="t",
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=0, committed_offset=5, metadata="m"
                    ),
                    OffsetFetchResponsePartition(partition_index=1, committed_offset=-1),
                ],
            )
        ]
    )


@pytest.mark.parametrize(("version", "top", "each"), [(1, 0, 16), (2, 16, None), (7, 16, None)])
def test_where_older_versions_tell_that_a_group_failed(
    version: int, top: int, each: int | None
) -> None:
    machine = GroupMachine()
    machine.runtime.unload(0)

    reply = machine.send(
        OffsetFetchRequest(
            group_id=GROUP, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        ),
        version=version,
    ).reply

    assert reply.error_code == top
    codes = [p.error_code for t in reply.topics for p in t.partitions]
    assert codes == ([] if each is None else [each])


def test_members_of_consumer_groups_read_at_their_epoch() -> None:
    machine = GroupMachine([topic("t", 1)])
    epoch = machine.consume("a", names=["t"]).member_epoch

    assert machine.fetch(member="a", epoch=epoch) == (-1, 0)
    assert machine.fetch(member="a", epoch=epoch + 1) == (-1, E.STALE_MEMBER_EPOCH)
    assert machine.fetch(member="b", epoch=epoch) == (-1, E.UNKNOWN_MEMBER_ID)
    assert machine.fetch() == (-1, 0), "an administrator names no member"


def test_members_of_classic_groups_need_not_tell_who_they_are() -> None:
    machine = GroupMachine()
    machine.stable_group()

    assert machine.fetch(member="anyone", epoch=99) == (-1, 0)


# Commits to consumer groups


def test_commits_to_a_consumer_group_are_fenced_by_the_members_epoch() -> None:
    machine = GroupMachine([topic("t", 1)])
    epoch = machine.consume("a", names=["t"]).member_epoch

    assert machine.commit(1, member="a", epoch=epoch) == E.NONE
    assert machine.commit(2, member="a", epoch=epoch - 1) == E.STALE_MEMBER_EPOCH
    assert machine.commit(2, member="a", epoch=epoch + 1) == E.STALE_MEMBER_EPOCH
    assert machine.commit(2, member="b", epoch=epoch) == E.UNKNOWN_MEMBER_ID
    assert machine.commit(2) == E.UNKNOWN_MEMBER_ID
    assert machine.commit(2, member="a", epoch=epoch, version=8) == E.UNSUPPORTED_VERSION
    assert machine.fetch() == (1, 0)
