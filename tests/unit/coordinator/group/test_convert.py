"""Groups that change their protocol while they have members."""

from __future__ import annotations

import pytest
from group_clients import ClassicClient, Client, ModernClient, assert_all_assigned, settled
from group_machine import (
    GROUP,
    GroupMachine,
    Pending,
    assignment,
    given,
    subscription,
    topic,
    topic_id,
)

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group.classic.group import State
from barnabas.coordinator.group.config import GroupConfig, MigrationPolicy
from barnabas.coordinator.group.embedded import decode_assignment
from barnabas.protocol.messages.consumer_protocol import ConsumerProtocolAssignment

T = topic_id("t")
READS_T = [("range", subscription("t"))]


def classic_group(
    machine: GroupMachine, user_data: bytes | None = None, **options: object
) -> tuple[int, str]:
    """A stable classic group of one consumer that has all four partitions of `t`."""
    member_id, join = machine.new_member(protocols=READS_T, **options)
    machine.advance(100)
    plan = assignment(machine.topics, {"t": [0, 1, 2, 3]})
    if user_data is not None:
        plain = ConsumerProtocolAssignment.read(plan, 2, 1)[0]
        plain.user_data = user_data
        plan = plan[:2] + plain.encode(1)
    machine.sync(member_id, 1, {member_id: plan})
    return join.reply.generation_id, member_id


def of_t(machine: GroupMachine, sync: Pending) -> set[int]:
    return set(decode_assignment(sync.reply.assignment, machine.topics)[0].get(T, ()))


# Up


def test_a_modern_member_turns_a_classic_group_into_a_consumer_group() -> None:
    machine = GroupMachine([topic("t", 4)])
    generation, old = classic_group(machine)

    joined = machine.consume("new", names=["t"])

    assert (joined.member_epoch, given(joined)) == (generation + 1, {}), "the number goes on"
    described = machine.describe_consumer()
    assert described.group_state == "Reconciling"
    assert {m.member_id: m.member_type for m in described.members} == {old: 0, "new": 1}
    assert machine.describe().group_state == "Dead", "no longer a classic group"


def test_a_classic_member_gives_up_its_share_by_joining_again() -> None:
    machine = GroupMachine([topic("t", 4)])
    generation, old = classic_group(machine)
    machine.consume("new", names=["t"])
    assert machine.heartbeat(old, generation) == E.REBALANCE_IN_PROGRESS
    assert machine.sync(old, generation).error == E.REBALANCE_IN_PROGRESS

    # Cooperative: it joins with what it has, and learns what to give up.
    owned = subscription("t", owned={"t": [0, 1, 2, 3]})
    join = machine.join(old, protocols=[("range", owned)]).reply
    assert (join.generation_id, join.leader, join.members) == (generation, "", [])
    kept = of_t(machine, machine.sync(old, join.generation_id))
    assert len(kept) == 2
    assert machine.heartbeat(old, generation) == E.REBALANCE_IN_PROGRESS, "it has yet to let go"
    assert machine.consume("new", 2).assignment is None

    owned = subscription("t", owned={"t": sorted(kept)})
    join = machine.join(old, protocols=[("range", owned)]).reply
    assert join.generation_id == generation + 1
    assert of_t(machine, machine.sync(old, join.generation_id)) == kept
    assert machine.heartbeat(old, join.generation_id) == E.NONE
    assert given(machine.consume("new", 2)) == {"t": sorted({0, 1, 2, 3} - kept)}


def test_a_static_member_that_takes_over_a_group_without_an_assignment_gets_one() -> None:
    machine = GroupMachine([topic("t", 4)])
    waiting = machine.join(instance="i", protocols=READS_T)

    joined = machine.consume("new", names=["t"], instance="i")

    assert waiting.error == E.REBALANCE_IN_PROGRESS
    assert given(joined) == {"t": [0, 1, 2, 3]}


def test_members_that_wait_in_a_rebalance_are_sent_back() -> None:
    machine = GroupMachine([topic("t", 4)])
    classic_group(machine)
    _, waiting = machine.new_member(protocols=READS_T)
    assert waiting.waits

    machine.consume("new", names=["t"])

    assert waiting.error == E.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (GroupConfig(consumer_migration_policy=MigrationPolicy.DISABLED), {}),
        (GroupConfig(consumer_migration_policy=MigrationPolicy.DOWNGRADE), {}),
        (GroupConfig(), {"protocol_type": "connect"}),
        (GroupConfig(), {"user_data": b"of a custom assignor"}),
    ],
)
def test_groups_that_cannot_be_upgraded_stay_as_they_are(
    config: GroupConfig, options: dict[str, object]
) -> None:
    machine = GroupMachine([topic("t", 4)])
    if "protocol_type" in options:
        machine.stable_group(**options)
    else:
        classic_group(machine, **options)  # type: ignore[arg-type]
    machine.shard.state.config = config
    before = machine.describe()

    reply = machine.consume("new", names=["t"])

    assert reply.error_code == E.GROUP_ID_NOT_FOUND
    assert machine.describe() == before


