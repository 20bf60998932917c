"""Static members of classic groups (KIP-345): they come back without a rebalance, and one fences
the other.
"""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine, subscription

from barnabas.base.errors import ErrorCode as E


def static_pair(**options: int) -> tuple[GroupMachine, int, str, str]:
    """A stable group of `lead`, who leads, and `other`."""
    machine = GroupMachine()
    joins = [machine.join(instance=name, **options) for name in ("lead", "other")]
    machine.advance(1_000)
    lead, other = (join.reply.member_id for join in joins)
    generation = joins[0].reply.generation_id
    machine.sync(lead, generation, {lead: b"L", other: b"O"}, instance="lead")
    machine.sync(other, generation, instance="other")
    return machine, generation, lead, other


def test_a_static_member_needs_no_handshake_and_its_id_tells_its_instance() -> None:
    _, _, lead, _ = static_pair()

    assert lead.startswith("lead-")


def test_a_static_member_returns_to_its_generation_and_assignment() -> None:
    machine, generation, lead, other = static_pair()

    reply = machine.join(instance="other").reply

    assert (reply.error_code, reply.generation_id, reply.leader) == (E.NONE, generation, lead)
    assert reply.member_id != other
    assert machine.describe().group_state == "Stable"
    sync = machine.sync(reply.member_id, generation, instance="other")
    assert sync.reply.assignment == b"O"
    assert machine.heartbeat(lead, generation, instance="lead") == E.NONE


def test_the_log_shows_that_a_static_member_is_back_without_a_rebalance(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine, generation, _, _ = static_pair()
    caplog.set_level("INFO", "barnabas.coordinator")
    caplog.clear()

    machine.join(instance="other")

    assert [record.getMessage() for record in caplog.records] == [
        f"group {GROUP}: static member other is back, generation {generation} goes on"
    ]


def test_a_leader_that_returns_is_told_to_leave_the_assignment_alone() -> None:
    machine, generation, _, other = static_pair()

    reply = machine.join(instance="lead", version=9).reply

    assert (reply.generation_id, reply.leader) == (generation, reply.member_id)
    assert reply.skip_assignment
    assert sorted(m.member_id for m in reply.members) == sorted([reply.member_id, other])


def test_a_leader_of_an_older_version_that_returns_is_not_told_that_it_leads() -> None:
    machine, generation, lead, _ = static_pair()

    reply = machine.join(instance="lead", version=8).reply

    assert (reply.generation_id, reply.leader, reply.members) == (generation, lead, [])


def test_who_was_replaced_is_fenced_everywhere() -> None:
    machine, generation, _, other = static_pair()
    machine.join(instance="other")

    fenced = E.FENCED_INSTANCE_ID
    assert machine.heartbeat(other, generation, instance="other") == fenced
    assert machine.sync(other, generation, instance="other").error == fenced
    assert machine.join(other, instance="other").error == fenced
    assert machine.commit(1, member=other, epoch=generation, instance="other") == fenced
    assert machine.leave((other, "other")).members[0].error_code == fenced


def test_who_was_replaced_while_it_waited_is_told() -> None:
    machine, _, lead, other = static_pair()
    waiting = machine.join(lead, instance="lead")
    assert waiting.waits

    successor = machine.join(instance="lead")

    assert waiting.error == E.FENCED_INSTANCE_ID
    assert waiting.reply.member_id == lead
    machine.join(other, instance="other")
    assert successor.error == E.NONE


def test_a_member_that_syncs_is_replaced_too_and_all_must_join_again() -> None:
    machine = GroupMachine()
    joins = [machine.join(instance=name) for name in ("lead", "other")]
    machine.advance(1_000)
    lead, other = (join.reply.member_id for join in joins)
    sync = machine.sync(other, 1, instance="other")

    successor = machine.join(instance="other")

    assert sync.error == E.FENCED_INSTANCE_ID
    assert successor.waits
    assert machine.heartbeat(lead, 1, instance="lead") == E.REBALANCE_IN_PROGRESS


def test_a_return_that_changes_the_protocol_is_a_rebalance() -> None:
    machine = GroupMachine()
    both = [("a", b""), ("b", b"")]
    joins = [machine.join(instance=n, protocols=both, protocol_type="x") for n in ("1", "2")]
    machine.advance(1_000)
    lead, _ = (join.reply.member_id for join in joins)
    machine.sync(lead, 1, {}, instance="1", protocol_type="x", protocol_name="a")

    returned = machine.join(instance="2", protocols=[("b", b"")], protocol_type="x")

    assert returned.waits
    machine.join(lead, instance="1", protocols=both, protocol_type="x")
    assert returned.reply.protocol_name == "b"


def test_a_return_with_other_topics_is_a_rebalance() -> None:
    """Whoever leads would not learn of them otherwise."""
    machine = GroupMachine()
    reads = {name: [("range", subscription("t"))] for name in ("lead", "other")}
    joins = [machine.join(instance=name, protocols=reads[name]) for name in reads]
    machine.advance(1_000)
    lead = joins[0].reply.member_id
    machine.sync(lead, 1, {}, instance="lead")
    more = [("range", subscription("t", "u"))]

    returned = machine.join(instance="other", protocols=more)

    assert returned.waits
    assert machine.heartbeat(lead, 1, instance="lead") == E.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("instance", "code"),
    [("other", E.FENCED_INSTANCE_ID), ("nobody", E.UNKNOWN_MEMBER_ID), (None, E.NONE)],
)
def test_the_instance_id_must_be_the_members_own(instance: str | None, code: E) -> None:
    machine, generation, lead, _ = static_pair()

    assert machine.heartbeat(lead, generation, instance=instance) == code


def test_static_members_are_waited_for_until_their_session_ends() -> None:
    machine, generation, lead, other = static_pair(session_ms=30_000, rebalance_ms=8_000)
    join = machine.join(lead, instance="lead", rebalance_ms=8_000, session_ms=30_000)

    machine.advance(8_000)

    assert sorted(m.member_id for m in join.reply.members) == sorted([lead, other])
    assert join.reply.generation_id == generation + 1


def test_a_group_of_silent_static_members_waits_for_them() -> None:
    """Nobody joined, but their sessions last: the rebalance goes on."""
    machine, generation, lead, other = static_pair(session_ms=30_000, rebalance_ms=8_000)
    machine.leave((lead, "lead"))

    machine.advance(8_000)
    assert machine.describe().group_state == "PreparingRebalance"
    machine.advance(8_000)
    reply = machine.join(other, instance="other", rebalance_ms=8_000, session_ms=30_000).reply

    assert (reply.generation_id, reply.leader) == (generation + 1, other)


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    machine, generation, lead, _ = static_pair()

    reply = machine.leave(("", "other"))

    assert reply.members[0].error_code == E.NONE
    assert machine.heartbeat(lead, generation, instance="lead") == E.REBALANCE_IN_PROGRESS
    group = machine.shard.state.classic(GROUP)
    assert group is not None
    assert list(group.static) == ["lead"]


def test_a_return_survives_a_restart() -> None:
    machine, generation, _, _ = static_pair()
    returned = machine.join(instance="other").reply.member_id

    machine.restart()

    assert machine.heartbeat(returned, generation, instance="other") == E.NONE
    assert machine.sync(returned, generation, instance="other").reply.assignment == b"O"
