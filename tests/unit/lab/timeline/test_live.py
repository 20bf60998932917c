"""The live view where there is no terminal: lines as they come."""

from __future__ import annotations

import io

from barnabas.lab.timeline.live import Recorder
from barnabas.lab.timeline.model import Kind, Look


def test_without_a_terminal_every_mark_is_a_line_and_nothing_is_drawn_over() -> None:
    stream = io.StringIO()
    recorder = Recorder("3.2b  title", stream)
    recorder.mark(Kind.STEP, "brokers 1, 2 are up")
    recorder.look(Look(at=0.1, sent=7))
    recorder.mark(Kind.FAULT, "broker 1 killed")
    recorder.close()

    lines = stream.getvalue().splitlines()
    assert [line[8:] for line in lines] == [
        "\N{MIDDLE DOT} brokers 1, 2 are up",
        "! broker 1 killed",
    ]
    assert "\x1b" not in stream.getvalue()


def test_what_is_not_shown_is_still_recorded() -> None:
    recorder = Recorder("x", None)
    recorder.look(Look(at=0.0, sent=1))
    recorder.mark(Kind.FAULT, "broken")
    recorder.close()

    assert [mark.text for mark in recorder.timeline.marks] == ["broken"]
    assert recorder.timeline.last.sent == 1
