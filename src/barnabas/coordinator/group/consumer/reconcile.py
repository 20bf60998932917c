"""One step of a member towards its target: give up first, then move to the new epoch, then take.

A partition is in one member's hands at a time.  A member keeps its epoch until it has given up what
it must; it takes over a partition only when its former owner has given it up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.base.errors import FencedMemberEpoch
from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.records import NO_PARTITIONS, Partitions


class Situation(NamedTuple):
    """What a step depends on, besides the member."""

    target_epoch: int
    target: Partitions
    subscribed: frozenset[bytes]
    """Ids of the topics that the member reads now; the target may be older."""
    owned: Partitions | None
    """What the member says it has; None: it did not say."""
    owners: Mapping[tuple[bytes, int], str]
    subscription_changed: bool = False


def reconcile(member: Member, situation: Situation) -> Member:
    """The member after the step; the same object if there is none to take."""
    match member.state:
        case MemberState.STABLE:
            if member.epoch != situation.target_epoch:
                return _step(member, situation)
        case MemberState.UNREVOKED:
            if not _still_owns(member.revoking, situation.owned):
                return _step(member, situation)
        case MemberState.UNRELEASED:
            return _step(member, situation)
        case _:
            # Written by a later release: only a member that starts from nothing can go on.
            if situation.owned is None or situation.owned:
                raise FencedMemberEpoch("The member is in an unknown state; it must join again.")
            return _step(member, situation)
    if situation.subscription_changed:
        return _drop_unsubscribed(member, situation)
    return member


def _step(member: Member, situation: Situation) -> Member:
    target = situation.target
    if target == member.assigned and target.keys() <= situation.subscribed:
        return member.moved(  # what most members do: only the epoch is new
            state=MemberState.STABLE,
            epoch=situation.target_epoch,
            assigned=member.assigned,
            revoking=NO_PARTITIONS,
        )
    keep: dict[bytes, frozenset[int]] = {}
    revoke: dict[bytes, frozenset[int]] = {}
    take: dict[bytes, frozenset[int]] = {}
    waits = False
    for topic in {*target, *member.assigned}:
        has = member.assigned.get(topic, frozenset())
        wanted = target.get(topic, frozenset())
        if topic not in situation.subscribed:
            wanted = frozenset()
        if kept := has & wanted:
            keep[topic] = kept
        if given_up := has - wanted:
            revoke[topic] = given_up
        missing = wanted - has
        free = frozenset(
            index
            for index in missing
            if situation.owners.get((topic, index), member.member_id) == member.member_id
        )
        if free:
            take[topic] = free
        waits = waits or len(free) < len(missing)
    if revoke and _still_owns(revoke, situation.owned):
        return member.moved(
            state=MemberState.UNREVOKED, epoch=member.epoch, assigned=keep, revoking=revoke
        )
    for topic, indexes in take.items():
        keep[topic] = keep.get(topic, frozenset()) | indexes
    return member.moved(
        state=MemberState.UNRELEASED if waits else MemberState.STABLE,
        epoch=situation.target_epoch,
        assigned=keep,
        revoking=NO_PARTITIONS,
    )


def _drop_unsubscribed(member: Member, situation: Situation) -> Member:
    """The member reads fewer topics than before: give up the others, whatever the target says."""
    dropped = {t: p for t, p in member.assigned.items() if t not in situation.subscribed}
    if not dropped:
        return member
    keep = {t: p for t, p in member.assigned.items() if t in situation.subscribed}
    revoking = {
        topic: member.revoking.get(topic, frozenset()) | dropped.get(topic, frozenset())
        for topic in {*member.revoking, *dropped}
    }
    if _still_owns(revoking, situation.owned):
        return member.moved(
            state=MemberState.UNREVOKED, epoch=member.epoch, assigned=keep, revoking=revoking
        )
    return member.moved(
        state=member.state, epoch=member.epoch, assigned=keep, revoking=member.revoking
    )


def _still_owns(partitions: Partitions, owned: Partitions | None) -> bool:
    """Whether the member has one of `partitions`; until it says otherwise, it has."""
    if owned is None:
        return True
    return any(not partitions[topic].isdisjoint(owned.get(topic, ())) for topic in partitions)
