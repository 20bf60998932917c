"""Who leads a partition, who is in sync, who could lead safely: one plan for every kind of change.

Whatever happens to a partition (a broker comes or goes, the leader reports its ISR, replicas are
moved, somebody asks for an election), a decider says what it *wants*, and `plan` works out what
follows, always in this order:

1. a reassignment whose new replicas are all in sync is finished;
2. replicas that drop out of an ISR below the minimum stay *eligible* (KIP-966, when the feature is
   on): they still have every committed record, because below the minimum none is committed;
3. a leader is chosen;
4. the difference between the partition that is and the one that is to be becomes one record.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from barnabas.controller.decider.topic_rules import TopicRules
from barnabas.controller.image_types import (
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    PartitionImage,
    TopicImage,
)
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord

if TYPE_CHECKING:
    from barnabas.controller.decider.decision import Environment
    from barnabas.controller.image import ClusterImage

NOBODY = -1
"""No broker comes or goes."""


class Ballot(enum.Enum):
    """How hard to try for a leader."""

    ONLINE = enum.auto()
    """The leader stays if it can; else somebody who has every committed record."""
    PREFERRED = enum.auto()
    """As above, but the first replica comes first."""
    UNCLEAN = enum.auto()
    """As ONLINE; if nobody has everything, anybody who is there: records may be lost."""


class Elected(NamedTuple):
    """`unclean`: records that were committed may be lost."""

    leader: int
    unclean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted of a partition; None: as it is."""

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    directories: Mapping[int, bytes] | None = None
    """By replica; only of those that change."""
    recovering: bool | None = None
    ballot: Ballot | None = None
    """None: ONLINE, or UNCLEAN where the topic allows it."""
    lost: int = NOBODY
    """A replica that may have lost records it once had: it is not eligible."""


AS_IS = Wish()


class Elections:
    """Plans changes of partitions, on the brokers of `image` as they will be.

    `coming` counts as active although the image does not say so yet; `going` does not, although
    the image still does.
    """

    __slots__ = ("_brokers", "_coming", "_going", "rules")

    def __init__(
        self,
        image: ClusterImage,
        env: Environment,
        *,
        coming: int = NOBODY,
        going: int = NOBODY,
    ) -> None:
        self._brokers = image.brokers
        self._coming = coming
        self._going = going
        self.rules = TopicRules(image, env)

    def plan(
        self, topic: TopicImage, index: int, wish: Wish = AS_IS
    ) -> PartitionChangeRecord | None:
        """The record that brings about `wish` and all that follows; None if nothing changes."""
        old = topic.partitions[index]
        goal = finished(self._wanted(old, wish))
        if self.rules.keeps_eligible:
            goal = with_eligible(
                goal, old, min_isr=self.rules.min_isr(topic, goal.replicas), lost=wish.lost
            )
        elif goal.elr or goal.last_known_elr:
            goal = replace(goal, elr=(), last_known_elr=())
        ballot = wish.ballot
        if ballot is None:
            ballot = Ballot.UNCLEAN if self.rules.allows_unclean(topic) else Ballot.ONLINE
        elected = choose_leader(goal, self._may_lead(goal), ballot)
        goal = with_leader(goal, elected)
        if self.rules.keeps_eligible:
            goal = with_last_leader(goal, old)
        elif not goal.isr:
            goal = replace(goal, isr=old.isr)  # the last one in sync is waited for
        return difference(topic.id, index, old, goal)

    def _wanted(self, old: PartitionImage, wish: Wish) -> PartitionImage:
        replicas, directories = old.replicas, old.directories
        if wish.replicas is not None or wish.directories is not None:
            replicas = old.replicas if wish.replicas is None else wish.replicas
            known = dict(zip(old.replicas, old.directories, strict=True))
            known.update(wish.directories or {})
            directories = tuple(known.get(r) or self._new_directory(r) for r in replicas)
        return replace(
            old,
            isr=old.isr if wish.isr is None else wish.isr,
            replicas=replicas,
            directories=directories,
            adding=old.adding if wish.adding is None else wish.adding,
            removing=old.removing if wish.removing is None else wish.removing,
            recovering=old.recovering if wish.recovering is None else wish.recovering,
        )

    def _new_directory(self, replica: int) -> bytes:
        broker = self._brokers.get(replica)
        return UNASSIGNED_DIRECTORY if broker is None else broker.default_directory()

    def _may_lead(self, partition: PartitionImage) -> Callable[[int], bool]:
        """Whether a replica is there, its log directory included."""
        directories = dict(zip(partition.replicas, partition.directories, strict=True))

        def may_lead(replica: int) -> bool:
            broker = self._brokers.get(replica)
            if broker is None or replica == self._going or replica not in directories:
                return False
            if not broker.is_active and replica != self._coming:
                return False
            return broker.has_directory(directories[replica])

        return may_lead


# The steps of a plan


def finished(goal: PartitionImage) -> PartitionImage:
    """Without the replicas that are to go, once all that are to stay are in sync."""
    if not goal.adding and not goal.removing:
        return goal
    staying = [i for i, r in enumerate(goal.replicas) if r not in goal.removing]
    if not staying or not {goal.replicas[i] for i in staying} <= set(goal.isr):
        return goal
    return replace(
        goal,
        replicas=tuple(goal.replicas[i] for i in staying),
        directories=tuple(goal.directories[i] for i in staying),
        isr=tuple(r for r in goal.isr if r not in goal.removing),
        adding=(),
        removing=(),
    )


