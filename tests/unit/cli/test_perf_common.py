from __future__ import annotations

import gc
import json
import os
import signal

import pytest

from barnabas.cli.command import Terminated
from barnabas.cli.perf_common import Interrupts, Statistics, no_collections


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_an_interrupt_waits_until_it_is_looked_for(
    number: signal.Signals, error: type[BaseException]
) -> None:
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        interrupts.check()
        os.kill(os.getpid(), number)
        with pytest.raises(error):
            interrupts.check()

    assert signal.getsignal(number) is before


def test_garbage_is_looked_for_again_in_the_end() -> None:
    with no_collections():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_fresh_numbers_are_waited_for() -> None:
    statistics = Statistics()
    statistics(json.dumps({"txmsgs": 1}))
    waits: list[float] = []

    def poll(wait_s: float) -> None:
        waits.append(wait_s)
        if len(waits) == 3:
            statistics(json.dumps({"txmsgs": 2}))

    assert statistics.fresh(poll) == {"txmsgs": 2}
    assert len(waits) == 3
    assert statistics.fresh(waits.append) == {"txmsgs": 2}, "none came: the latest"
    assert statistics.config()["stats_cb"] is statistics
