"""What the helpers do with logs and directories."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from planted_logs import judged, plant

from barnabas.lab.programs.collecting import (
    collect,
    data_directories,
    history_of_logs,
    is_in_use,
    leavings,
    payload_files,
    remove,
)
from barnabas.lab.programs.payload_log import PayloadError
from barnabas.lab.verdict.judging import judge


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "producer").mkdir()
    (tmp_path / "consumer").mkdir()
    (tmp_path / "producer/payload.log").write_text("t,0,10,a, b\nt,0,9,c\nt,1,1,d\n")
    (tmp_path / "consumer/payload-1.log").write_text("t,1,1,d\nt,0,10,a, b\n")
    (tmp_path / "consumer/payload-2.log").write_text("t,0,10,a, b\n")
    return tmp_path


def test_each_side_becomes_one_sorted_file_and_the_originals_go(lab: Path) -> None:
    found = collect(lab)

    assert [(one.count, len(one.sources)) for one in found] == [(3, 1), (3, 2)]
    assert (lab / "producer.log").read_text() == "t,0,9,c\nt,0,10,a, b\nt,1,1,d\n"
    assert (lab / "consumer.log").read_text() == "t,0,10,a, b\nt,0,10,a, b\nt,1,1,d\n"
    assert leavings(lab) == [lab / "producer.log", lab / "consumer.log"]


@pytest.mark.parametrize("side", ["producer", "consumer"])
def test_logs_that_cannot_be_read_are_kept_and_so_are_all_others(lab: Path, side: str) -> None:
    before = leavings(lab)
    bad = lab / side / "payload-3.log"
    bad.write_text("nonsense\n")

    with pytest.raises(PayloadError, match="nonsense"):
        collect(lab)
    bad.unlink()
    assert leavings(lab) == before


def test_a_side_without_logs_keeps_what_was_collected_before(lab: Path) -> None:
    collect(lab)
    kept = (lab / "producer.log").read_text()
    (lab / "consumer/payload.log").write_text("t,0,11,e\n")

    assert [one.side for one in collect(lab)] == ["consumer"]
    assert (lab / "producer.log").read_text() == kept
    assert (lab / "consumer.log").read_text() == "t,0,11,e\n"


def test_the_verdict_is_the_same_before_and_after_collecting(lab: Path) -> None:
    before = judge(
        history_of_logs(payload_files(lab / "producer"), payload_files(lab / "consumer"))
    )
    collect(lab)
    after = judge(
        history_of_logs(payload_files(lab / "producer.log"), payload_files(lab / "consumer.log"))
    )

    for verdict in (before, after):
        assert [one.key for one in verdict.lost] == ["9"]
        assert [one.key for one in verdict.duplicated] == ["10"]
        assert (verdict.sent, verdict.received) == (3, 3)


def test_directories_of_brokers_are_known_by_what_is_in_them(tmp_path: Path) -> None:
    for name in ("data/1", "data/2", "single"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "meta.properties").write_text("version=1\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")

    found = data_directories(tmp_path)
    assert found == [tmp_path / "data/1", tmp_path / "data/2", tmp_path / "single"]
    remove(found)
    assert data_directories(tmp_path) == []
    assert (tmp_path / "mine" / "notes.txt").exists()


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "rb+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_directory_whose_lock_is_held_is_in_use(tmp_path: Path) -> None:
    assert not is_in_use(tmp_path)
    lock = tmp_path / ".lock"
    lock.touch()
    assert not is_in_use(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_in_use(tmp_path)
    assert not is_in_use(tmp_path)
    with lock.open("rb+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("seed", range(5))
def test_exactly_what_was_planted_is_found(tmp_path: Path, seed: int) -> None:
    planted = plant(tmp_path, seed=seed)

    assert all(planted)
    assert judged(tmp_path) == planted
