"""Groups that change their protocol while they have members (KIP-848, up- and downgrade).

The generation of a classic group and the epoch of a consumer group are one number: it goes on.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, GroupIdNotFound
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, ClassicMember, State
from barnabas.coordinator.group.classic.rebalance import fail_joins, fail_syncs
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import ClassicInfo, Member
from barnabas.coordinator.group.consumer.subscriptions import known_topics
from barnabas.coordinator.group.embedded import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    read_version,
)
from barnabas.coordinator.group.state import CONVERTED, INITIAL, JOIN, SYNC, UNTOLD
from barnabas.protocol.errors import DecodeError

if TYPE_CHECKING:
    from barnabas.coordinator.group.config import GroupConfig
    from barnabas.coordinator.group.outcome import Outcome
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.group.topics import Topics


# Up


def to_consumer(state: GroupState, group: ClassicGroup) -> Draft:
    """The group as a consumer group, with its members as classic members in it.

    GroupIdNotFound if it cannot become one.  Nothing is changed yet: see `end_classic`.
    """
    _check_upgrade(state.config, group)
    group_id = group.group_id
    try:
        members = [_modern(group, member, state.topics) for member in group.members.values()]
    except DecodeError:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group_id} to consumer group because the embedded "
            "consumer protocol is malformed."
        ) from None
    draft = Draft(ConsumerGroup(group_id))
    for member in members:
        draft.put_member(member)
    draft.write(records.consumer_topics(group_id, known_topics(draft.group, state.topics).values()))
    draft.write(records.consumer_epoch(group_id, group.generation))
    for member in members:
        draft.write(records.consumer_target(group_id, member.member_id, member.assigned))
    draft.write(records.consumer_target_epoch(group_id, group.generation))
    for member in members:
        draft.put_current(member)
    return draft


def end_classic(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """The classic group is no more.  Requests of members that wait are answered: they must join
    again, and will find a consumer group that speaks their protocol too.
    """
    fail_joins(group, out, ErrorCode.REBALANCE_IN_PROGRESS)
    fail_syncs(state, group, out, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
    for kind in (INITIAL, JOIN, SYNC):
        state.timers.cancel((kind, group.group_id, ""))
    for member in group.members.values():
        state.touch(group.group_id, member.member_id, member.session_timeout_ms, now_ms)


def _check_upgrade(config: GroupConfig, group: ClassicGroup) -> None:
    reason = ""
    if not config.consumer_migration_policy.allows_upgrade:
        reason = "online upgrade is disabled"
    elif not group.is_consumer:
        reason = "the group does not use the consumer embedded protocol"
    elif len(group.members) > config.consumer_max_size:
        reason = "the group size exceeds the consumer group maximum size"
    if reason:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}."
        )


def _modern(group: ClassicGroup, member: ClassicMember, topics: Topics) -> Member:
    protocol = group.protocol or member.protocols[0][0]
    subscription = decode_subscription(member.metadata(protocol))
    assigned, user_data = decode_assignment(member.assignment, topics)
    if user_data:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group.group_id} to consumer group because an "
            "unsupported custom assignor is in use."
        )
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        names=tuple(sorted(set(subscription.topics))),
        classic=ClassicInfo(
            session_timeout_ms=member.session_timeout_ms, protocols=member.protocols
        ),
        epoch=group.generation,
        previous_epoch=group.generation,
        assigned=assigned,
    )


# Down


def can_downgrade(
    config: GroupConfig, group: ConsumerGroup, leaving: Collection[str], *, joining: int = 0
) -> bool:
    """Whether only classic members are there when `leaving` have gone and as many classic ones as
    `joining` have come, and the group may change.
    """
    if not config.consumer_migration_policy.allows_downgrade:
        return False
    left = 0
    for member_id, member in group.members.items():
        if member_id not in leaving:
            if member.classic is None:
                return False
            left += 1
    return 0 < left + joining <= config.max_size


def to_classic(
    state: GroupState,
    group: ConsumerGroup,
    out: Outcome,
    *,
    leaving: Collection[str] = (),
    written: ConsumerGroup | None = None,
    rebalance: bool,
    now_ms: int,
) -> None:
    """Write the group as a classic one, without those that are `leaving`.

    If `group` is a draft of which nothing is written, `written` is what it was made from.  The
    classic group comes to be in replay; what it has to do then is left to a timer that is due at
    once.

    With `rebalance` members must join: the target, which becomes their assignment, is not for them
    as they are now.  Should that be forgotten in a failure, nobody may go on with it, so it is
    written as a generation that nobody has been told of.
    """
    written = written or group
    members = [m for m in group.members.values() if m.member_id not in leaving]
    classic = ClassicGroup(group.group_id)
    classic.state = State.STABLE
    classic.state_timestamp = now_ms
    classic.generation = group.epoch + 1 if rebalance else group.epoch
    assignments = {}
    for member in members:
        info = member.classic
        assert info is not None, "checked by can_downgrade"
        classic.add(
            ClassicMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=info.session_timeout_ms,
                protocols=info.protocols,
            ),
            PROTOCOL_TYPE,
        )
        assignments[member.member_id] = encode_assignment(
            group.target_of(member.member_id), state.topics, read_version(info.protocols[0][1])
        )
    classic.protocol = classic.select_protocol()
    out.records += written.tombstones()
    out.records.append(records.group_metadata(group.group_id, classic.to_value(assignments)))
    for member in written.members.values():
        state.cancel_member(group.group_id, member.member_id)
    state.timers.set((CONVERTED, group.group_id, UNTOLD if rebalance else ""), now_ms)