def test_a_group_of_unreadable_subscriptions_cannot_be_upgraded() -> None:
    machine = GroupMachine([topic("t", 4)])
    machine.stable_group(protocols=[("range", b"?")])

    assert machine.consume("new", names=["t"]).error_code == E.GROUP_ID_NOT_FOUND


def test_an_upgrade_that_fails_later_leaves_the_classic_group_alone() -> None:
    machine = GroupMachine([topic("t", 4)])
    classic_group(machine)
    _, waiting = machine.new_member(protocols=READS_T)

    reply = machine.consume("new", regex="(")

    assert reply.error_code == E.INVALID_REGULAR_EXPRESSION
    assert waiting.waits
    assert machine.describe().group_state == "PreparingRebalance"


def test_an_empty_classic_group_gives_way_and_its_offsets_stay() -> None:
    machine = GroupMachine([topic("t", 4)])
    generation, old = classic_group(machine)
    machine.commit(7, member=old, epoch=generation)
    machine.leave((old, None))

    assert machine.consume("new", names=["t"]).member_epoch == 1
    assert machine.fetch() == (7, 0)


def test_a_modern_member_cannot_heartbeat_in_a_classic_group() -> None:
    machine = GroupMachine([topic("t", 4)])
    classic_group(machine)

    assert machine.consume("new", 3).error_code == E.GROUP_ID_NOT_FOUND


# Together


def mixed() -> tuple[GroupMachine, str, int]:
    """A consumer group of a classic and a modern member, at rest."""
    machine = GroupMachine([topic("t", 4)])
    old = ClassicClient(machine, ["t"])
    clients: list[Client] = [old]
    settled(clients, machine, 3)
    clients.append(ModernClient(machine, "new", names=["t"]))
    settled(clients, machine, 12)
    assert_all_assigned(clients, machine)
    return machine, old.member_id, old.generation


def test_classic_members_of_a_consumer_group_are_checked_like_others() -> None:
    machine, old, generation = mixed()

    assert machine.heartbeat(old, generation - 1) == E.ILLEGAL_GENERATION
    assert machine.heartbeat("nobody", generation) == E.UNKNOWN_MEMBER_ID
    assert machine.heartbeat("new", generation) == E.UNKNOWN_MEMBER_ID, "not a classic member"
    assert machine.sync(old, generation - 1).error == E.ILLEGAL_GENERATION
    assert machine.sync(old, generation, protocol_name="x").error == E.INCONSISTENT_GROUP_PROTOCOL
    assert machine.commit(5, member=old, epoch=generation) == E.NONE
    assert machine.commit(5, member=old, epoch=generation, version=7) == E.NONE
    assert machine.commit(5, member=old, epoch=generation - 1) == E.ILLEGAL_GENERATION


def test_classic_members_may_still_join_a_consumer_group() -> None:
    machine, _, generation = mixed()

    handshake = machine.join(protocols=READS_T).reply
    assert handshake.error_code == E.MEMBER_ID_REQUIRED
    joined = machine.join(handshake.member_id, protocols=READS_T).reply

    assert joined.generation_id == generation + 1
    assert machine.join(protocols=[("other", subscription("t"))]).error == (
        E.INCONSISTENT_GROUP_PROTOCOL
    )
    assert machine.join(protocol_type="connect").error == E.INCONSISTENT_GROUP_PROTOCOL
    assert machine.join(protocols=[("range", b"")], version=3).error == (
        E.INCONSISTENT_GROUP_PROTOCOL
    )


def test_a_classic_member_that_is_told_to_join_must_do_so_in_time() -> None:
    machine, old, generation = mixed()
    machine.consume("third", names=["t"])
    for _ in range(9):
        machine.heartbeat(old, generation)
        machine.advance(6_999)
        machine.consume("new", 2)
        machine.consume("third", 3)

    assert machine.heartbeat(old, generation) == E.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_joined_must_sync_in_time() -> None:
    machine, _, _ = mixed()
    member_id = machine.join(protocols=READS_T, session_ms=300_000).reply.member_id
    joined = machine.join(member_id, protocols=READS_T, session_ms=300_000, rebalance_ms=8_000)
    generation = joined.reply.generation_id
    machine.advance(7_999)
    assert machine.heartbeat(member_id, generation) in {E.NONE, E.REBALANCE_IN_PROGRESS}

    machine.advance(1)

    assert machine.heartbeat(member_id, generation) == E.UNKNOWN_MEMBER_ID


def test_classic_members_leave_a_consumer_group_by_name() -> None:
    machine, old, _ = mixed()

    reply = machine.leave((old, None), ("nobody", None), ("", "i"))

    assert [m.error_code for m in reply.members] == [0, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID]
    assert [m.member_id for m in machine.describe_consumer().members] == ["new"]


