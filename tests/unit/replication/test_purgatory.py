from __future__ import annotations

from barnabas.replication.purgatory import Parked, Purgatory


class Lane:
    def __init__(self) -> None:
        self.waiters: dict[Parked, None] = {}


class Wait:
    """A request that is content once `enough` is set, and remembers how it was answered."""

    def __init__(self) -> None:
        self.enough = False
        self.answers: list[str] = []

    def __call__(self, expired: bool) -> bool:
        if self.enough or expired:
            self.answers.append("expired" if expired else "enough")
            return True
        return False


def test_a_touched_partition_answers_only_those_that_have_enough() -> None:
    lane, patient, eager, purgatory = Lane(), Wait(), Wait(), Purgatory()
    eager.enough = True
    purgatory.park(Parked(patient, [lane], 10.0))
    purgatory.park(Parked(eager, [lane], 10.0))

    purgatory.touched(lane)

    assert (eager.answers, patient.answers) == (["enough"], [])
    assert len(purgatory) == 1
    assert len(lane.waiters) == 1


def test_an_answered_request_is_forgotten_by_every_partition_it_watched() -> None:
    one, two, wait, purgatory = Lane(), Lane(), Wait(), Purgatory()
    wait.enough = True
    purgatory.park(Parked(wait, [one, two], 10.0))

    purgatory.touched(one)
    purgatory.touched(two)

    assert wait.answers == ["enough"]
    assert not two.waiters


def test_who_waits_for_many_partitions_that_move_together_is_tried_once() -> None:
    lanes, purgatory, tries = [Lane() for _ in range(1000)], Purgatory(), []

    def attempt(expired: bool) -> bool:
        tries.append(expired)
        return False

    purgatory.park(Parked(attempt, lanes, 10.0))

    purgatory.touched(*lanes)

    assert tries == [False]


def test_expiry_answers_in_deadline_order_and_no_earlier() -> None:
    lane, late, soon, purgatory = Lane(), Wait(), Wait(), Purgatory()
    purgatory.park(Parked(late, [lane], 2.0))
    purgatory.park(Parked(soon, [lane], 1.0))

    assert purgatory.next_deadline() == 1.0
    purgatory.expire(1.5)
    assert (soon.answers, late.answers) == (["expired"], [])
    assert purgatory.next_deadline() == 2.0
    purgatory.expire(2.0)
    assert late.answers == ["expired"]
    assert purgatory.next_deadline() is None


def test_an_abandoned_request_is_never_answered() -> None:
    lane, wait, purgatory = Lane(), Wait(), Purgatory()
    parked = Parked(wait, [lane], 1.0)
    purgatory.park(parked)

    purgatory.forget(parked)
    purgatory.touched(lane)
    purgatory.expire(5.0)

    assert wait.answers == []
    assert purgatory.next_deadline() is None


def test_answered_requests_do_not_pile_up_until_their_deadline() -> None:
    lane, purgatory = Lane(), Purgatory()
    for _ in range(10_000):
        wait = Wait()
        wait.enough = True
        purgatory.park(Parked(wait, [lane], 1e9))
        purgatory.touched(lane)

    assert len(purgatory._deadlines) <= 65
