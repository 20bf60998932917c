"""The log manager: opening, deleting, time, failing directories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from storage_logs import NOW, TOPIC_ID, FlakyDisk, append, batch, fill, values_of

from barnabas.base.errors import StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.storage import checkpoint
from barnabas.storage.config import LogConfig
from barnabas.storage.directory import DirectoryRefused
from barnabas.storage.fs import FilePool
from barnabas.storage.log import Log
from barnabas.storage.manager import LogManager, StorageSettings

CONFIG = LogConfig(segment_bytes=400)
Make = Callable[..., LogManager]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Managers on the same directories, as one process after the other; crashed if not closed."""
    running: list[LogManager] = []

    def start(
        *names: str,
        disk: FlakyDisk | None = None,
        config: LogConfig = CONFIG,
        is_only_copy: Callable[[str, int], bool] = lambda topic, partition: False,
    ) -> LogManager:
        crash()
        settings = StorageSettings(
            directories=tuple(str(tmp_path / name) for name in names or ("data",))
        )
        pool = FilePool(16, disk) if disk else FilePool(16)
        manager = LogManager(settings, node_id=1, cluster_id="c", pool=pool)
        manager.load(NOW, lambda topic: config, is_only_copy=is_only_copy)
        running.append(manager)
        return manager

    def crash() -> None:
        while running:
            manager = running.pop()
            for directory in manager.directories:
                directory.close()
            manager.pool.close()

    yield start
    crash()


def topic(manager: LogManager, partition: int = 0, topic_id: bytes = TOPIC_ID) -> Log:
    return manager.open("t", partition, topic_id, CONFIG)


def test_logs_come_back_after_a_clean_stop_and_after_a_crash(make: Make, tmp_path: Path) -> None:
    manager = make()
    log = topic(manager)
    append(log, batch(b"a"))
    assert topic(manager) is log
    assert (tmp_path / "data" / "t-0" / "partition.metadata").exists()

    crashed = make()
    assert not crashed.directories[0].was_clean
    log = topic(crashed)
    assert log.end_offset == 1
    log.advance_high_watermark(1)
    append(log, batch(b"b"))
    crashed.close()

    clean = make()
    assert clean.directories[0].was_clean
    assert list(clean.logs) == [("t", 0)]
    log = topic(clean)
    assert log.topic_id == TOPIC_ID
    assert log.high_watermark == 2
    assert log.recovery_point == 2
    assert values_of(log) == [b"a", b"b"]


def test_a_new_log_goes_where_the_fewest_are(make: Make) -> None:
    manager = make("one", "two", "three")
    for partition in range(7):
        topic(manager, partition)
    assert [len(directory.logs) for directory in manager.directories] == [3, 2, 2]
    log = topic(manager, 4)
    assert manager.directory_of(log) is manager.directories[1]
    assert len(make("one", "two", "three").logs) == 7


def test_a_new_log_goes_once_where_it_was_told(make: Make) -> None:
    manager = make("a", "b")
    a, b = manager.directories
    for partition in (0, 1):
        assert not manager.move("t", partition, b)
        assert manager.directory_of(topic(manager, partition)) is b
    manager.delete(topic(manager, 1))
    assert not manager.move("t", 2, b)
    b.failure = StorageFailed("gone")
    assert manager.directory_of(topic(manager, 2)) is a
    b.failure = None
    assert manager.directory_of(topic(manager, 1)) is a


def test_other_directories_are_left_alone(make: Make, tmp_path: Path) -> None:
    manager = make()
    topic(manager)
    manager.close()
    for name in ("__cluster_metadata-0", "lost+found", "t-0.0123-stray", "t-1.ab-future"):
        (tmp_path / "data" / name).mkdir()
    assert list(make().logs) == [("t", 0)]


def test_one_log_in_two_directories_is_refused(make: Make, tmp_path: Path) -> None:
    topic(make("one", "two"))
    (tmp_path / "two" / "t-0").mkdir()
    with pytest.raises(DirectoryRefused, match="t-0"):
        make("one", "two")
    (tmp_path / "two" / "t-0").rmdir()
    make("one", "two")  # the locks were given back


