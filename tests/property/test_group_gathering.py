"""Whenever loop turns end, groups do the same: what is gathered is a matter of the log only."""

from __future__ import annotations

from typing import Any

from group_machine import GroupMachine, Pending, topic
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.base.errors import NotEnoughReplicas
from barnabas.coordinator.runtime import Producer
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TOPICS = (topic("t", 3),)
groups = st.sampled_from(["g", "h"])
producers = st.integers(7, 8)
numbers = st.integers(0, 2)

requests = st.one_of(
    st.tuples(st.just("commit"), groups, numbers, numbers),
    st.tuples(st.just("txn"), groups, producers, numbers),
    st.tuples(st.just("end"), groups, producers, numbers),
    st.tuples(st.just("fetch"), groups, numbers, numbers),
    st.tuples(st.just("join"), groups, numbers, numbers),
    st.tuples(st.just("leave"), groups, numbers, numbers),
)
steps = st.one_of(requests, requests, requests, st.sampled_from(["turn", "fail", "time"]))


def request_of(kind: str, group: str, first: int, second: int) -> Any:
    match kind:
        case "commit":
            commit = OffsetCommitRequestPartition(partition_index=first, committed_offset=second)
            return OffsetCommitRequest(
                group_id=group, topics=[OffsetCommitRequestTopic(name="t", partitions=[commit])]
            )
        case "txn":
            part = TxnOffsetCommitRequestPartition(partition_index=second, committed_offset=first)
            return TxnOffsetCommitRequest(
                group_id=group,
                producer_id=first,
                topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
            )
        case "fetch":
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        case _:
            joins = kind == "join"
            return ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=f"m{first}",
                member_epoch=0 if joins else -1,
                rebalance_timeout_ms=60_000 if joins else -1,
                subscribed_topic_names=["t"] if joins else None,
                topic_partitions=[] if joins else None,
            )


def take(machine: GroupMachine, step: tuple[str, str, int, int]) -> Pending:
    kind, _, first, second = step
    if kind != "end":
        return machine.send(request_of(*step))
    pending = Pending()
    machine.runtime.end_transaction(
        0,
        Producer(first, 0),
        committed=second > 0,
        coordinator_epoch=0,
        now_ms=machine.now_ms,
        done=lambda error: pending.replies.append(repr(error)),
    )
    return pending


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, max_size=40))
def test_the_ends_of_turns_change_nothing_but_the_batches(script: list[Any]) -> None:
    gathering, single = GroupMachine(TOPICS, turns=True), GroupMachine(TOPICS)
    told: list[tuple[Pending, Pending]] = []
    for step in script:
        if isinstance(step, tuple):
            told.append((take(gathering, step), take(single, step)))
        elif step == "turn":
            gathering.end_turn()
        elif step == "time":  # no turn lasts as long as a commit may take
            gathering.end_turn()
            gathering.advance(2_000)
            single.advance(2_000)
    gathering.end_turn()

    assert [a.replies for a, _ in told] == [b.replies for _, b in told]
    assert gathering.shard.dump() == single.shard.dump()
    assert gathering.copy_from(gathering.log.batches).dump() == single.shard.dump()
    assert len(gathering.log.batches) <= len(single.log.batches)


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, max_size=40))
def test_everyone_is_told_once_and_the_shard_is_what_the_log_says_however_batches_fail(
    script: list[Any],
) -> None:
    machine = GroupMachine(TOPICS, turns=True)
    told: list[Pending] = []
    for step in script:
        if isinstance(step, tuple):
            told.append(take(machine, step))
        elif step == "turn":
            machine.end_turn()
        elif step == "time":
            machine.advance(2_000)
        else:
            machine.log.refuse = NotEnoughReplicas()
    machine.log.refuse = None
    machine.end_turn()

    assert all(len(pending.replies) == 1 for pending in told), "everyone is told, once"
    assert machine.copy_from(machine.log.batches).dump() == machine.shard.dump()
