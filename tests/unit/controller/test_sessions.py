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
    assert sessions.expired(2_000) == [2, 1], "silent longest first"


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


def test_after_a_pause_of_the_controller_every_broker_gets_its_time_again() -> None:
    sessions = BrokerSessions(9_000)
    sessions.touch(1, 0)

    assert sessions.expired(4_000) == []
    assert sessions.expired(60_000) == [], "nobody was listening for 56 seconds"
    assert sessions.expired(63_000) == []
    assert sessions.expired(66_000) == []
    assert sessions.expired(69_000) == [1]


def test_a_clock_that_is_set_back_does_not_keep_a_silent_broker_alive() -> None:
    sessions = BrokerSessions(9_000)
    sessions.touch(1, 10_000_000)
    assert sessions.expired(10_001_000) == []

    assert sessions.expired(1_000_000) == []
    for seconds in range(1, 9):
        assert sessions.expired(1_000_000 + seconds * 1_000) == []
    assert sessions.expired(1_009_000) == [1]


def test_what_a_broker_has_applied_never_goes_back() -> None:
    sessions = BrokerSessions(100)
    sessions.touch(1, 0)
    assert sessions.metadata_offset(1) == -1
    sessions.touch(1, 1, metadata_offset=7)
    sessions.touch(1, 2, metadata_offset=5)
    assert sessions.metadata_offset(1) == 7
    sessions.saw(1, 8)
    sessions.saw(2, 8)
    assert sessions.metadata_offset(1) == 8
    assert not sessions.is_live(1, 102), "what it fetches is not what it says"
    assert sessions.metadata_offset(2) > 10**18, "a broker beside the controller sees everything"


def test_a_broker_leaves_since_the_first_time_it_was_said_until_it_is_forgotten() -> None:
    sessions = BrokerSessions(100)
    sessions.start_leaving(1, 7)
    sessions.start_leaving(1, 9)
    assert sessions.leaving_since(1) == 7
    sessions.forget(1)
    assert sessions.leaving_since(1) is None


def test_a_broker_beside_the_controller_needs_no_heartbeats() -> None:
    sessions = BrokerSessions(100)
    sessions.stays(1)
    assert sessions.is_live(1, 10_000_000)
    assert sessions.expired(10_000_000) == []
    sessions.forget(1)
    assert not sessions.is_live(1, 0)
