"""What waits for the controller: how much, and in which order it is taken."""

from __future__ import annotations

from barnabas.controller.work_queue import Work, WorkQueue


def work(*, urgent: object = None, is_own: bool = False) -> Work:
    def never(*_: object) -> None:
        raise AssertionError("a queue decides nothing")

    return Work(decide=never, refuse=never, done=never, urgent=urgent, is_own=is_own)  # type: ignore[arg-type]


def test_a_group_is_all_that_is_urgent_and_as_many_others_as_there_is_place_for() -> None:
    queue = WorkQueue(group_max=3)
    others = [work() for _ in range(4)]
    urgent = [work(urgent=key) for key in "ab"]
    for one in [*others, *urgent]:
        assert queue.put(one) is None
    assert len(queue) == 6
    assert queue.take() == [*urgent, others[0]]
    assert queue.take() == others[1:]
    assert queue.take() == []


def test_what_is_urgent_is_taken_whole_however_much_it_is() -> None:
    queue = WorkQueue(group_max=2)
    urgent = [work(urgent=key) for key in "abcd"]
    for one in urgent:
        queue.put(one)
    queue.put(other := work())
    assert queue.take() == urgent
    assert queue.take() == [other]


def test_what_is_urgent_takes_the_place_of_the_same() -> None:
    queue = WorkQueue()
    first, other, again = work(urgent="a"), work(urgent="b"), work(urgent="a")
    queue.put(first)
    queue.put(other)
    assert queue.put(again) is first
    assert queue.take() == [again, other]


def test_beyond_the_bound_there_is_a_place_only_for_the_controllers_own() -> None:
    queue = WorkQueue(waiting_max=2)
    for key in ("a", "b", None, None):
        assert queue.put(work(urgent=key)) is None
    for key in ("c", None):
        one_more, own = work(urgent=key), work(urgent=key, is_own=True)
        assert queue.put(one_more) is one_more
        assert queue.put(own) is None
    assert len(queue) == 6
    assert queue.put(again := work(urgent="a")) is not again, "it needs no place of its own"
    assert len(queue.take_all()) == 6
    assert len(queue) == 0
