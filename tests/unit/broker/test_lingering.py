"""How long changes of groups are gathered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.broker.lingering import ADAPTIVE, PATIENCE_S, Lingering


class HandDriven:
    """A loop whose turns and time are taken by hand."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.time = 100.0

    def call_soon(self, callback: Callable[[], None], /) -> None:
        self.soon.append(callback)

    def call_later(self, delay: float, callback: Callable[[], None], /) -> None:
        self.later.append((delay, callback))

    def turn(self) -> None:
        calls, self.soon = self.soon, []
        for call in calls:
            call()


@pytest.fixture
def loop() -> HandDriven:
    return HandDriven()


@pytest.fixture
def appended() -> list[str]:
    return []


def lingering(loop: HandDriven, linger_ms: int) -> Lingering:
    return Lingering(linger_ms, loop=loop, now=lambda: loop.time, at_turn_end=lambda call: call())


def test_a_commit_that_comes_alone_is_appended_in_its_own_turn(
    loop: HandDriven, appended: list[str]
) -> None:
    changes = lingering(loop, ADAPTIVE)
    changes.requests += 1
    changes.begin(lambda: appended.append("batch"))
    assert not appended
    loop.turn()
    assert appended == ["batch"]
    assert not loop.soon


def test_the_batch_is_kept_open_while_every_look_brings_requests(
    loop: HandDriven, appended: list[str]
) -> None:
    changes = lingering(loop, ADAPTIVE)
    changes.requests += 1
    changes.begin(lambda: appended.append("batch"))
    for _ in range(20):
        changes.requests += 1
        loop.turn()
        assert not appended
    loop.turn()
    assert appended == ["batch"]


def test_nobody_waits_longer_than_the_patience(loop: HandDriven, appended: list[str]) -> None:
    changes = lingering(loop, ADAPTIVE)
    changes.requests += 1
    changes.begin(lambda: appended.append("batch"))
    loop.time += PATIENCE_S
    changes.requests += 1
    loop.turn()
    assert appended == ["batch"]


def test_after_one_batch_comes_another(loop: HandDriven, appended: list[str]) -> None:
    changes = lingering(loop, ADAPTIVE)
    for number in ("first", "second"):
        changes.requests += 1
        changes.begin(lambda number=number: appended.append(number))  # type: ignore[misc]
        loop.turn()
    assert appended == ["first", "second"]


def test_with_zero_it_is_the_end_of_the_turn_whatever_comes(
    loop: HandDriven, appended: list[str]
) -> None:
    changes = lingering(loop, 0)
    changes.requests += 1
    changes.begin(lambda: appended.append("batch"))
    assert appended == ["batch"]
    assert not loop.soon
    assert not loop.later


def test_a_time_in_milliseconds_is_waited_for(loop: HandDriven, appended: list[str]) -> None:
    changes = lingering(loop, 10)
    changes.begin(lambda: appended.append("batch"))
    changes.requests += 1
    ((delay, call),) = loop.later
    assert (delay, appended) == (0.01, [])
    call()
    assert appended == ["batch"]
