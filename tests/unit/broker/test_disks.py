"""What a node finds on its disks before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.broker.disks import (
    RETIRED,
    check_not_of_a_cluster,
    has_journal,
    known_cluster_id,
    retire_journal,
)
from barnabas.controller.embedded_journal import DIRECTORY
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.storage.directory import DirectoryRefused
from barnabas.storage.fs import FilePool

POOL = FilePool()


def config(*directories: Path) -> BrokerConfig:
    return BrokerConfig.from_properties({"log.dirs": ",".join(map(str, directories))})


def journal(directory: Path) -> DirectoryFiles:
    return DirectoryFiles(directory / DIRECTORY)


def test_logs_without_metadata_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    settings = config(one, two)
    check_not_of_a_cluster(settings, POOL, journal(one))

    for name in ("t-0.ab-stray", "t-0.ab-delete", RETIRED):
        (two / name).mkdir(parents=True)
    check_not_of_a_cluster(settings, POOL, journal(one))

    (two / "t-0").mkdir()
    with pytest.raises(DirectoryRefused, match="two has partitions"):
        check_not_of_a_cluster(settings, POOL, journal(one))

    journal(one).append("00000000000000000000.log", b"x", position=0)
    check_not_of_a_cluster(settings, POOL, journal(one))


def test_a_broken_disk_is_nobodys(tmp_path: Path) -> None:
    broken, sound = tmp_path / "broken", tmp_path / "sound"
    broken.write_text("a file")
    sound.mkdir()
    (sound / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")

    assert known_cluster_id(config(broken, sound), POOL) == "c"
    assert known_cluster_id(config(broken), POOL) is None
    assert not has_journal(journal(broken))
    check_not_of_a_cluster(config(sound, broken), POOL, journal(sound))
    with pytest.raises(StorageFailed):
        check_not_of_a_cluster(config(broken, sound), POOL, journal(broken))


def test_a_journal_that_is_in_zookeeper_is_kept_under_another_name(tmp_path: Path) -> None:
    journal(tmp_path).append("00000000000000000000.log", b"x", position=0)

    retire_journal(config(tmp_path), POOL)

    assert not has_journal(journal(tmp_path))
    assert (tmp_path / RETIRED / "00000000000000000000.log").read_bytes() == b"x"
