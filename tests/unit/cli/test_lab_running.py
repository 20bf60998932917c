"""How the lab's programs are ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from barnabas.cli.lab_running import Stopping, running
from barnabas.lab.programs.options import ProducerOptions
from barnabas.lab.verdict.journal import What


def test_the_first_signal_asks_for_an_end_and_the_second_does_not_wait() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Stopping() as stopping:
        assert not stopping()
        assert stopping.status == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping()
        assert stopping.status == 143
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_program_ends_with_the_run_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_STOP_WITH", str(os.getppid()))
    assert not Stopping()()

    monkeypatch.setenv("BARNABAS_STOP_WITH", str(os.getpid()))  # which is not our parent
    assert Stopping()()


def test_logs_are_where_the_options_say(tmp_path: Path) -> None:
    texts = {"log-dir": str(tmp_path / "p"), "local-id": "4", "journal": str(tmp_path / "j")}
    with running(ProducerOptions.of(texts)) as (stopping, log, journal):
        assert not stopping()
        log.add("t", 0, b"1", b"v")
        journal.note(What.STARTED)

    assert (tmp_path / "p" / "payload-4.log").read_text() == "t,0,1,v\n"
    assert '"who":"producer"' in (tmp_path / "j").read_text()
