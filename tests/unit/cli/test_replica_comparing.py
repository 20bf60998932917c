from __future__ import annotations

from barnabas.cli.replica_comparing import BatchMark, Comparison, Difference, Fetched

P, Q = ("t", 0), ("t", 12)


def marks(*offsets: int, checksum: int = 7) -> list[BatchMark]:
    return [BatchMark(offset, checksum) for offset in offsets]


def fetched(watermark: int, *offsets: int, checksum: int = 7) -> Fetched:
    return Fetched(high_watermark=watermark, batches=marks(*offsets, checksum=checksum))


def test_it_goes_on_as_far_as_all_replicas_have_got() -> None:
    comparison = Comparison({P: 0})

    found = comparison.compare({P: {1: fetched(10, 2, 5, 9), 2: fetched(10, 2, 5)}})

    assert found == []
    assert comparison.offsets == {P: 6}
    assert comparison.text() == "max lag is 4 for partition [t,0] at offset 6 among 1 partitions"


def test_what_is_not_below_a_replicas_high_watermark_is_left_for_later() -> None:
    comparison = Comparison({P: 0})

    comparison.compare({P: {1: fetched(10, 2, 9), 2: fetched(3, 2, 9)}})

    assert comparison.offsets == {P: 3}


def test_the_partition_that_is_furthest_behind_is_told() -> None:
    comparison = Comparison({P: 0, Q: 190})

    comparison.compare({P: {1: fetched(0)}, Q: {1: fetched(197, 193), 2: fetched(197)}})

    assert comparison.text() == (
        "max lag is 7 for partition [t,12] at offset 190 among 2 partitions"
    )


def test_nothing_behind_is_a_lag_of_zero() -> None:
    comparison = Comparison({Q: 197})

    comparison.compare({Q: {1: fetched(197), 2: fetched(197)}})

    assert comparison.text() == (
        "max lag is 0 for partition [t,12] at offset 197 among 1 partitions"
    )


def test_a_replica_that_does_not_answer_holds_the_others_up() -> None:
    comparison = Comparison({P: 0})

    assert comparison.compare({P: {1: fetched(10, 9), 2: Fetched()}}) == []
    assert (comparison.offsets, comparison.max_lag) == ({P: 0}, 10)


def test_another_checksum_is_told_and_passed_over() -> None:
    comparison = Comparison({P: 0})

    (found,) = comparison.compare({P: {2: fetched(10, 4, checksum=8), 1: fetched(10, 4)}})

    assert not found.is_offset
    assert found.text() == (
        "partition [t,0] has unmatched checksum at offset 4; replica 1's checksum 7; "
        "replica 2's checksum 8"
    )
    assert comparison.offsets == {P: 5}


def test_another_offset_ends_the_comparison_of_the_partition() -> None:
    comparison = Comparison({P: 0})

    (found,) = comparison.compare({P: {1: fetched(10, 4, 8), 2: fetched(10, 5, 8)}})

    assert found == Difference(
        place=P, one=1, other=2, one_batch=BatchMark(4, 7), other_batch=BatchMark(5, 7)
    )
    assert found.is_offset
    assert found.text() == (
        "partition [t,0]: replica 1's offset 4 doesn't match replica 2's offset 5"
    )
    assert comparison.offsets == {P: 0}