def test_a_deleted_log_is_forgotten_at_once_and_removed_later(make: Make, tmp_path: Path) -> None:
    manager = make()
    manager.tick(NOW)
    log = topic(manager)
    append(log, batch(b"a"))
    held = log.read(0, max_bytes=100, end_offset=1, at_least_one=True)
    gone: list[Log] = []
    manager.on_log_gone = gone.append
    manager.delete(log)
    assert gone == [log]
    assert manager.get("t", 0) is None
    (moved,) = (tmp_path / "data").glob("t-0.*-delete")
    assert len(held.read()) > 0
    other = topic(manager, topic_id=bytes(15) + b"x")
    assert other.end_offset == 0
    manager.tick(NOW + 59_999)
    assert moved.exists()
    manager.tick(NOW + 60_000)
    assert not moved.exists()
    assert (tmp_path / "data" / "t-0").exists()


def test_what_was_to_be_deleted_goes_after_a_restart(make: Make, tmp_path: Path) -> None:
    manager = make()
    manager.delete(topic(manager))
    manager.close()
    again = make()
    assert again.logs == {}
    again.tick(NOW)
    assert list((tmp_path / "data").glob("t-0*")) == []


@pytest.mark.parametrize("is_late", [False, True], ids=["on file", "on its way to the file"])
def test_what_was_known_of_a_deleted_log_does_not_hold_for_a_new_one_of_its_name(
    make: Make, is_late: bool
) -> None:
    manager = make()
    log = topic(manager)
    fill(log, 10)
    log.delete_records_before(9)
    late: list[Callable[[], None]] = []
    if is_late:
        manager.workers = type("Slow", (), {"submit": lambda _, work, done: late.append(work)})()
    for after_ms in (0, 61_000):  # the second time every checkpoint is due
        manager.tick(NOW + after_ms)
    manager.delete(log)
    fill(topic(manager, topic_id=b"2" * 16), 8)
    for work in late:
        work()

    log = topic(make(), topic_id=b"2" * 16)  # after a crash

    assert (log.start_offset, log.end_offset) == (0, 8)
    assert log.recovery_point == log.high_watermark == 0


def test_a_log_of_an_earlier_topic_is_moved_aside(make: Make, tmp_path: Path) -> None:
    append(topic(make()), batch(b"old"))
    manager = make()
    log = topic(manager, topic_id=bytes(15) + b"x")
    assert log.end_offset == 0
    (stray,) = (tmp_path / "data").glob("t-0.*-stray")
    assert (stray / "00000000000000000000.log").stat().st_size > 0


def test_logs_that_the_metadata_does_not_know_are_moved_aside(make: Make) -> None:
    manager = make()
    topic(manager, 0)
    topic(manager, 1)
    assert manager.move_aside_unknown(lambda log: log.partition == 0) == ["t-1"]
    assert list(manager.logs) == [("t", 0)]


def test_a_very_long_topic_name_can_be_deleted(make: Make, tmp_path: Path) -> None:
    manager = make()
    name = "n" * 249
    manager.delete(manager.open(name, 12, TOPIC_ID, CONFIG))
    (moved,) = (tmp_path / "data").glob("n*-delete")
    assert len(moved.name) == 255


def test_checkpoints_are_written_as_time_passes(make: Make, tmp_path: Path) -> None:
    manager = make()
    manager.tick(NOW)
    log = topic(manager)
    fill(log, 9)
    data = tmp_path / "data"
    manager.tick(NOW + 5_000)
    assert (data / "replication-offset-checkpoint").read_bytes() == b"0\n1\nt 0 9\n"
    assert not (data / "recovery-point-offset-checkpoint").exists()
    base = log.segments.active.base_offset
    assert log.recovery_point == base > 0  # a tick flushes closed segments
    manager.tick(NOW + 60_000)
    written = (data / "recovery-point-offset-checkpoint").read_bytes()
    assert written == f"0\n1\nt 0 {base}\n".encode()
    log.delete_records_before(base + 1)
    manager.tick(NOW + 60_001)
    written = (data / "log-start-offset-checkpoint").read_bytes()
    assert written == f"0\n1\nt 0 {base + 1}\n".encode()
    crashed = make()
    log = topic(crashed)
    assert log.start_offset == base + 1
    assert log.high_watermark == 9


