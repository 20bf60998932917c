"""Answers that wait for the high watermark: given in order, once, and in time."""

from __future__ import annotations

from barnabas.base.errors import ErrorCode
from barnabas.replication.held import NEVER, HeldAnswers, hold
from barnabas.replication.purgatory import Purgatory

NONE = ErrorCode.NONE
FAILED = ErrorCode.KAFKA_STORAGE_ERROR
LATE = ErrorCode.REQUEST_TIMED_OUT


class Told:
    """Who was told what, in order."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, ErrorCode]] = []

    def answer(self, number: int) -> Telling:
        return Telling(self, number)

    def take(self) -> list[tuple[int, ErrorCode]]:
        answers, self.answers = self.answers, []
        return answers


class Telling:
    def __init__(self, told: Told, number: int) -> None:
        self._told = told
        self._number = number

    def give(self, code: ErrorCode) -> None:
        self._told.answers.append((self._number, code))


def test_the_watermark_lets_go_of_what_is_below_it() -> None:
    told, held = Told(), HeldAnswers()
    for offset in (0, 4, 9):
        held.add(offset, NEVER, told.answer(offset))

    held.release(4, NONE)
    assert told.take() == [(0, NONE)]
    held.release(5, NONE)
    assert told.take() == [(4, NONE)]
    held.release(100, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert told.take() == [(9, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)]
    assert not held


def test_a_repeated_batch_waits_behind_what_was_sent_before_it() -> None:
    told, held = Told(), HeldAnswers()
    held.add(9, NEVER, told.answer(9))
    held.add(2, NEVER, told.answer(2))

    held.release(5, NONE)
    assert told.take() == []
    held.release(10, NONE)
    assert told.take() == [(9, NONE), (2, NONE)]


def test_a_failed_write_is_told_to_those_whose_batches_it_had_whatever_stands_between() -> None:
    told, held = Told(), HeldAnswers()
    for offset in (5, 6, 1, 7):
        held.add(offset, NEVER, told.answer(offset))

    held.refuse_from(6, FAILED)

    assert told.take() == [(6, FAILED), (7, FAILED)]
    held.release(6, NONE)
    assert told.take() == [(5, NONE), (1, NONE)]


def test_each_waits_as_long_as_its_client_wants_and_no_longer() -> None:
    told, held, produces = Told(), HeldAnswers(), Purgatory()
    for number, deadline in ((0, 30.0), (1, 5.0), (2, 30.0), (3, 10.0)):
        hold(produces, held, number, deadline, told.answer(number))
    assert produces.next_deadline() == 5.0

    produces.expire(4.9)
    assert told.take() == []
    produces.expire(5.0)
    assert told.take() == [(1, LATE)]
    produces.expire(29.9)
    assert told.take() == [(3, LATE)]
    held.release(1, NONE)
    produces.expire(30.0)
    assert told.take() == [(0, NONE), (2, LATE)]
    assert produces.next_deadline() is None


def test_what_is_held_after_all_was_given_is_watched_too() -> None:
    told, held, produces = Told(), HeldAnswers(), Purgatory()
    hold(produces, held, 0, 10.0, told.answer(0))
    held.release(1, NONE)
    hold(produces, held, 1, 12.0, told.answer(1))

    produces.expire(11.0)
    assert told.take() == [(0, NONE)]
    produces.expire(12.0)
    assert told.take() == [(1, LATE)]
