"""A short form of `make soak`'s fuzz run."""

from __future__ import annotations

from pathlib import Path

import bad_frames
from barnabas_process import BarnabasProcess
from broker_facts import advertised, create_topics


def test_malformed_frames_close_only_their_own_connection(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path / "data") as broker:
        create_topics(broker.bootstrap, bad_frames.BYSTANDER, bad_frames.VICTIM)

        tally = bad_frames.attack(
            broker.port, versions=advertised(broker.port), count=10_000, seed=11
        )
        log = broker.stop()

    assert tally.frames == 10_000
    assert tally.closed > 3_000  # most are refused
    assert tally.answered > 500  # some changed bytes still make a request
    assert "Traceback" not in log