# Down


def test_when_the_last_modern_member_goes_the_group_is_classic_again() -> None:
    machine, old, generation = mixed()

    machine.consume("new", -1)

    described = machine.describe()
    assert described.group_state == "PreparingRebalance"
    assert [m.member_id for m in described.members] == [old]
    assert machine.heartbeat(old, generation) == E.REBALANCE_IN_PROGRESS
    joined = machine.join(old, protocols=READS_T).reply
    assert (joined.generation_id, joined.leader) == (generation + 1, old)


def test_a_rebalance_that_a_failure_interrupts_after_a_downgrade_is_not_forgotten() -> None:
    machine, old, generation = mixed()
    machine.consume("new", -1)

    machine.restart()

    assert machine.heartbeat(old, generation) == E.ILLEGAL_GENERATION
    joined = machine.join(old, protocols=READS_T).reply
    assert (joined.generation_id, joined.leader) == (generation + 2, old)


def test_a_downgrade_that_is_not_allowed_leaves_a_consumer_group() -> None:
    machine, old, _ = mixed()
    machine.shard.state.config = GroupConfig(consumer_migration_policy=MigrationPolicy.UPGRADE)

    machine.consume("new", -1)

    assert [m.member_id for m in machine.describe_consumer().members] == [old]


def test_a_group_that_is_too_large_for_the_classic_protocol_stays_what_it_is() -> None:
    machine, old, _ = mixed()
    other = machine.join(protocols=READS_T).reply.member_id
    machine.join(other, protocols=READS_T)
    machine.shard.state.config = GroupConfig(max_size=1)

    machine.consume("new", -1)

    assert {m.member_id for m in machine.describe_consumer().members} == {old, other}


def test_a_static_member_takes_the_group_back_to_the_classic_protocol() -> None:
    machine = GroupMachine([topic("t", 4)])
    machine.consume("new", names=["t"], instance="i")
    machine.consume("new", -2, instance="i")

    joined = machine.join(instance="i", protocols=READS_T).reply

    group = machine.shard.state.classic(GROUP)
    assert group is not None
    assert (group.state, group.generation) == (State.STABLE, joined.generation_id)
    sync = machine.sync(joined.member_id, joined.generation_id, instance="i")
    assert of_t(machine, sync) == {0, 1, 2, 3}
    assert machine.heartbeat(joined.member_id, joined.generation_id, instance="i") == E.NONE


def test_a_static_member_that_reads_something_else_makes_the_classic_group_rebalance() -> None:
    machine = GroupMachine([topic("t", 4), topic("u", 1)])
    machine.consume("new", names=["t"], instance="i")
    machine.consume("new", -2, instance="i")

    joined = machine.join(instance="i", protocols=[("range", subscription("u"))]).reply

    assert machine.describe().group_state == "PreparingRebalance"
    again = machine.join(joined.member_id, instance="i", protocols=[("range", subscription("u"))])
    assert again.error == E.NONE


def test_a_group_that_goes_back_while_partitions_change_hands_rebalances() -> None:
    """Its target is not yet what members have: nobody would fetch the rest of it."""
    machine = GroupMachine([topic("t", 4)])
    old = ClassicClient(machine, ["t"])
    clients: list[Client] = [old]
    settled(clients, machine, 3)
    new = ModernClient(machine, "new", names=["t"], instance="i")
    new.step()
    old.step()
    assert machine.describe_consumer().group_state == "Reconciling"
    new.leave(for_now=True)

    clients.append(ClassicClient(machine, ["t"], "i"))
    clients[1].step()
    assert machine.describe().group_state == "PreparingRebalance"

    settled(clients, machine, 8)
    assert_all_assigned(clients, machine)


def test_an_empty_consumer_group_gives_way_to_a_classic_one() -> None:
    machine = GroupMachine([topic("t", 4)])
    machine.consume("new", names=["t"])
    machine.commit(7, member="new", epoch=1)
    machine.consume("new", -1)

    member_id = machine.join(protocols=READS_T).reply.member_id
    join = machine.join(member_id, protocols=READS_T)
    machine.advance(100)

    assert join.reply.generation_id == 1
    assert machine.fetch() == (7, 0)
    machine.restart()
    assert machine.describe_consumer().error_code == E.GROUP_ID_NOT_FOUND


def test_a_refused_join_does_not_end_an_empty_consumer_group() -> None:
    machine = GroupMachine([topic("t", 4)])
    machine.consume("new", names=["t"])
    machine.consume("new", -1)

    assert machine.join("unknown", protocols=READS_T).error == E.UNKNOWN_MEMBER_ID
    assert machine.join(protocols=[]).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert machine.describe_consumer().group_state == "Empty"
