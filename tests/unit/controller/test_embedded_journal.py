from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.controller import journal_format as fmt
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage
from barnabas.controller.journal import Done, Run
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

APACHE = Path(__file__).parent / "apache"
FIRST_LOG = "00000000000000000000.log"


def feature(level: int) -> mr.FeatureLevelRecord:
    return mr.FeatureLevelRecord(name="f", feature_level=level)


class BrokenFiles(DirectoryFiles):
    """A disk that can be told to fail."""

    broken: Callable[[str, str], bool] = staticmethod(lambda action, name: False)
    half_written = False

    def append(self, name: str, data: bytes, *, position: int) -> None:
        if self.broken("append", name):
            if self.half_written:
                super().append(name, data[: len(data) // 2], position=position)
            raise StorageFailed("disk full")
        super().append(name, data, position=position)

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        if self.broken("replace", name):
            raise StorageFailed("disk full")
        super().replace(name, data, durable=durable)

    def truncate(self, name: str, size: int) -> None:
        if self.broken("truncate", name):
            raise StorageFailed("disk gone")
        super().truncate(name, size)


@pytest.fixture
def files(tmp_path: Path) -> BrokenFiles:
    return BrokenFiles(tmp_path / "m")


def open_journal(files: DirectoryFiles, snapshot_bytes: int = 10_000) -> EmbeddedJournal:
    return EmbeddedJournal(files, node_id=1, snapshot_bytes=snapshot_bytes)


def commit(journal: EmbeddedJournal, *runs: list[Message], now_ms: int = 5) -> list[int]:
    offsets = [journal.append(records, now_ms=now_ms) for records in runs]
    outcome: list[BaseException | None] = []
    journal.commit(outcome.append)
    assert outcome == [None]
    return offsets


def fail(journal: EmbeddedJournal, records: list[Message]) -> BaseException:
    journal.append(records, now_ms=5)
    outcome: list[BaseException | None] = []
    journal.commit(outcome.append)
    (error,) = outcome
    assert error is not None
    return error


def snapshot(journal: EmbeddedJournal, *records: Message) -> BaseException | None:
    outcome: list[BaseException | None] = []
    journal.write_snapshot(records, now_ms=9, done=outcome.append)
    (error,) = outcome
    return error


def read(journal: EmbeddedJournal, offset: int = 0) -> list[Run]:
    """Runs with records; the marks of writers are left out."""
    return [run for run in journal.read(offset) if run.records]


def records_of(journal: EmbeddedJournal, offset: int = 0) -> list[Message]:
    return [record for run in read(journal, offset) for record in run.records]


def test_opening_writes_nothing(files: BrokenFiles) -> None:
    journal = open_journal(files)

    assert journal.is_empty
    assert (journal.end_offset, journal.epoch) == (0, 1)
    assert journal.snapshot() is None
    assert read(journal) == []
    outcome: list[BaseException | None] = []
    journal.commit(outcome.append)
    assert outcome == [None]
    assert files.names() == []


def test_committed_runs_are_read_back_after_reopening(files: BrokenFiles) -> None:
    journal = open_journal(files)
    assert commit(journal, [feature(1), feature(2)], [feature(3)]) == [2, 3]
    assert commit(journal, [feature(4)]) == [4]
    expected = [
        Run(records=(feature(1), feature(2)), last_offset=2, epoch=1),
        Run(records=(feature(3),), last_offset=3, epoch=1),
        Run(records=(feature(4),), last_offset=4, epoch=1),
    ]

    again = open_journal(files)

    assert read(journal) == expected
    assert read(again) == expected
    assert read(again, 3) == expected[1:]
    assert read(again, 5) == []
    assert not again.is_empty
    assert again.end_offset == 5


def test_every_writer_has_a_higher_epoch_and_says_so_first(files: BrokenFiles) -> None:
    commit(open_journal(files), [feature(1)])
    second = open_journal(files)
    assert second.epoch == 2
    assert commit(second, [feature(2)]) == [3]
    commit(second, [feature(3)])

    journal = open_journal(files)
    assert journal.epoch == 3
    assert [(run.last_offset, run.epoch, len(run.records)) for run in journal.read(0)] == [
        (0, 1, 0),
        (1, 1, 1),
        (2, 2, 0),
        (3, 2, 1),
        (4, 2, 1),
    ]
    assert files.read("leader-epoch-checkpoint") == b"0\n2\n1 0\n2 2\n"
    assert files.read("partition.metadata") == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_who_only_reads_takes_nothing_over(files: BrokenFiles) -> None:
    commit(open_journal(files), [feature(1)])
    before = files.read(FIRST_LOG)

    records_of(open_journal(files))

    assert open_journal(files).epoch == 2
    assert files.read(FIRST_LOG) == before


@pytest.mark.parametrize("cut", [1, 20, 75])
def test_a_torn_tail_is_cut_by_the_next_commit_and_nothing_else(
    files: BrokenFiles, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    journal = open_journal(files)
    commit(journal, [feature(1)])
    commit(journal, [feature(2)])
    whole = files.read(FIRST_LOG)
    files.truncate(FIRST_LOG, len(whole) - cut)

    with caplog.at_level(logging.WARNING):
        journal = open_journal(files)
    assert "never committed" in caplog.text
    assert records_of(journal) == [feature(1)]
    assert len(files.read(FIRST_LOG)) == len(whole) - cut
    commit(journal, [feature(3)])

    assert records_of(open_journal(files)) == [feature(1), feature(3)]


def test_zeros_after_the_end_are_cut_too(files: BrokenFiles) -> None:
    commit(open_journal(files), [feature(1)])
    files.append(FIRST_LOG, bytes(4096), position=len(files.read(FIRST_LOG)))

    journal = open_journal(files)
    commit(journal, [feature(2)])

    assert records_of(open_journal(files)) == [feature(1), feature(2)]


def test_a_failed_write_is_as_if_it_had_not_been_tried(files: BrokenFiles) -> None:
    journal = open_journal(files)
    commit(journal, [feature(1)])
    before = files.read(FIRST_LOG)

    files.broken, files.half_written = lambda action, _: action == "append", True
    error = fail(journal, [feature(2)])
    assert isinstance(error, StorageFailed)
    assert (journal.end_offset, files.read(FIRST_LOG)) == (2, before)
    files.broken = lambda *_: False

    assert commit(journal, [feature(3)]) == [2]
    assert records_of(open_journal(files)) == [feature(1), feature(3)]


def test_the_first_write_may_fail_and_be_tried_again(files: BrokenFiles) -> None:
    journal = open_journal(files)

    files.broken = lambda action, _: action == "append"
    fail(journal, [feature(1)])
    assert journal.is_empty
    files.broken = lambda *_: False

    assert commit(journal, [feature(2)]) == [1]
    assert journal.epoch == 1
    assert [(r.last_offset, r.records) for r in open_journal(files).read(0)] == [
        (0, ()),
        (1, (feature(2),)),
    ]


def test_what_could_not_be_cut_at_once_is_cut_before_the_next_write(files: BrokenFiles) -> None:
    journal = open_journal(files)
    commit(journal, [feature(1)])

    files.broken, files.half_written = lambda action, _: action in ("append", "truncate"), True
    fail(journal, [feature(2), feature(3), feature(4)])
    fail(journal, [feature(5)])
    files.broken = lambda *_: False
    commit(journal, [feature(6)])

    assert records_of(open_journal(files)) == [feature(1), feature(6)]


def test_a_transaction_that_a_crash_left_open_is_aborted_by_the_next_writer(
    files: BrokenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fmt, "BATCH_BYTES_MAX", 40)
    journal = open_journal(files)
    commit(journal, [feature(1)])
    commit(journal, [feature(level) for level in range(2, 20)])
    assert len(read(journal)) == 2
    data = files.read(FIRST_LOG)
    files.truncate(FIRST_LOG, fmt.scan(data).batches[-1][0])

    journal = open_journal(files)
    assert records_of(journal) == [feature(1)]
    commit(journal, [feature(30)])
    assert records_of(open_journal(files)) == [feature(1), feature(30)]

    unread = open_journal(files)  # a writer that has not read must find out, too
    commit(unread, [feature(31)])
    assert records_of(open_journal(files)) == [feature(1), feature(30), feature(31)]


def test_a_snapshot_replaces_the_log_before_it(files: BrokenFiles) -> None:
    journal = open_journal(files, snapshot_bytes=200)
    commit(journal, [feature(1)])
    assert not journal.snapshot_is_due
    commit(journal, [feature(2)])
    assert journal.snapshot_is_due

    assert snapshot(journal, feature(2)) is None
    assert not journal.snapshot_is_due
    name = "00000000000000000003-0000000001.checkpoint"
    new_log = "00000000000000000003.log"
    assert files.names() == [name, new_log, "leader-epoch-checkpoint", "partition.metadata"]
    commit(journal, [feature(3)])

    for found in (journal, open_journal(files)):
        kept = found.snapshot()
        assert kept is not None
        assert (kept.records, kept.end_offset, kept.epoch) == ((feature(2),), 3, 1)
        assert records_of(found, 3) == [feature(3)]
        assert found.end_offset == 4


def test_a_second_snapshot_replaces_the_first(files: BrokenFiles) -> None:
    journal = open_journal(files)
    commit(journal, [feature(1)])
    snapshot(journal, feature(1))
    journal = open_journal(files)
    commit(journal, [feature(2)])
    snapshot(journal, feature(2))
    before = files.names()
    snapshot(journal, feature(2))  # of the same offset: nothing to do

    assert [name for name in before if "checkpoint" in name] == [
        "00000000000000000004-0000000002.checkpoint",
        "leader-epoch-checkpoint",
    ]
    assert files.names() == before
    kept = open_journal(files).snapshot()
    assert kept is not None
    assert (kept.records, kept.epoch) == ((feature(2),), 2)


def test_a_failed_snapshot_loses_nothing_and_is_due_again_later(files: BrokenFiles) -> None:
    journal = open_journal(files, snapshot_bytes=200)
    commit(journal, [feature(1)], [feature(2)])

    files.broken = lambda action, _: action == "replace"
    assert isinstance(snapshot(journal, feature(2)), StorageFailed)
    files.broken = lambda *_: False
    assert not journal.snapshot_is_due
    commit(journal, [feature(3)])

    again = open_journal(files)
    assert again.snapshot() is None
    assert records_of(again) == [feature(1), feature(2), feature(3)]
    commit(journal, [feature(4)], [feature(5)])
    assert journal.snapshot_is_due
    assert snapshot(journal, feature(5)) is None
    assert records_of(open_journal(files), open_journal(files).end_offset) == []


def test_half_a_snapshot_is_passed_over(
    files: BrokenFiles, caplog: pytest.LogCaptureFixture
) -> None:
    commit(open_journal(files), [feature(1)])
    whole = fmt.encode_snapshot([feature(1)], epoch=1, now_ms=1, last_timestamp=1)
    files.replace(fmt.snapshot_name(2, 1), whole[:-5])
    files.replace("00000000000000000009-0000000001.checkpoint.part", whole)

    with caplog.at_level(logging.WARNING):
        journal = open_journal(files)

    assert "not a whole snapshot" in caplog.text
    assert journal.snapshot() is None
    assert records_of(journal) == [feature(1)]
    commit(journal, [feature(2)])
    assert not any(name.endswith(".part") for name in files.names())


def test_a_log_that_ends_before_its_snapshot_goes_on_after_it(files: BrokenFiles) -> None:
    commit(open_journal(files), [feature(1)])
    data = fmt.encode_snapshot([feature(7)], epoch=4, now_ms=1, last_timestamp=1)
    files.replace(fmt.snapshot_name(50, 4), data)

    journal = open_journal(files)
    assert (journal.end_offset, journal.epoch) == (50, 5)
    assert commit(journal, [feature(8)]) == [51]

    again = open_journal(files)
    assert (again.end_offset, again.epoch) == (52, 6)
    assert records_of(again, 50) == [feature(8)]


def test_a_missing_part_is_not_glossed_over(files: BrokenFiles) -> None:
    journal = open_journal(files)
    commit(journal, [feature(1)])
    first = files.read(FIRST_LOG)
    files.replace(fmt.segment_name(5), b"")
    with pytest.raises(StorageFailed, match="lacks offsets 2 to 5"):
        open_journal(files)

    files.remove(FIRST_LOG)
    with pytest.raises(StorageFailed, match="no snapshot reaches it"):
        open_journal(files)

    files.replace(FIRST_LOG, first[:-1])
    files.remove(fmt.segment_name(5))
    files.replace(fmt.segment_name(2), b"")
    with pytest.raises(StorageFailed, match="is damaged at byte"):
        open_journal(files)


class LaterWorker:
    """Does its work when told to, as another thread would."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], Done]] = []

    def __call__(self, work: Callable[[], None], done: Done) -> None:
        self.waiting.append((work, done))

    def run(self) -> None:
        work, done = self.waiting.pop(0)
        work()
        done(None)


def test_with_a_worker_a_commit_is_reported_when_it_is_written(files: BrokenFiles) -> None:
    worker = LaterWorker()
    journal = EmbeddedJournal(files, node_id=1, worker=worker)
    journal.append([feature(1)], now_ms=1)
    outcome: list[BaseException | None] = []

    journal.commit(outcome.append)
    assert (outcome, journal.end_offset, files.names()) == ([], 0, [])
    with pytest.raises(AssertionError):
        journal.append([feature(2)], now_ms=1)
    with pytest.raises(AssertionError):
        journal.commit(outcome.append)
    worker.run()

    assert (outcome, journal.end_offset) == ([None], 2)
    assert records_of(open_journal(files)) == [feature(1)]


def test_after_closing_nobody_is_told_how_a_commit_ended(files: BrokenFiles) -> None:
    worker = LaterWorker()
    journal = EmbeddedJournal(files, node_id=1, worker=worker)
    journal.append([feature(1)], now_ms=1)
    outcome: list[BaseException | None] = []
    journal.commit(outcome.append)

    journal.close()
    worker.run()

    assert outcome == []


# Directories of Apache Kafka


def load(journal: EmbeddedJournal) -> ClusterImage:
    image = ClusterImage("c")
    kept = journal.snapshot()
    if kept is not None:
        image.load_snapshot(kept.records, end_offset=kept.end_offset, epoch=kept.epoch)
    for run in journal.read(kept.end_offset if kept else 0):
        image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)
    return image


@pytest.fixture(params=["4.0.2-static", "4.3.1-standalone"])
def apache(request: pytest.FixtureRequest, tmp_path: Path) -> DirectoryFiles:
    shutil.copytree(APACHE / request.param, tmp_path / "m")
    return DirectoryFiles(tmp_path / "m")


def test_a_directory_of_apache_kafka_is_read(apache: DirectoryFiles) -> None:
    journal = open_journal(apache)

    image = load(journal)

    assert {name: len(topic.partitions) for name, topic in image.topics.items()} == {
        "orders": 4,
        "payments": 1,
    }
    assert image.topic_config("orders") == {"cleanup.policy": "compact", "retention.ms": "1000"}
    assert image.config(4, "")["log.retention.ms"] == "123456"
    assert image.features["metadata.version"] >= 25
    assert image.features["transaction.version"] == 2
    (broker,) = image.brokers.values()
    assert (broker.id, broker.fenced, broker.endpoints[0].host) == (1, True, "localhost")
    assert [p.leader for p in image.topics["orders"].partitions] == [-1] * 4
    assert all((p.isr or p.elr) == (1,) for p in image.topics["orders"].partitions)
    assert ("controller", 1) in image.kept
    assert image.applied_offset == journal.end_offset - 1


def test_a_snapshot_of_apache_kafka_says_what_its_log_says(apache: DirectoryFiles) -> None:
    whole = load(open_journal(apache))
    checked = 0
    for end_offset, epoch in fmt.snapshot_ids(apache.names())[:-1]:
        apache.remove(fmt.snapshot_name(end_offset, epoch))
        journal = open_journal(apache)
        assert load(journal) == whole
        checked += 1

    assert checked == len(fmt.snapshot_ids(list_of("4.3.1-standalone"))) - 1 or checked == 0


def list_of(directory: str) -> list[str]:
    return [path.name for path in (APACHE / directory).iterdir()]


def test_writing_goes_on_beside_the_segments_of_apache_kafka(apache: DirectoryFiles) -> None:
    before = {name: apache.read(name) for name in apache.names() if name.endswith(".log")}
    journal = open_journal(apache)
    image = load(journal)
    end = journal.end_offset

    commit(journal, [feature(3)])

    assert {name: apache.read(name) for name in before} == before
    assert fmt.segment_name(end) in apache.names()
    image.replay_run([feature(3)], offset=end + 1, epoch=journal.epoch)
    assert load(open_journal(apache)) == image


def test_a_snapshot_carries_on_what_a_dynamic_quorum_needs(apache: DirectoryFiles) -> None:
    journal = open_journal(apache)
    image = load(journal)
    _, before = fmt.decode_snapshot(newest_snapshot(apache)) if journal.snapshot() else ((), {})
    commit(journal, [mr.NoOpRecord()])

    assert snapshot(journal, *image.dump()) is None

    records, carried = fmt.decode_snapshot(newest_snapshot(apache))
    assert carried == before
    assert records == tuple(image.dump())
    assert len(fmt.segment_offsets(apache.names())) == 1
    assert not any(name.endswith((".index", ".timeindex")) for name in apache.names())


def newest_snapshot(files: DirectoryFiles) -> bytes:
    return files.read(fmt.snapshot_name(*fmt.snapshot_ids(files.names())[0]))
