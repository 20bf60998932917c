"""What a leader makes of its followers' fetches: watermark, who may join, who must leave."""

from __future__ import annotations

import pytest

from barnabas.base.errors import NotLeader, UnknownLeaderEpoch
from barnabas.replication.followers import Follower, Followers

LEADER, A, B = 1, 2, 3
LAG_S = 30.0


class World:
    """Followers of a leader whose log ends at `end`."""

    def __init__(
        self, isr: tuple[int, ...] = (LEADER, A, B), *, epoch_start: int = 0, end: int = 100
    ) -> None:
        self.ineligible: set[int] = set()
        self.now = 0.0
        self.end = end
        self.followers = Followers(
            LEADER,
            replicas=(LEADER, A, B),
            isr=isr,
            epoch_start=epoch_start,
            lag_s=LAG_S,
            eligible=lambda node_id, epoch: node_id not in self.ineligible,
            now=self.now,
        )

    def fetched(self, node_id: int, offset: int, *, epoch: int = 7) -> Follower:
        return self.followers.fetched(
            node_id,
            offset=offset,
            start_offset=0,
            broker_epoch=epoch,
            leader_end=self.end,
            now=self.now,
        )

    @property
    def high_watermark(self) -> int:
        return self.followers.high_watermark(self.end, self.now)


def test_the_watermark_is_the_least_that_an_in_sync_replica_has() -> None:
    world = World()
    world.fetched(A, 90)
    assert world.high_watermark == -1  # nothing is known of B

    world.fetched(B, 70)
    assert world.high_watermark == 70
    world.fetched(B, 100)
    assert world.high_watermark == 90


def test_one_that_is_far_behind_and_not_in_sync_holds_nothing_up() -> None:
    world = World(isr=(LEADER, A))
    world.fetched(A, 100)
    world.fetched(B, 3)

    assert world.high_watermark == 100


def test_one_that_is_about_to_catch_up_holds_the_watermark_back_so_that_it_can_join() -> None:
    world = World(isr=(LEADER,), end=50)
    world.fetched(A, 50)
    world.end = 60

    assert world.high_watermark == 50
    world.ineligible.add(A)
    assert world.high_watermark == 60


def test_from_being_asked_for_until_refused_a_new_member_counts_for_the_watermark() -> None:
    world = World(isr=(LEADER, A))
    world.fetched(A, 100)
    b = world.fetched(B, 100)
    world.followers.ask_to_add(b)
    world.now = 1000.0  # B is long silent
    world.end = 110
    world.fetched(A, 110)

    assert world.high_watermark == 100
    world.followers.refused()
    assert world.high_watermark == 110


def test_from_being_asked_for_until_committed_a_lagging_member_still_counts() -> None:
    world = World()
    world.fetched(A, 100)
    world.fetched(B, 40)
    world.followers.ask_to_remove((B,))
    world.now = 1000.0
    world.fetched(A, 100)

    assert world.high_watermark == 40
    world.followers.commit((LEADER, A, B), (LEADER, A), world.now)
    assert world.high_watermark == 100


@pytest.mark.parametrize(
    ("offset", "may"), [(99, False), (100, True)], ids=["below the watermark", "at it"]
)
def test_who_has_reached_the_watermark_may_join(offset: int, may: bool) -> None:
    world = World(isr=(LEADER, A), end=200)

    assert world.followers.may_join(world.fetched(B, offset), 100) is may


def test_nobody_joins_before_it_has_what_earlier_leaders_left() -> None:
    """The watermark of a new leader may be behind what was acknowledged before."""
    world = World(isr=(LEADER, A), epoch_start=150, end=200)

    assert not world.followers.may_join(world.fetched(B, 149), 100)
    assert world.followers.may_join(world.fetched(B, 150), 100)


def test_a_fenced_broker_does_not_join() -> None:
    world = World(isr=(LEADER, A))
    world.ineligible.add(B)

    assert not world.followers.may_join(world.fetched(B, 100), 100)


def test_there_is_one_change_at_a_time() -> None:
    world = World(isr=(LEADER, A))
    world.followers.ask_to_add(world.fetched(B, 100))
    world.now = 1000.0

    assert world.followers.lagging(200, world.now) == ()
    assert not world.followers.may_join(world.fetched(B, 100), 100)
    with pytest.raises(AssertionError):
        world.followers.ask_to_remove((A,))


def test_a_follower_that_never_fetches_is_out_after_the_lag_time() -> None:
    world = World()

    assert world.followers.lagging(100, LAG_S) == ()
    assert world.followers.lagging(100, LAG_S + 0.001) == (A, B)


def test_a_follower_of_an_idle_leader_stays_however_long_nothing_happens() -> None:
    world = World()
    world.fetched(A, 100)
    world.fetched(B, 100)

    assert world.followers.lagging(100, 1e6) == ()


def test_one_that_always_reaches_what_the_leader_had_is_in_sync_though_never_at_the_end() -> None:
    world = World()
    for step in range(20):
        world.now = step * 10.0
        world.fetched(A, world.end)
        world.fetched(B, world.end - 10)
        world.end += 10

    assert world.followers.lagging(world.end, world.now) == ()


def test_one_that_falls_further_behind_with_each_fetch_is_out() -> None:
    world = World()
    for step in range(20):
        world.now = step * 10.0
        world.fetched(A, world.end)
        world.fetched(B, step)
        world.end += 10

    assert world.followers.lagging(world.end, world.now) == (B,)


def test_strangers_and_ghosts_are_not_believed() -> None:
    world = World()
    world.fetched(A, 50, epoch=8)

    with pytest.raises(UnknownLeaderEpoch):
        world.fetched(9, 50)
    with pytest.raises(NotLeader, match="started again"):
        world.fetched(A, 90, epoch=7)
    assert world.followers.by_id[A].end_offset == 50
    world.fetched(A, 90, epoch=-1)  # one that does not say is believed
    assert world.followers.by_id[A].end_offset == 90


def test_a_new_in_sync_set_keeps_what_is_known_of_those_who_stay() -> None:
    world = World()
    world.fetched(A, 90)
    world.fetched(B, 80)

    world.followers.commit((LEADER, A, 4), (LEADER, A), 5.0)

    assert world.followers.by_id[A].end_offset == 90
    assert set(world.followers.by_id) == {A, 4}
    assert world.followers.by_id[4].end_offset == -1


def test_the_low_watermark_is_that_of_the_brokers_that_are_alive() -> None:
    world = World()
    for node_id, start in ((A, 10), (B, 5)):
        world.followers.fetched(
            node_id, offset=90, start_offset=start, broker_epoch=7, leader_end=100, now=0.0
        )

    assert world.followers.low_watermark(20, lambda node_id: True) == 5
    assert world.followers.low_watermark(20, lambda node_id: node_id == A) == 10
    assert world.followers.low_watermark(20, lambda node_id: False) == 20
