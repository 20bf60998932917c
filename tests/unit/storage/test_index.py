"""The sparse indexes: file format, floors, damaged files, the cache's bound."""

from __future__ import annotations

from barnabas.storage.index import IndexCache, OffsetIndex, TimeIndex


def offset_index(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex()
    for relative, position in entries:
        index.add(relative, position)
    return index


def time_index(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex()
    for timestamp, relative in entries:
        index.add(timestamp, relative)
    return index


def test_an_offset_entry_is_eight_big_endian_bytes() -> None:
    data = offset_index((5, 4200), (0x01020304, 0x7FFFFFFF)).encode()
    assert data == bytes.fromhex("00000005 00001068  01020304 7fffffff")


def test_a_time_entry_is_twelve_big_endian_bytes() -> None:
    assert time_index((1_700_000_000_000, 7)).encode() == bytes.fromhex("0000018bcfe56800 00000007")


def test_the_floor_of_an_offset_is_the_last_batch_that_ends_at_or_before_it() -> None:
    index = offset_index((9, 100), (19, 200))
    assert [index.floor(offset) for offset in (0, 8, 9, 18, 19, 1000)] == [0, 0, 100, 100, 200, 200]


def test_batches_before_a_position_end_below_the_offset_that_stands_for_it() -> None:
    index = offset_index((9, 100), (19, 200))
    assert [index.offset_from(p) for p in (0, 100, 101, 200, 201)] == [9, 9, 19, 19, None]


def test_only_a_greater_timestamp_makes_a_time_entry() -> None:
    index = time_index((10, 1), (10, 2), (9, 3), (11, 4))
    assert list(index) == [(10, 1), (11, 4)]
    assert [index.floor(timestamp) for timestamp in (9, 10, 11, 12)] == [0, 1, 4, 4]


def test_files_read_back_as_they_were_written() -> None:
    index = offset_index((1, 10), (2, 20))
    again = OffsetIndex.decode(index.encode(), log_size=21)
    assert again is not None
    assert list(again) == [(1, 10), (2, 20)]
    assert again.saved == 2
    times = TimeIndex.decode(time_index((5, 1), (6, 2)).encode())
    assert list(times) == [(5, 1), (6, 2)]
    assert times.last_timestamp == 6
    assert times.saved == 2


def test_zeros_that_a_crash_leaves_in_a_preallocated_file_are_cut() -> None:
    index = OffsetIndex.decode(offset_index((1, 10), (2, 20)).encode() + bytes(80), log_size=100)
    assert index is not None
    assert list(index) == [(1, 10), (2, 20)]
    assert index.saved == 0  # the file is longer than it should be: it is written again
    times = TimeIndex.decode(time_index((5, 1)).encode() + bytes(120))
    assert list(times) == [(5, 1)]
    assert list(OffsetIndex.decode(bytes(80), log_size=100) or ()) == []


def test_half_an_entry_at_the_end_is_cut() -> None:
    index = OffsetIndex.decode(offset_index((1, 10), (2, 20)).encode()[:-3], log_size=100)
    assert index is not None
    assert list(index) == [(1, 10)]
    assert list(TimeIndex.decode(time_index((5, 1), (6, 2)).encode()[:-1])) == [(5, 1)]


def test_an_index_that_points_beyond_the_log_is_not_believed() -> None:
    assert OffsetIndex.decode(offset_index((1, 10)).encode(), log_size=10) is None
    assert OffsetIndex.decode(b"\xff" * 8, log_size=10) is None


def test_entries_after_a_cut_are_forgotten() -> None:
    index = offset_index((1, 10), (2, 20), (3, 30))
    index.saved = 3
    index.cut_from_position(20)
    assert list(index) == [(1, 10)]
    assert index.saved == 1
    times = time_index((5, 1), (6, 2), (7, 9))
    times.cut_from_offset(2)
    assert list(times) == [(5, 1)]
    times.add(6, 3)
    assert list(times) == [(5, 1), (6, 3)]


class Owner:
    def __init__(self) -> None:
        self.unloaded = 0

    def unload(self) -> None:
        self.unloaded += 1


def test_the_cache_unloads_what_was_not_used_for_longest() -> None:
    cache = IndexCache(limit_bytes=1000)
    first, second, third = Owner(), Owner(), Owner()
    cache.used(first, 200)
    cache.used(second, 200)
    cache.used(first, 200)
    cache.used(third, 200)
    assert (first.unloaded, second.unloaded, third.unloaded) == (0, 1, 0)
    assert len(cache) == 2
    cache.forget(first)
    cache.forget(third)
    assert cache.used_bytes == 0
