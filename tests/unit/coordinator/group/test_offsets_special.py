"""Offsets of transactions, and offsets that are deleted."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine, subscription, topic

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group.events import Call
from barnabas.coordinator.runtime_types import Producer
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

# Transactions


def test_a_transactional_commit_counts_when_its_transaction_commits() -> None:
    machine = GroupMachine()
    machine.commit(5)
    assert machine.txn_commit(9) == E.NONE

    assert machine.fetch() == (5, 0)
    assert machine.fetch(require_stable=True) == (-1, E.UNSTABLE_OFFSET_COMMIT)
    machine.end_txn(committed=True)
    assert machine.fetch(require_stable=True) == (9, 0)


def test_a_transactional_commit_that_is_aborted_never_was() -> None:
    machine = GroupMachine()
    machine.txn_commit(9)

    machine.end_txn(committed=False)

    assert machine.fetch(require_stable=True) == (-1, 0)


def test_a_later_commit_wins_over_a_transaction_that_ends_after_it() -> None:
    machine = GroupMachine()
    machine.txn_commit(9)
    machine.commit(10)

    machine.end_txn(committed=True)

    assert machine.fetch() == (10, 0)
    machine.restart()
    assert machine.fetch() == (10, 0)


def test_transactions_of_two_producers_end_by_themselves() -> None:
    machine = GroupMachine()
    machine.txn_commit(1, producer=1)
    machine.txn_commit(2, producer=2, partition=1)

    machine.end_txn(producer=1, committed=True)

    assert machine.fetch(require_stable=True) == (1, 0)
    assert machine.fetch(partition=1, require_stable=True)[1] == E.UNSTABLE_OFFSET_COMMIT


def test_an_open_transaction_survives_a_restart() -> None:
    machine = GroupMachine()
    machine.txn_commit(9)

    machine.restart()

    assert machine.fetch(require_stable=True)[1] == E.UNSTABLE_OFFSET_COMMIT
    machine.end_txn(committed=True)
    assert machine.fetch() == (9, 0)


def test_a_transactional_commit_is_written_as_part_of_the_transaction() -> None:
    machine = GroupMachine()
    request = TxnOffsetCommitRequest(group_id=GROUP, producer_id=5, producer_epoch=3)

    decision = machine.shard.decide(Call(request=request, version=5), ticket=1, now_ms=0)

    assert decision.producer == Producer(5, 3)


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        (None, 1, E.NONE),
        (None, 0, E.ILLEGAL_GENERATION),
        ("nobody", 1, E.UNKNOWN_MEMBER_ID),
        ("", -1, E.NONE),  # the oldest clients tell nothing of their membership
    ],
)
def test_transactional_commits_of_zombies_are_fenced(
    member: str | None, generation: int, code: E
) -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()
    who = member_id if member is None else member

    assert machine.txn_commit(5, member=who, generation=generation) == code


def test_transactional_commits_to_a_consumer_group() -> None:
    machine = GroupMachine([topic("t", 1)])
    epoch = machine.consume("a", names=["t"]).member_epoch

    assert machine.txn_commit(5, member="a", generation=epoch) == E.NONE
    assert machine.txn_commit(5, member="a", generation=epoch + 1) == E.ILLEGAL_GENERATION
    assert machine.txn_commit(5, member="b", generation=epoch) == E.UNKNOWN_MEMBER_ID
    assert machine.txn_commit(5) == E.NONE


def test_a_transactional_commit_of_a_generation_that_is_not_there() -> None:
    assert GroupMachine().txn_commit(5, member="m", generation=1) == E.ILLEGAL_GENERATION


# Delete


def delete(machine: GroupMachine, name: str = "t", group: str = GROUP) -> tuple[int, list[int]]:
    reply = machine.send(
        OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=name,
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=0),
                        OffsetDeleteRequestPartition(partition_index=1),
                    ],
                )
            ],
        )
    ).reply
    return reply.error_code, [p.error_code for t in reply.topics for p in t.partitions]


def test_offsets_of_a_group_without_members_can_be_deleted() -> None:
    machine = GroupMachine()
    machine.commit(5)
    machine.txn_commit(6, partition=1)

    assert delete(machine) == (0, [0, 0])

    assert machine.fetch() == (-1, 0)
    machine.end_txn(committed=True)
    assert machine.fetch(partition=1) == (-1, 0), "a deletion ends pending commits too"


def test_offsets_of_topics_that_are_read_cannot_be_deleted() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group(protocols=[("range", subscription("t"))])
    for name in ("t", "u"):
        machine.commit(5, topic=name, member=member_id, epoch=generation)

    assert delete(machine, "t") == (0, [E.GROUP_SUBSCRIBED_TO_TOPIC] * 2)
    assert delete(machine, "u") == (0, [0, 0])
    assert machine.fetch(topic="t") == (5, 0)
    assert machine.fetch(topic="u") == (-1, 0)


def test_a_subscription_that_cannot_be_read_may_be_to_anything() -> None:
    machine = GroupMachine()
    machine.stable_group(protocols=[("range", b"?")])

    assert delete(machine) == (0, [E.GROUP_SUBSCRIBED_TO_TOPIC] * 2)


def test_a_consumer_group_deletes_what_it_does_not_read() -> None:
    machine = GroupMachine([topic("t", 1)])
    epoch = machine.consume("a", names=["t"]).member_epoch
    machine.commit(5, topic="u", member="a", epoch=epoch)

    assert delete(machine, "t") == (0, [E.GROUP_SUBSCRIBED_TO_TOPIC] * 2)
    assert delete(machine, "u") == (0, [0, 0])


def test_groups_whose_offsets_cannot_be_deleted() -> None:
    machine = GroupMachine()
    machine.stable_group(protocol_type="connect")

    assert delete(machine)[0] == E.NON_EMPTY_GROUP
    assert delete(machine, group="other")[0] == E.GROUP_ID_NOT_FOUND
    assert delete(machine, group="")[0] == E.INVALID_GROUP_ID
