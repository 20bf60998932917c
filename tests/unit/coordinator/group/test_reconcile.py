"""One step of a member towards its target."""

from __future__ import annotations

import pytest

from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.consumer.reconcile import Situation, reconcile
from barnabas.coordinator.group.records import Partitions

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = MemberState.STABLE, MemberState.UNREVOKED, MemberState.UNRELEASED


def parts(**topics: set[int]) -> Partitions:
    return {{"t": T, "u": U}[name]: frozenset(indexes) for name, indexes in topics.items()}


def member(
    state: MemberState = STABLE,
    epoch: int = 1,
    assigned: Partitions | None = None,
    revoking: Partitions | None = None,
) -> Member:
    return Member(
        member_id="m",
        state=state,
        epoch=epoch,
        previous_epoch=epoch,
        assigned=assigned or {},
        revoking=revoking or {},
    )


def step(
    before: Member,
    *,
    target: Partitions,
    epoch: int = 2,
    owned: Partitions | None = None,
    others: set[tuple[bytes, int]] = frozenset(),  # type: ignore[assignment]
    subscribed: frozenset[bytes] = frozenset({T, U}),
    changed: bool = False,
) -> Member:
    owners = dict.fromkeys(others, "other")
    for partitions in (before.assigned, before.revoking):
        owners |= {(t, i): "m" for t, indexes in partitions.items() for i in indexes}
    return reconcile(
        before,
        Situation(
            target_epoch=epoch,
            target=target,
            subscribed=subscribed,
            owned=owned,
            owners=owners,
            subscription_changed=changed,
        ),
    )


def test_a_member_at_the_target_stays_the_same_object() -> None:
    before = member(epoch=2, assigned=parts(t={0}))

    assert step(before, target=parts(t={0})) is before


def test_free_partitions_are_taken_at_once_with_the_epoch() -> None:
    after = step(member(), target=parts(t={0, 1}))

    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 2, 1)
    assert after.assigned == parts(t={0, 1})


def test_giving_up_comes_first_and_keeps_the_epoch() -> None:
    after = step(member(assigned=parts(t={0, 1})), target=parts(t={0, 2}))

    assert (after.state, after.epoch) == (UNREVOKED, 1)
    assert (after.assigned, after.revoking) == (parts(t={0}), parts(t={1}))


def test_what_a_member_does_not_have_need_not_be_given_up() -> None:
    after = step(member(assigned=parts(t={0, 1})), target=parts(t={0}), owned=parts(t={0}))

    assert (after.state, after.epoch, after.assigned) == (STABLE, 2, parts(t={0}))


@pytest.mark.parametrize(
    ("owned", "state"),
    [(None, UNREVOKED), (parts(t={0, 1}), UNREVOKED), (parts(t={0}), STABLE), ({}, STABLE)],
)
def test_a_member_moves_on_when_it_says_that_it_has_given_up(
    owned: Partitions | None, state: MemberState
) -> None:
    before = member(UNREVOKED, assigned=parts(t={0}), revoking=parts(t={1}))

    after = step(before, target=parts(t={0}), owned=owned)

    assert after.state is state
    assert (after is before) == (state is UNREVOKED)


def test_partitions_of_others_are_waited_for_at_the_new_epoch() -> None:
    after = step(member(), target=parts(t={0, 1}), others={(T, 1)})

    assert (after.state, after.epoch, after.assigned) == (UNRELEASED, 2, parts(t={0}))


def test_waiting_ends_when_the_others_have_given_up() -> None:
    before = member(UNRELEASED, epoch=2, assigned=parts(t={0}))

    assert step(before, target=parts(t={0, 1}), others={(T, 1)}) == before
    after = step(before, target=parts(t={0, 1}))
    assert (after.state, after.assigned) == (STABLE, parts(t={0, 1}))


def test_a_partition_that_comes_back_before_it_was_given_up_is_kept() -> None:
    before = member(UNREVOKED, assigned=parts(t={0}), revoking=parts(t={1}))

    after = step(before, target=parts(t={0, 1}), owned=parts(t={0}))

    assert (after.state, after.assigned, after.revoking) == (STABLE, parts(t={0, 1}), {})


def test_a_member_that_keeps_what_it_has_only_gets_the_new_epoch() -> None:
    before = member(assigned=parts(t={0, 1}, u={2}))

    after = step(before, target=parts(u={2}, t={0, 1}))

    assert after == before._replace(epoch=2, previous_epoch=1)


def test_topics_that_are_not_read_any_more_are_given_up_whatever_the_target_says() -> None:
    after = step(
        member(assigned=parts(t={0}, u={0})),
        target=parts(t={0}, u={0}),
        subscribed=frozenset({T}),
    )

    assert (after.state, after.revoking) == (UNREVOKED, parts(u={0}))


def test_a_subscription_that_shrinks_does_not_wait_for_the_next_target() -> None:
    before = member(epoch=2, assigned=parts(t={0}, u={0}))
    only_t = frozenset({T})

    after = step(before, target=before.assigned, subscribed=only_t, changed=True)
    assert (after.state, after.epoch, after.revoking) == (UNREVOKED, 2, parts(u={0}))

    at_once = step(
        before, target=before.assigned, subscribed=only_t, changed=True, owned=parts(t={0})
    )
    assert (at_once.state, at_once.assigned, at_once.revoking) == (STABLE, parts(t={0}), {})


def test_what_is_to_be_given_up_adds_up() -> None:
    before = member(UNREVOKED, assigned=parts(t={0}, u={0}), revoking=parts(t={1}))

    after = step(before, target={}, subscribed=frozenset({T}), changed=True)

    assert after.revoking == parts(t={1}, u={0})
    assert after.assigned == parts(t={0})
