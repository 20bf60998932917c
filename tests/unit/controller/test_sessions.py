from __future__ import annotations

from barnabas.controller.sessions import BrokerSessions


def test_a_session_ends_when_nothing_was_heard_for_the_timeout() -> None:
    sessions = BrokerSessions(100)
    sessions.touch(2, 1_000)
    sessions.touch(1, 1_050)

    assert sessions.is_live(2, 1_099)
    assert not sessions.is_live(2, 1_100)
    assert sessions.expired(1_099) == []
    assert sessions.expired(1_100) == [2]
    assert sessions.expired(2_000) == [1, 2]


def test_a_broker_that_is_heard_of_again_stays() -> None:
    sessions = BrokerSessions(100)
    sessions.touch(1, 0)
    sessions.touch(1, 90)
    assert sessions.expired(150) == []


def test_a_forgotten_broker_has_no_session_to_lose() -> None:
    sessions = BrokerSessions(100)
    sessions.touch(1, 0)
    sessions.forget(1)
    sessions.forget(1)
    assert not sessions.is_live(1, 0)
    assert sessions.expired(500) == []
