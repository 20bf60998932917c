"""A fault counts, is waited for, and is lifted once."""

from __future__ import annotations

import threading

import pytest

from barnabas.lab.faults.fault import Fault


def test_it_is_lifted_once() -> None:
    lifted: list[int] = []
    with Fault("a cut", lambda: lifted.append(1)) as fault:
        assert not fault.is_lifted

    fault.lift()

    assert lifted == [1]
    assert fault.is_lifted


def test_whoever_waits_for_hits_gets_them_from_another_thread() -> None:
    fault = Fault("a cut")
    striking = threading.Thread(target=lambda: (fault.hit(), fault.hit(2)))
    striking.start()

    assert fault.wait_hits(3, timeout_s=60) == 3
    striking.join()


def test_waiting_in_vain_says_for_what() -> None:
    fault = Fault("cut 1 from 2")

    with pytest.raises(TimeoutError, match="cut 1 from 2: 0 hits in 0"):
        fault.wait_hits(timeout_s=0.01)


def test_what_could_not_be_done_is_told_to_whoever_waits() -> None:
    fault = Fault("kill 1")
    fault.fail(RuntimeError("it is gone"))

    with pytest.raises(RuntimeError, match="it is gone"):
        fault.wait_hits()