def with_eligible(
    goal: PartitionImage, old: PartitionImage, *, min_isr: int, lost: int
) -> PartitionImage:
    """With those that left an ISR which is too small to commit anything since."""
    if len(goal.isr) >= min_isr:
        return replace(goal, elr=())
    safe = {*old.elr, *old.isr} - {*goal.isr, lost}
    return replace(goal, elr=tuple(r for r in goal.replicas if r in safe))


def choose_leader(
    partition: PartitionImage, may_lead: Callable[[int], bool], ballot: Ballot
) -> Elected:
    """Who should lead.  With an empty ISR the eligible replicas count, and if there are none
    either, the last leader: nobody has more than it had."""
    safe = partition.isr or partition.elr
    able = [r for r in partition.replicas if r in safe and may_lead(r)]
    if ballot is Ballot.PREFERRED and able and able[0] == partition.replicas[0]:
        return Elected(able[0])
    if partition.leader in able:
        return Elected(partition.leader)
    if able:
        return Elected(able[0])
    if not safe and len(partition.last_known_elr) == 1 and may_lead(partition.last_known_elr[0]):
        return Elected(partition.last_known_elr[0], unclean=True)
    if ballot is Ballot.UNCLEAN:
        there = [r for r in partition.replicas if may_lead(r)]
        if there:
            return Elected(there[0], unclean=True)
    return Elected(NO_LEADER)


def with_leader(goal: PartitionImage, elected: Elected) -> PartitionImage:
    """A leader from outside the ISR becomes the whole ISR."""
    leader = elected.leader
    if elected.unclean:
        return replace(goal, leader=leader, isr=(leader,), elr=(), recovering=True)
    if leader != NO_LEADER and leader not in goal.isr:
        elr = tuple(r for r in goal.elr if r != leader)
        return replace(goal, leader=leader, isr=(leader,), elr=elr)
    return goal if leader == goal.leader else replace(goal, leader=leader)


def with_last_leader(goal: PartitionImage, old: PartitionImage) -> PartitionImage:
    """Remember who led last when nobody is left in sync; forget it when somebody leads."""
    if goal.leader != NO_LEADER:
        return replace(goal, last_known_elr=())
    if goal.isr:
        return goal
    last = (old.leader,) if old.leader != NO_LEADER else old.isr[:1]
    return replace(goal, last_known_elr=last or old.last_known_elr)


def difference(
    topic_id: bytes, index: int, old: PartitionImage, goal: PartitionImage
) -> PartitionChangeRecord | None:
    """The record that turns `old` into `goal`; None if they are the same.

    Naming a leader, even the same, starts a new leader epoch.  That is also done when a replica is
    taken away: what it still fetches or answers in the old epoch is refused.
    """
    if goal == old:
        return None
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    for name, before, after in (
        ("isr", old.isr, goal.isr),
        ("replicas", old.replicas, goal.replicas),
        ("adding_replicas", old.adding, goal.adding),
        ("removing_replicas", old.removing, goal.removing),
        ("eligible_leader_replicas", old.elr, goal.elr),
        ("last_known_elr", old.last_known_elr, goal.last_known_elr),
    ):
        if before != after:
            setattr(record, name, list(after))
    if old.directories != goal.directories:
        record.directories = list(goal.directories)
    if old.leader != goal.leader or not set(old.replicas) <= set(goal.replicas):
        record.leader = goal.leader
    if old.recovering != goal.recovering:
        record.leader_recovery_state = int(goal.recovering)
    return record


# Brokers that come and go


def broker_goes(
    image: ClusterImage, broker_id: int, env: Environment, *, uncleanly: bool = False
) -> Iterator[PartitionChangeRecord]:
    """What a broker that goes leaves: others lead its partitions, and it is not in sync.

    `uncleanly`: it may have lost records, so it is not eligible to lead either.
    """
    elections = Elections(image, env, going=broker_id)
    lost = broker_id if uncleanly else NOBODY
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if broker_id in partition.isr or (uncleanly and broker_id in partition.elr):
                isr = tuple(r for r in partition.isr if r != broker_id)
                record = elections.plan(topic, index, Wish(isr=isr, lost=lost))
                if record is not None:
                    yield record


def broker_comes(
    image: ClusterImage, broker_id: int, env: Environment
) -> Iterator[PartitionChangeRecord]:
    """What a broker's return does: it leads what had no leader and may be led by it."""
    elections = Elections(image, env, coming=broker_id)
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.leader == NO_LEADER and broker_id in partition.replicas:
                record = elections.plan(topic, index)
                if record is not None:
                    yield record


def directories_fail(
    image: ClusterImage, broker_id: int, failed: frozenset[bytes], env: Environment
) -> Iterator[PartitionChangeRecord]:
    """What is in a log directory that failed is led by others."""
    elections = Elections(image, env, going=broker_id)
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if broker_id not in partition.isr:
                continue
            place = partition.directories[partition.replicas.index(broker_id)]
            if place in failed:
                isr = tuple(r for r in partition.isr if r != broker_id)
                record = elections.plan(topic, index, Wish(isr=isr))
                if record is not None:
                    yield record


def reconsider(
    image: ClusterImage, env: Environment, topics: Iterator[TopicImage] | None = None
) -> Iterator[PartitionChangeRecord]:
    """What partitions without leader, or with eligible replicas, become under today's settings.

    For settings that have changed: a topic that now allows unclean leaders gets them, and what
    was below its minimum may not be any more.
    """
    elections = Elections(image, env)
    for topic in image.topics.values() if topics is None else topics:
        for index, partition in enumerate(topic.partitions):
            if partition.leader == NO_LEADER or partition.elr:
                record = elections.plan(topic, index)
                if record is not None:
                    yield record
