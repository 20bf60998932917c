"""Looks and marks, and what they add up to."""

from __future__ import annotations

from barnabas.lab.timeline.model import Look, PartitionLook, Span, Timeline, spans


def test_replicated_is_what_every_replica_in_sync_has() -> None:
    look = PartitionLook(leader=1, replicas=(1, 2, 3), isr=(1, 2), ends={1: 50, 2: 40, 3: 10})

    assert look.replicated == 40


def test_replicated_is_not_known_while_a_replica_in_sync_cannot_be_asked() -> None:
    assert PartitionLook(leader=1, replicas=(1, 2), isr=(1, 2), ends={1: 50}).replicated is None
    assert PartitionLook(leader=None).replicated is None


def test_equal_values_that_follow_each_other_are_one_span() -> None:
    timeline = Timeline(looks=[Look(at=float(at)) for at in range(5)])

    assert list(spans(timeline, ["a", "a", "b", "b", "a"])) == [
        Span(0.0, 2.0, "a"),
        Span(2.0, 4.0, "b"),
        Span(4.0, 4.0, "a"),
    ]
    assert list(spans(Timeline(), [])) == []


def test_the_look_at_a_moment_is_the_last_one_before_it() -> None:
    timeline = Timeline(looks=[Look(at=1.0, sent=1), Look(at=2.0, sent=2)])

    assert timeline.at(0.5) is None
    assert timeline.at(1.9) == timeline.looks[0]
    assert timeline.at(99) == timeline.looks[1]