@pytest.mark.parametrize("way", ["truncate", "reset"])
def test_after_truncation_no_checkpoint_says_that_what_comes_next_is_on_the_disk(
    make: Make, tmp_path: Path, way: str
) -> None:
    manager = make()
    fill(topic(manager), 20)
    manager.close()
    manager = make()
    log = topic(manager)
    if way == "truncate":
        manager.truncate(log, 5)
    else:
        manager.reset(log, 5, now_ms=NOW)
    points = checkpoint.read_offsets(
        FilePool(16), str(tmp_path / "data" / checkpoint.RECOVERY_POINTS)
    )
    assert points == {("t", 0): 5}
    fill(log, 20)
    lost = log.segments[-2]
    (tmp_path / "data" / "t-0" / f"{lost.base_offset:020d}.log").write_bytes(b"")
    assert topic(make()).end_offset == lost.base_offset


def test_the_only_copy_of_a_partition_is_kept_whole(make: Make, tmp_path: Path) -> None:
    """`load` passes on what it is told of each partition."""
    manager = make()
    for partition in range(2):
        log = topic(manager, partition)
        fill(log, 20)
        lost = tmp_path / "data" / f"t-{partition}" / f"{log.segments[1].base_offset:020d}.log"
        lost.write_bytes(b"")
    end, hole = log.end_offset, log.segments[1].base_offset
    manager = make(is_only_copy=lambda topic, partition: partition == 1)
    assert (topic(manager, 0).end_offset, topic(manager, 1).end_offset) == (hole, end)


def test_retention_runs_and_files_go_after_their_delay(make: Make, tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=400, retention_ms=1000, file_delete_delay_ms=2000)
    manager = make(config=config)
    manager.tick(NOW)
    log = manager.open("t", 0, TOPIC_ID, config)
    fill(log, 9)
    manager.tick(NOW + 300_000)
    assert log.start_offset == 9
    partition = tmp_path / "data" / "t-0"
    assert list(partition.glob("*.deleted"))
    manager.tick(NOW + 301_999)
    assert list(partition.glob("*.deleted"))
    manager.tick(NOW + 302_000)
    assert list(partition.glob("*.deleted")) == []


def test_flush_ms_flushes_the_active_segment(make: Make) -> None:
    disk = FlakyDisk()
    config = LogConfig(flush_ms=500)
    manager = make(disk=disk, config=config)
    manager.tick(NOW)
    log = manager.open("t", 0, TOPIC_ID, config)
    append(log, batch(b"a"))
    manager.tick(NOW + 499)
    manager.tick(NOW + 1000)
    assert log.recovery_point == 1
    append(log, batch(b"b"))
    manager.tick(NOW + 1400)
    assert log.recovery_point == 1
    manager.tick(NOW + 1500)
    assert log.recovery_point == 2


def test_producers_expire_as_time_passes(make: Make) -> None:
    manager = make()
    manager.tick(NOW)
    log = topic(manager)
    append(log, batch(b"a", producer_id=1, epoch=0, sequence=0))
    manager.tick(NOW + 600_000)
    assert len(log.active_producers()) == 1
    manager.tick(NOW + 90_000_000)
    assert log.active_producers() == []


