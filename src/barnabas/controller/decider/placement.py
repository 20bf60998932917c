"""Where the replicas of new partitions go.

Brokers of one rack take turns, and so do the racks, from a random start; the next partition starts
one rack further and each rack one broker further.  So leaders and followers spread evenly, a
partition's replicas are on different racks as far as there are racks, and two partitions with the
same leader rarely have the same followers.  A leader is never a broker that is fenced or about to
leave; a follower may be, when there are not enough others.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidReplicationFactor

if TYPE_CHECKING:
    from barnabas.controller.image_types import BrokerImage


class _Turns:
    """Brokers that take turns: every round starts one later than the last."""

    __slots__ = ("_brokers", "_given", "_start")

    def __init__(self, brokers: list[int], start: int) -> None:
        self._brokers = brokers
        self._start = start
        self._given = 0

    def __len__(self) -> int:
        return len(self._brokers)

    def new_round(self) -> None:
        self._start += 1
        self._given = 0

    def shuffle(self, random: Random) -> None:
        random.shuffle(self._brokers)

    def next(self) -> int | None:
        """A broker that was not given in this round; None if all were."""
        if self._given == len(self._brokers):
            return None
        self._given += 1
        return self._brokers[(self._start + self._given - 1) % len(self._brokers)]


class _Rack:
    __slots__ = ("active", "away")

    def __init__(self, brokers: list[BrokerImage], random: Random) -> None:
        ids = sorted(broker.id for broker in brokers if broker.is_active)
        self.active = _Turns(ids, random.randrange(len(ids)) if ids else 0)
        ids = sorted(broker.id for broker in brokers if not broker.is_active)
        self.away = _Turns(ids, random.randrange(len(ids)) if ids else 0)

    def new_round(self) -> None:
        self.active.new_round()
        self.away.new_round()

    def next(self) -> int | None:
        found = self.active.next()
        return self.away.next() if found is None else found


class Placer:
    """Places the partitions of one topic."""

    def __init__(self, brokers: Iterable[BrokerImage], random: Random) -> None:
        by_rack: dict[str, list[BrokerImage]] = {}
        self._someone_leaves = False
        for broker in brokers:
            self._someone_leaves |= not broker.fenced and not broker.is_active
            by_rack.setdefault(broker.rack or "", []).append(broker)
        self._racks = [_Rack(by_rack[name], random) for name in sorted(by_rack)]
        self._random = random
        self._first = random.randrange(len(self._racks)) if self._racks else 0
        self._active = sum(len(rack.active) for rack in self._racks)
        self._total = sum(len(rack.away) for rack in self._racks) + self._active
        self._placed = 0

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of the next partition, the preferred leader first."""
        assert replication_factor > 0, f"replication factor {replication_factor}"
        if replication_factor > self._total:
            raise InvalidReplicationFactor(
                f"The target replication factor of {replication_factor} cannot be reached because "
                f"only {self._total} broker(s) are registered."
            )
        if self._active == 0:
            leaving = " or in controlled shutdown" if self._someone_leaves else ""
            raise InvalidReplicationFactor(f"All brokers are currently fenced{leaving}.")
        if self._placed and self._placed % self._active == 0:
            self._shuffle()
        racks = self._racks[self._first :] + self._racks[: self._first]
        for rack in racks:
            rack.new_round()
        replicas = [self._leader(racks)]
        self._first = (self._first + 1) % len(self._racks)
        self._placed += 1
        turn = 1
        while len(replicas) < replication_factor:
            found = racks[turn % len(racks)].next()
            if found is not None:
                replicas.append(found)
            turn += 1
        return replicas

    def _leader(self, racks: list[_Rack]) -> int:
        """The first active broker, whose rack comes to the front and so last for followers."""
        for index, rack in enumerate(racks):
            found = rack.active.next()
            if found is not None:
                racks[:] = racks[index:] + racks[:index]
                return found
        raise AssertionError("there is an active broker")

    def _shuffle(self) -> None:
        """As many partitions as brokers were placed: go on in another order."""
        self._random.shuffle(self._racks)
        for rack in self._racks:
            rack.active.shuffle(self._random)
            rack.away.shuffle(self._random)
