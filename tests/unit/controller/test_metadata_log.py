"""The metadata log as brokers read it: whole runs, epochs compared, a bound on what is kept."""

from __future__ import annotations

import pytest

from barnabas.controller import journal_format as fmt
from barnabas.controller.metadata_log import Batches, Diverging, MetadataLog, TooOld
from barnabas.protocol.message import Message
from barnabas.protocol.messages.metadata_records import FeatureLevelRecord
from barnabas.records.batch import iter_headers

ALL = 1 << 30


def record(level: int = 1, name: str = "f") -> Message:
    return FeatureLevelRecord(name=name, feature_level=level)


def log_of(
    *runs: tuple[int, int, int], start: int = 0, epoch: int = 0, kept: int = ALL
) -> MetadataLog:
    """Runs as (records, last offset, epoch)."""
    log = MetadataLog(end_offset=start, epoch=epoch, kept_bytes=kept)
    for count, last_offset, run_epoch in runs:
        records = [record(level) for level in range(count)]
        log.append(records, last_offset=last_offset, epoch=run_epoch, now_ms=7)
    return log


def runs_in(found: object) -> list[tuple[int, int, int]]:
    """Number of records, last offset and epoch of each run."""
    assert isinstance(found, Batches)
    reader = fmt.RunReader()
    return [
        (len(run.records), run.last_offset, run.epoch)
        for position, header in iter_headers(found.data)
        for run in reader.read(found.data[position : position + header.size_bytes], header)
    ]


def test_a_reader_gets_whole_runs_from_its_offset_on_with_their_offsets_and_epochs() -> None:
    log = log_of((2, 1, 1), (1, 2, 1), (3, 5, 2))

    assert runs_in(log.read(0, -1, max_bytes=ALL)) == [(2, 1, 1), (1, 2, 1), (3, 5, 2)]
    assert runs_in(log.read(2, 1, max_bytes=ALL)) == [(1, 2, 1), (3, 5, 2)]
    assert (log.start_offset, log.end_offset, log.epoch) == (0, 6, 2)


def test_at_the_end_there_is_nothing_yet() -> None:
    assert log_of((2, 1, 1)).read(2, 1, max_bytes=ALL) == Batches(b"")


def test_one_run_comes_however_few_bytes_are_wanted() -> None:
    log = log_of((2, 1, 1), (2, 3, 1))

    assert runs_in(log.read(0, -1, max_bytes=1)) == [(2, 1, 1)]


def test_offsets_that_only_the_journal_uses_are_passed_over() -> None:
    """A writer that takes over writes a control record, which no reader needs."""
    log = log_of((2, 1, 1), (1, 3, 2))

    assert runs_in(log.read(2, 1, max_bytes=ALL)) == [(1, 3, 2)]


def test_a_run_too_large_for_one_batch_is_read_as_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmt, "BATCH_BYTES_MAX", 200)
    log = MetadataLog(end_offset=0, epoch=1)
    records = [record(level, "a-name-of-some-length") for level in range(20)]

    log.append(records, last_offset=21, epoch=1, now_ms=0)  # it stands between two more records

    assert runs_in(log.read(0, -1, max_bytes=ALL)) == [(20, 21, 1)]


@pytest.mark.parametrize(("offset", "epoch"), [(4, 1), (2, 2), (6, 1), (9, 2)])
def test_who_has_read_what_is_not_in_this_log_is_told_so(offset: int, epoch: int) -> None:
    log = log_of((2, 1, 1), (2, 3, 2), (2, 5, 2))

    assert log.read(offset, epoch, max_bytes=ALL) == Diverging(end_offset=6, epoch=2)


def test_a_log_that_begins_later_knows_the_epoch_before_its_beginning() -> None:
    log = log_of((1, 10, 5), start=10, epoch=4)

    assert runs_in(log.read(10, 4, max_bytes=ALL)) == [(1, 10, 5)]
    assert log.read(10, 3, max_bytes=ALL) == Diverging(end_offset=11, epoch=5)
    assert log.read(9, 4, max_bytes=ALL) == TooOld()


def test_an_empty_log_has_the_end_it_began_with() -> None:
    log = MetadataLog(end_offset=10, epoch=4)

    assert (log.end_offset, log.epoch) == (10, 4)
    assert log.read(10, 4, max_bytes=ALL) == Batches(b"")
    assert log.read(0, -1, max_bytes=ALL) == TooOld()


def test_the_oldest_runs_are_forgotten_when_there_are_too_many_bytes() -> None:
    size = len(fmt.encode_run([record()], base_offset=0, epoch=1, now_ms=0)[0])
    log = log_of(*((1, offset, 1) for offset in range(100)), kept=10 * size)

    assert 90 <= log.start_offset < log.end_offset == 100
    assert log.read(log.start_offset - 1, 1, max_bytes=ALL) == TooOld()
    assert len(runs_in(log.read(log.start_offset, 1, max_bytes=ALL))) == 100 - log.start_offset


def test_the_last_run_is_kept_however_large_it_is() -> None:
    log = log_of((1, 0, 1), (50, 50, 1), kept=10)

    assert runs_in(log.read(1, 1, max_bytes=ALL)) == [(50, 50, 1)]


def test_a_run_that_does_not_follow_is_refused() -> None:
    log = log_of((2, 1, 3))

    with pytest.raises(AssertionError, match="follows"):
        log.append([record()], last_offset=1, epoch=3, now_ms=0)
    with pytest.raises(AssertionError, match="epoch 2 after 3"):
        log.append([record()], last_offset=2, epoch=2, now_ms=0)
