"""What the leader of a partition knows of its followers: who has what, who is in sync.

Pure: time (monotonic seconds) is an argument.  One `Followers` lives as long as one leader epoch on
one broker.  A follower tells by its fetch offset that it has everything below; nothing else is
believed.

Two in-sync sets are told apart.  `isr` is what the controller has committed: `min.insync.replicas`
goes by it.  `maximal_isr` has those too that are about to join: from the moment the controller may
have let them in they could be elected, so the high watermark waits for them.  One change is under
way at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.base.errors import NotLeader, UnknownLeaderEpoch

UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1
LONG_AGO = float("-inf")

Eligible = Callable[[int, int], bool]
"""Whether a broker (by id and epoch) may be in sync now: registered as such, neither fenced nor
about to stop."""


class Follower:
    """One follower, as its fetches have shown it."""

    __slots__ = (
        "broker_epoch",
        "caught_up_at",
        "end_offset",
        "fetched_at",
        "leader_end_at_fetch",
        "node_id",
        "start_offset",
        "told_high_watermark",
    )

    def __init__(self, node_id: int, *, caught_up_at: float) -> None:
        self.node_id = node_id
        self.end_offset = UNKNOWN_OFFSET
        self.start_offset = UNKNOWN_OFFSET
        self.broker_epoch = UNKNOWN_EPOCH
        self.caught_up_at = caught_up_at
        """The last time at which it had all that the leader had then."""
        self.fetched_at = LONG_AGO
        self.leader_end_at_fetch = UNKNOWN_OFFSET
        self.told_high_watermark = UNKNOWN_OFFSET

    def fetched(self, offset: int, leader_end: int, now: float) -> None:
        """It asks for `offset` while the leader's log ends at `leader_end`.

        Having reached what the leader had at the fetch before counts as being caught up then: a
        follower of a busy leader never sees its very end.
        """
        if offset >= leader_end:
            self.caught_up_at = now
        elif offset >= self.leader_end_at_fetch:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.end_offset = offset
        self.fetched_at = now
        self.leader_end_at_fetch = leader_end

    def is_caught_up(self, leader_end: int, now: float, lag_s: float) -> bool:
        return self.end_offset == leader_end or now - self.caught_up_at <= lag_s


class Followers:
    """All followers of one partition, on its leader.  Loop thread only."""

    __slots__ = (
        "_eligible",
        "_lag_s",
        "_node_id",
        "by_id",
        "epoch_start",
        "isr",
        "maximal_isr",
        "pending_isr",
    )

    def __init__(
        self,
        node_id: int,
        *,
        replicas: Iterable[int],
        isr: tuple[int, ...],
        epoch_start: int,
        lag_s: float,
        eligible: Eligible,
        now: float,
    ) -> None:
        self._node_id = node_id
        self._lag_s = lag_s
        self._eligible = eligible
        self.epoch_start = epoch_start
        """Where the leader's log ended when its epoch began."""
        self.by_id: dict[int, Follower] = {}
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.pending_isr: tuple[int, ...] | None = None
        """What the controller was asked for and has not answered."""
        self.commit(replicas, isr, now)

    def commit(self, replicas: Iterable[int], isr: tuple[int, ...], now: float) -> None:
        """The metadata says so: replicas and in-sync set, in the same leader epoch.

        Whoever has just come into the in-sync set has `replica.lag.time.max.ms` to prove itself.
        """
        known, self.by_id = self.by_id, {}
        for node_id in replicas:
            if node_id == self._node_id:
                continue
            follower = known.get(node_id)
            if follower is None:
                follower = Follower(node_id, caught_up_at=now if node_id in isr else LONG_AGO)
            elif node_id in isr and node_id not in self.isr:
                follower.caught_up_at = max(follower.caught_up_at, follower.fetched_at)
            self.by_id[node_id] = follower
        self.isr = self.maximal_isr = isr
        self.pending_isr = None

    def fetched(
        self,
        node_id: int,
        *,
        offset: int,
        start_offset: int,
        broker_epoch: int,
        leader_end: int,
        now: float,
    ) -> Follower:
        """A follower fetched from `offset`, so it has everything below.

        UnknownLeaderEpoch: it believes that it is a replica, and we have not heard of that.
        NotLeader: the fetch was sent by an earlier life of that broker.
        """
        follower = self.by_id.get(node_id)
        if follower is None:
            raise UnknownLeaderEpoch(f"broker {node_id} is not known to be a replica")
        if broker_epoch < follower.broker_epoch and broker_epoch != UNKNOWN_EPOCH:
            raise NotLeader(f"broker {node_id} has started again since it sent this fetch")
        follower.broker_epoch = broker_epoch
        follower.start_offset = start_offset
        follower.fetched(offset, leader_end, now)
        return follower

    # The high watermark.

    def high_watermark(self, leader_end: int, now: float) -> int:
        """What every replica has that is in sync, may be soon, or is close enough to become so.

        Those that are close count although nobody's promise depends on them: if the watermark ran
        ahead of them they could never reach it under load, and never join.
        """
        lowest = leader_end
        for follower in self.by_id.values():
            if follower.end_offset < lowest and (
                follower.node_id in self.maximal_isr or self._is_close(follower, leader_end, now)
            ):
                lowest = follower.end_offset
        return lowest

    def _is_close(self, follower: Follower, leader_end: int, now: float) -> bool:
        return follower.is_caught_up(leader_end, now, self._lag_s) and self._eligible(
            follower.node_id, follower.broker_epoch
        )

    def low_watermark(self, leader_start: int, is_alive: Callable[[int], bool]) -> int:
        """Where the log begins on every replica that is alive."""
        starts = [f.start_offset for f in self.by_id.values() if is_alive(f.node_id)]
        return min(leader_start, *starts) if starts else leader_start

    # The in-sync set.

    def may_join(self, follower: Follower, high_watermark: int) -> bool:
        """Whether it has all that is committed, also by the leaders before this one."""
        return (
            self.pending_isr is None
            and follower.node_id not in self.isr
            and follower.end_offset >= max(high_watermark, self.epoch_start)
            and self._eligible(follower.node_id, follower.broker_epoch)
        )

    def ask_to_add(self, follower: Follower) -> None:
        """The controller is asked: from now on the high watermark waits for it."""
        assert self.pending_isr is None, "one change at a time"
        self.pending_isr = self.maximal_isr = (*self.isr, follower.node_id)

    def lagging(self, leader_end: int, now: float) -> tuple[int, ...]:
        """In-sync followers that have not been caught up for too long; none while a change is
        under way."""
        if self.pending_isr is not None:
            return ()
        return tuple(
            node_id
            for node_id in self.isr
            if (follower := self.by_id.get(node_id)) is not None
            and not follower.is_caught_up(leader_end, now, self._lag_s)
        )

    @property
    def may_resign(self) -> bool:
        """Whether somebody else could lead at once."""
        return self.pending_isr is None and len(self.isr) > 1

    def ask_to_remove(self, node_ids: tuple[int, ...]) -> None:
        """The controller is asked.  Until it answers they count: they may still be elected."""
        assert self.pending_isr is None, "one change at a time"
        self.pending_isr = tuple(each for each in self.isr if each not in node_ids)

    def refused(self) -> None:
        """The controller did not make the change, and will not."""
        self.pending_isr = None
        self.maximal_isr = self.isr

    def broker_epoch(self, node_id: int) -> int:
        """In which life of that broker its last fetch was sent; -1 if there was none."""
        follower = self.by_id.get(node_id)
        return UNKNOWN_EPOCH if follower is None else follower.broker_epoch
