"""Which files of a lake are made, and which are merged."""

from __future__ import annotations

from barnabas.pipelines.archive import small_files, targets
from barnabas.pipelines.hadoop_files import FileInfo


def test_names_of_files_are_of_their_step_alone() -> None:
    staged = ["topic=a/date=x/part-0.parquet", "topic=b/date=x/part-0.parquet"]

    assert targets(staged, 7, "parquet") == [
        "topic=a/date=x/0000000007-0000.parquet",
        "topic=b/date=x/0000000007-0001.parquet",
    ]
    assert targets(["part-0.json"], 8, "json") == ["0000000008-0000.json"]


def test_small_files_are_merged_when_there_are_enough_of_them() -> None:
    found = [FileInfo("a", 10), FileInfo("b", 500), FileInfo("c", 20), FileInfo("deeper/d", 1)]

    assert small_files(found, least=3, limit_bytes=100) == ([], 0)
    assert small_files(found, least=2, limit_bytes=100) == ([found[0], found[2]], 1)


def test_what_is_merged_becomes_as_many_files_as_it_fills() -> None:
    found = [FileInfo(str(number), 99) for number in range(10)]

    assert small_files(found, least=2, limit_bytes=300) == (found, 4)


def test_what_was_merged_is_not_merged_again() -> None:
    made = [FileInfo(str(number), 990 // 4) for number in range(4)]

    assert small_files(made, least=2, limit_bytes=300) == ([], 0)
