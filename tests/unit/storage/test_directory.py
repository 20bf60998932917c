"""Log directories: who owns one, who may use it, how it was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.ids import id_text
from barnabas.storage.directory import DirectoryRefused, LogDirectory, read_meta
from barnabas.storage.fs import FilePool


@pytest.fixture
def pool() -> FilePool:
    return FilePool(4)


def opened(
    pool: FilePool, path: Path, *, cluster_id: str | None = "c", node_id: int = 1
) -> LogDirectory:
    directory = LogDirectory(pool, str(path))
    directory.open(cluster_id=cluster_id, node_id=node_id)
    return directory


def test_a_new_directory_gets_an_owner(pool: FilePool, tmp_path: Path) -> None:
    directory = opened(pool, tmp_path / "new")
    assert not directory.was_clean
    lines = (tmp_path / "new" / "meta.properties").read_text().splitlines()
    assert sorted(line for line in lines if not line.startswith("#")) == [
        "cluster.id=c",
        f"directory.id={id_text(directory.directory_id)}",
        "node.id=1",
        "version=1",
    ]
    directory.close()
    again = opened(pool, tmp_path / "new", cluster_id=None)
    assert again.directory_id == directory.directory_id
    assert again.meta is not None
    assert again.meta.cluster_id == "c"
    again.close()


def test_a_second_broker_is_told_that_the_directory_is_in_use(
    pool: FilePool, tmp_path: Path
) -> None:
    first = opened(pool, tmp_path)
    with pytest.raises(DirectoryRefused, match="in use by another broker"):
        opened(pool, tmp_path)
    first.close()
    opened(pool, tmp_path).close()


def test_a_directory_of_another_cluster_or_node_is_refused(pool: FilePool, tmp_path: Path) -> None:
    opened(pool, tmp_path).close()
    for arguments, reason in (
        ({"cluster_id": "other"}, "belongs to cluster c"),
        ({"node_id": 2}, "belongs to node 1"),
    ):
        directory = LogDirectory(pool, str(tmp_path))
        with pytest.raises(DirectoryRefused, match=reason):
            directory.open(**{"cluster_id": "c", "node_id": 1, **arguments})  # type: ignore[arg-type]
        directory.close()


def test_a_damaged_owner_file_is_refused_with_its_name(pool: FilePool, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=x\n")
    with pytest.raises(DirectoryRefused, match=r"meta\.properties cannot be read"):
        read_meta(pool, str(tmp_path))
    directory = LogDirectory(pool, str(tmp_path))
    with pytest.raises(DirectoryRefused):
        directory.open(cluster_id="c", node_id=1)
    directory.close()


def test_the_clean_marker_holds_for_one_start(pool: FilePool, tmp_path: Path) -> None:
    directory = opened(pool, tmp_path)
    directory.mark_clean(broker_epoch=5)
    marker = tmp_path / ".kafka_cleanshutdown"
    assert marker.read_text() == '{"version":0,"brokerEpoch":5}'
    directory.close()
    again = opened(pool, tmp_path)
    assert again.was_clean
    assert again.clean_epoch == 5
    assert not marker.exists()
    again.close()
    third = opened(pool, tmp_path)
    assert not third.was_clean
    assert third.clean_epoch == -1
    third.close()


def test_a_clean_marker_without_an_epoch_is_a_clean_marker(pool: FilePool, tmp_path: Path) -> None:
    (tmp_path / ".kafka_cleanshutdown").touch()

    directory = opened(pool, tmp_path)

    assert (directory.was_clean, directory.clean_epoch) == (True, -1)
    directory.close()


def test_only_what_changed_is_written_again(pool: FilePool, tmp_path: Path) -> None:
    directory = opened(pool, tmp_path)
    assert directory.read_checkpoint("x") == {}
    assert not directory.checkpoint_is_stale("x", {})
    assert directory.checkpoint_is_stale("x", {("t", 0): 1})
    directory.write_checkpoint("x", {("t", 0): 1})
    assert not directory.checkpoint_is_stale("x", {("t", 0): 1})
    assert directory.read_checkpoint("x") == {("t", 0): 1}
    total, usable = directory.space()
    assert total >= usable > 0
    directory.close()