def test_a_broken_directory_takes_its_logs_offline_and_no_others(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FlakyDisk()
    manager = make("one", "two", disk=disk)
    failed: list[str] = []
    manager.on_directory_failed = lambda directory: failed.append(directory.path[-3:])
    first, second = topic(manager, 0), topic(manager, 1)
    fill(first, 9)
    disk.broken = True
    with caplog.at_level(logging.ERROR):
        manager.tick(NOW)
    assert failed == ["one"]
    assert "failed" in caplog.text
    assert manager.get("t", 0) is None
    assert manager.get("t", 1) is second
    with pytest.raises(StorageFailed):
        append(first, batch(b"x"))
    disk.broken = False
    append(second, batch(b"x"))
    manager.close()
    again = make("one", "two")
    assert [directory.was_clean for directory in again.directories] == [False, True]


def test_a_full_disk_does_not_take_a_directory_offline(make: Make) -> None:
    disk = FlakyDisk()
    manager = make(disk=disk)
    manager.tick(NOW)
    log = topic(manager)
    append(log, batch(b"x"))
    disk.room = 0
    manager.tick(NOW + 100_000)
    assert manager.get("t", 0) is log
    disk.room = None
    manager.tick(NOW + 200_000)
    append(log, batch(b"y"))


def test_without_any_usable_directory_there_is_no_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    settings = StorageSettings(directories=(str(tmp_path / "file" / "below"),))
    manager = LogManager(settings, node_id=1, cluster_id="c")
    with pytest.raises(StorageFailed, match="no log directory can be used"):
        manager.load(NOW, lambda topic: CONFIG)


def test_many_partitions_work_with_few_descriptors(make: Make) -> None:
    manager = make()
    for partition in range(60):
        append(topic(manager, partition), batch(b"x%d" % partition))
    manager.tick(NOW)
    assert manager.pool.open_count <= 16
    for partition in range(60):
        assert values_of(topic(manager, partition)) == [b"x%d" % partition]
    manager.close()
    assert len(make().logs) == 60


def test_settings_come_from_the_brokers(tmp_path: Path) -> None:
    config = BrokerConfig.from_properties(
        {"log.dirs": f"{tmp_path}/a,{tmp_path}/b", "producer.id.expiration.ms": "5", "node.id": "1"}
    )
    settings = StorageSettings.of(config)
    assert settings.directories == (f"{tmp_path}/a", f"{tmp_path}/b")
    assert settings.producer_expiration_ms == 5
    assert settings.retention_check_ms == 300_000


def test_closing_makes_every_log_durable_or_says_that_it_is_not(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FlakyDisk()
    manager = make(disk=disk)
    logs = [topic(manager, partition) for partition in range(70)]
    for log in logs:
        append(log, batch(b"x"))
    manager.close()
    assert disk.synced.count("00000000000000000000.log") == 70
    assert {log.recovery_point for log in logs} == {1}

    broken = make(disk=disk)
    append(topic(broken), batch(b"y"))
    disk.broken = True
    with caplog.at_level(logging.ERROR):
        broken.close()
    assert "was not closed cleanly" in caplog.text
    disk.broken = False
    assert not make().directories[0].was_clean


class SlowWorkers:
    """Does nothing until told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.waiting.append((work, done))

    def work(self) -> None:
        todo, self.waiting = self.waiting, []
        for work, done in todo:
            work()
            done(None)

    def close(self) -> None:
        while self.waiting:
            self.work()


def test_of_many_logs_that_are_due_only_some_are_flushed_at_a_time(tmp_path: Path) -> None:
    workers = SlowWorkers()
    settings = StorageSettings(directories=(str(tmp_path),), checkpoint_ms=1 << 40)
    manager = LogManager(settings, node_id=1, cluster_id="c", workers=workers)
    manager.load(NOW, lambda topic: CONFIG)
    config = LogConfig(flush_ms=10)
    logs = [manager.open("t", number, TOPIC_ID, config) for number in range(100)]
    for log in logs:
        append(log, batch(b"x"))

    manager.tick(NOW + 20)
    most = 0
    while workers.waiting:
        most = max(most, len(workers.waiting))
        workers.work()

    assert most < 50
    assert {log.recovery_point for log in logs} == {1}
    manager.close()


def test_a_log_that_cannot_be_made_leaves_nothing_behind(make: Make, tmp_path: Path) -> None:
    disk = FlakyDisk()
    manager = make(disk=disk)
    disk.room = 0
    with pytest.raises(StorageFailed, match="No space left"):
        topic(manager)
    assert not (tmp_path / "data" / "t-0").exists()
    disk.room = None
    append(topic(manager), batch(b"a"))
