from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.base.ids import parse_id
from barnabas.controller.bootstrap import (
    BOOTSTRAP,
    format_directory,
    initial_records,
    new_cluster_id,
    read_bootstrap,
)
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.controller.journal_format import scan
from barnabas.protocol.messages.metadata_records import FeatureLevelRecord

APACHE = Path(__file__).parent / "apache"


def feature(name: str, level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=level)


@pytest.fixture
def files(tmp_path: Path) -> DirectoryFiles:
    return DirectoryFiles(tmp_path)


def test_a_new_cluster_starts_at_the_levels_of_kafka_4_0(files: DirectoryFiles) -> None:
    files.replace(BOOTSTRAP, (APACHE / "bootstrap-4.0.2.checkpoint").read_bytes())

    assert read_bootstrap(files) == initial_records()
    assert initial_records() == [
        feature("metadata.version", 25),
        feature("group.version", 1),
        feature("transaction.version", 2),
    ]


def test_the_file_is_built_like_apache_kafkas(files: DirectoryFiles) -> None:
    theirs = (APACHE / "bootstrap-4.0.2.checkpoint").read_bytes()

    format_directory(files, now_ms=5)

    ours = files.read(BOOTSTRAP)
    assert len(ours) == len(theirs)
    shapes = [
        [
            header._replace(crc=0, base_timestamp=0, max_timestamp=0)
            for _, header in scan(data).batches
        ]
        for data in (ours, theirs)
    ]
    assert shapes[0] == shapes[1]


def test_levels_of_later_releases_are_taken_as_they_are(files: DirectoryFiles) -> None:
    files.replace(BOOTSTRAP, (APACHE / "bootstrap-4.3.1.checkpoint").read_bytes())

    assert read_bootstrap(files)[0] == feature("metadata.version", 30)
    assert feature("share.version", 1) in read_bootstrap(files)


def test_formatting_is_done_once(files: DirectoryFiles) -> None:
    format_directory(files, now_ms=1, levels={"metadata.version": 24})
    format_directory(files, now_ms=2)

    assert read_bootstrap(files) == [feature("metadata.version", 24)]


def test_a_directory_that_was_not_formatted_starts_the_same_way(files: DirectoryFiles) -> None:
    assert read_bootstrap(files) == initial_records()


def test_a_damaged_file_is_not_guessed_at(files: DirectoryFiles) -> None:
    format_directory(files, now_ms=1)
    files.truncate(BOOTSTRAP, 200)

    with pytest.raises(StorageFailed, match="damaged"):
        read_bootstrap(files)


def test_cluster_ids_are_ids() -> None:
    assert len({parse_id(new_cluster_id()) for _ in range(10)}) == 10
