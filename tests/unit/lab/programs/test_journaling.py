"""Journals on disk: written a line at a time, followed while they grow."""

from __future__ import annotations

from pathlib import Path

from barnabas.lab.programs.journaling import Journal, JournalReader, read_journals
from barnabas.lab.verdict.journal import What


def test_a_reader_sees_each_event_once_as_soon_as_it_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "made" / "p.journal"
    reader = JournalReader(path)
    assert reader.new() == []

    with Journal(path, "p") as journal:
        journal.note(What.STARTED, "t")
        assert [event.event for event in reader.new()] == [What.STARTED]
        assert reader.new() == []
        journal.note(What.ACKED, "t", 1, offsets=[4], keys=["é\u2028"])
        (event,) = reader.new()

    assert (event.who, event.partition, event.offsets, event.keys) == ("p", 1, (4,), ("é\u2028",))


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "p.journal"
    path.write_text('{"t":1,"who":"p","eve')
    reader = JournalReader(path)

    assert reader.new() == []
    with path.open("a") as file:
        file.write('nt":"ended"}\n')
    assert [event.event for event in reader.new()] == [What.ENDED]


def test_journals_are_read_together_in_order_of_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text('{"t":3,"who":"a","event":"ended"}\n')
    second.write_text('{"t":1,"who":"b","event":"started"}\n{"t":4,"who":"b","event":"ended"}\n')

    assert [event.t for event in read_journals([first, second])] == [1, 3, 4]


def test_without_a_path_nothing_is_noted() -> None:
    with Journal(None, "p") as journal:
        assert not journal.is_open
        journal.note(What.STARTED)
