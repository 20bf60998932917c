"""Which records survive compaction; the model is Apache Kafka's cleaner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from barnabas.base.errors import ApiError
from barnabas.records.batch import (
    BatchHeader,
    Record,
    crc_is_valid,
    decode_records,
    encode_batch,
    read_header,
)
from barnabas.records.compression import Codec
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker
from barnabas.storage.compaction import Compactor, LastRecord, OffsetMap, Transactions, map_batch
from barnabas.storage.txn_index import AbortedTransaction

NOW = 1_700_000_000_000
RETENTION = 1_000
Batches = list[bytes]


def data(
    offset: int,
    *pairs: tuple[bytes | None, bytes | None],
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    transactional: bool = False,
    sequence: int = 0,
) -> bytes:
    """Records one millisecond apart, from the offset as timestamp on."""
    records = [
        Record(timestamp=NOW + offset + i, key=key, value=value)
        for i, (key, value) in enumerate(pairs)
    ]
    return bytes(
        encode_batch(
            records,
            base_offset=offset,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            transactional=transactional,
            leader_epoch=3,
        )
    )


def marker(offset: int, kind: ControlType, producer_id: int) -> bytes:
    return bytes(
        encode_end_txn_marker(
            EndTxnMarker(kind, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=NOW + offset,
            base_offset=offset,
        )
    )


def compact(
    batches: Sequence[bytes],
    *,
    dirty_from: int = 0,
    aborted: Sequence[AbortedTransaction] = (),
    last_records: Mapping[int, LastRecord] | None = None,
    upper_bound: int = 1 << 60,
    now_ms: int = NOW,
    map_bytes: int = 1 << 20,
) -> Batches:
    offsets = OffsetMap(map_bytes, dirty_from)
    first_pass = Transactions(t for t in aborted if t.last_offset >= dirty_from)
    for batch in batches:
        header = read_header(batch)
        if header.last_offset >= dirty_from:
            if offsets.is_full:
                break
            map_batch(offsets, first_pass, header, batch)
    compactor = Compactor(
        offsets,
        Transactions(aborted),
        last_records=last_records or {},
        upper_bound=upper_bound,
        now_ms=now_ms,
        delete_retention_ms=RETENTION,
    )
    kept = [compactor.filter(read_header(batch), batch) for batch in batches]
    left = [bytes(each) for each in kept if each is not None]
    assert all(crc_is_valid(batch, read_header(batch)) for batch in left)
    return left


def surviving(batches: Batches) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for batch in batches for r in decode_records(batch)]


def headers(batches: Batches) -> list[BatchHeader]:
    return [read_header(batch) for batch in batches]


@pytest.mark.parametrize("codec", list(Codec))
def test_the_last_record_of_each_key_survives_where_it_was(codec: Codec) -> None:
    first = data(0, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), codec=codec)
    second = data(3, (b"a", b"2"), (b"d", b"1"), codec=codec)

    left = compact([first, second])

    assert surviving(left) == [
        (1, b"b", b"1"),
        (2, b"c", b"1"),
        (3, b"a", b"2"),
        (4, b"d", b"1"),
    ]
    assert left[1] == second, "a batch that loses nothing is not touched"
    changed, original = read_header(left[0]), read_header(first)
    assert changed.count == 2
    same = ("base_offset", "last_offset_delta", "leader_epoch", "attributes", "base_timestamp")
    assert all(getattr(changed, name) == getattr(original, name) for name in same)


def test_timestamps_of_survivors_stay_and_the_greatest_is_found_anew() -> None:
    first = data(0, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"z", b"1"))

    (left, _) = compact([first, data(4, (b"z", b"2"))])

    assert [r.timestamp for r in decode_records(left)] == [NOW + 1, NOW + 2]
    assert read_header(left).max_timestamp == NOW + 2


def test_log_append_time_stays_that_of_the_batch() -> None:
    records = [Record(timestamp=5, key=b"a", value=b"1"), Record(timestamp=5, key=b"b", value=b"1")]
    first = bytes(encode_batch(records, log_append_time=NOW))

    (left, _) = compact([first, data(2, (b"b", b"2"))])

    assert read_header(left).max_timestamp == NOW
    assert [r.timestamp for r in decode_records(left)] == [NOW]


def test_a_batch_with_nothing_left_goes() -> None:
    left = compact([data(0, (b"a", b"1")), data(1, (b"a", b"2"))])

    assert [h.base_offset for h in headers(left)] == [1]


def test_records_without_a_key_go() -> None:
    assert surviving(compact([data(0, (None, b"1"), (b"a", b"1"))])) == [(1, b"a", b"1")]


def test_clean_records_give_way_to_dirty_ones_only() -> None:
    clean = [data(0, (b"a", b"1"), (b"b", b"1"))]
    dirty = [data(2, (b"b", b"2"))]

    assert surviving(compact(clean + dirty, dirty_from=2)) == [(0, b"a", b"1"), (2, b"b", b"2")]


def test_what_lies_beyond_the_map_is_kept() -> None:
    batches = [data(i, (b"k%d" % (i % 2), b"%d" % i)) for i in range(6)]

    left = compact(batches, map_bytes=150)

    assert [offset for offset, _, _ in surviving(left)] == [0, 1, 2, 3, 4, 5]
    assert [offset for offset, _, _ in surviving(compact(batches))] == [4, 5]


def test_a_tombstone_beyond_the_map_has_no_horizon_yet() -> None:
    batches = [data(0, (b"a", b"1")), data(1, (b"b", b"1")), data(2, (b"a", None))]

    assert compact(batches, map_bytes=150) == batches


@pytest.mark.parametrize("size", [31, 32, 33, 200])
def test_keys_of_any_length_are_told_apart(size: int) -> None:
    one, two = b"x" * size, b"x" * (size - 1) + b"y"

    left = compact([data(0, (one, b"1"), (two, b"1"), (one, b"2"))])

    assert surviving(left) == [(1, two, b"1"), (2, one, b"2")]


# Tombstones.


def test_a_tombstone_removes_older_values_and_gets_a_horizon() -> None:
    left = compact([data(0, (b"a", b"1")), data(1, (b"a", None), (b"b", b"1"))])

    assert surviving(left) == [(1, b"a", None), (2, b"b", b"1")]
    (header,) = headers(left)
    assert header.delete_horizon == NOW + RETENTION
    assert [r.timestamp for r in decode_records(left[0])] == [NOW + 1, NOW + 2]
    assert header.max_timestamp == NOW + 2


@pytest.mark.parametrize("codec", list(Codec))
def test_a_tombstone_goes_at_its_horizon_and_not_before(codec: Codec) -> None:
    batches = [data(0, (b"a", None), (b"b", b"1"), codec=codec)]
    with_horizon = compact(batches)

    before = compact(with_horizon, dirty_from=2, now_ms=NOW + RETENTION - 1)
    assert before == with_horizon, "the horizon does not move"
    after = compact(with_horizon, dirty_from=2, now_ms=NOW + RETENTION)
    assert surviving(after) == [(1, b"b", b"1")]
    assert [r.timestamp for r in decode_records(after[0])] == [NOW + 1]
    assert read_header(after[0]).delete_horizon == NOW + RETENTION


def test_a_tombstone_that_is_overwritten_goes_at_once() -> None:
    left = compact([data(0, (b"a", None)), data(1, (b"a", b"2"))])

    assert surviving(left) == [(1, b"a", b"2")]
    assert read_header(left[0]).delete_horizon is None


# Transactions.


def test_aborted_records_go_and_do_not_hide_older_ones() -> None:
    aborted = [AbortedTransaction(7, 1, 3, 4)]
    batches = [
        data(0, (b"a", b"old")),
        data(1, (b"a", b"new"), (b"b", b"1"), producer_id=7, transactional=True),
        marker(3, ControlType.ABORT, 7),
        data(4, (b"c", b"1")),
    ]

    left = compact(batches, aborted=aborted)

    kept = [h.base_offset for h in headers(left)]
    assert kept == [0, 3, 4], "the marker stays: records of its transaction were seen"
    assert surviving([left[0], left[2]]) == [(0, b"a", b"old"), (4, b"c", b"1")]
    assert read_header(left[1]).delete_horizon is None


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_a_marker_of_nothing_gets_a_horizon_and_goes_then(kind: ControlType) -> None:
    batches = [data(0, (b"a", b"1")), marker(3, kind, 7), data(4, (b"c", b"1"))]
    aborted = [AbortedTransaction(7, 1, 3, 4)] if kind is ControlType.ABORT else []

    first = compact(batches, aborted=aborted)
    assert read_header(first[1]).delete_horizon == NOW + RETENTION
    (record,) = decode_records(first[1])
    assert record.timestamp == NOW + 3
    again = compact(first, dirty_from=5, aborted=aborted, now_ms=NOW + RETENTION - 1)
    assert again == first
    later = compact(first, dirty_from=5, aborted=aborted, now_ms=NOW + RETENTION)
    assert [h.base_offset for h in headers(later)] == [0, 4]


def test_a_committed_marker_stays_as_long_as_its_records() -> None:
    batches = [
        data(0, (b"a", b"1"), producer_id=7, transactional=True),
        marker(1, ControlType.COMMIT, 7),
    ]

    assert compact(batches, now_ms=NOW + 10 * RETENTION) == batches
    gone = compact([*batches, data(2, (b"a", b"2"))])
    assert [h.base_offset for h in headers(gone)] == [1, 2], "seen in this pass"
    assert read_header(gone[0]).delete_horizon is None
    then = compact(gone, dirty_from=3)
    assert read_header(then[0]).delete_horizon == NOW + RETENTION


def test_only_markers_that_stay_keep_their_entry_in_the_index() -> None:
    seen, unseen = AbortedTransaction(7, 0, 1, 2), AbortedTransaction(8, 1, 2, 3)
    transactions = Transactions([seen, unseen])
    batch = data(0, (b"a", b"1"), producer_id=7, transactional=True)

    assert transactions.is_aborted(read_header(batch))
    for offset, producer_id in ((1, 7), (2, 8)):
        control = marker(offset, ControlType.ABORT, producer_id)
        transactions.is_needless(read_header(control), control)
    assert transactions.take_kept_aborted() == [seen]
    assert transactions.take_kept_aborted() == []


def test_a_producer_may_commit_after_it_aborted() -> None:
    aborted = [AbortedTransaction(7, 0, 1, 2)]
    batches = [
        data(0, (b"a", b"aborted"), producer_id=7, transactional=True),
        marker(1, ControlType.ABORT, 7),
        data(2, (b"a", b"committed"), producer_id=7, transactional=True, sequence=1),
        marker(3, ControlType.COMMIT, 7),
    ]

    left = compact(batches, aborted=aborted)
    assert [h.base_offset for h in headers(left)] == [1, 2, 3]
    from_the_middle = compact(batches[1:], dirty_from=2, aborted=aborted)
    assert [h.base_offset for h in headers(from_the_middle)] == [1, 2, 3]


def test_other_control_records_stay() -> None:
    batch = bytes(
        encode_batch(
            [Record(timestamp=NOW, key=bytes.fromhex("00000002"), value=b"x")], control=True
        )
    )

    assert compact([batch], now_ms=NOW + 10 * RETENTION) == [batch]


# What is kept empty.


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_the_last_batch_of_an_active_producer_stays_without_records(codec: Codec) -> None:
    first = data(0, (b"a", b"1"), (b"b", b"1"), producer_id=7, sequence=40, codec=codec)
    batches = [first, data(2, (b"a", b"2"), (b"b", b"2"))]

    left = compact(batches, last_records={7: LastRecord(0, 1)})

    empty, original = read_header(left[0]), read_header(first)
    assert (empty.count, empty.codec, empty.size_bytes) == (0, Codec.NONE, 61)
    assert (empty.base_offset, empty.last_offset) == (0, 1)
    assert empty.last_sequence == original.last_sequence == 41
    assert empty.max_timestamp == original.max_timestamp
    assert list(decode_records(left[0])) == []
    again = compact(left, dirty_from=4, last_records={7: LastRecord(0, 1)})
    assert again == left
    gone = compact(left, dirty_from=4, last_records={7: LastRecord(0, 9)})
    assert gone == left[1:]
    assert compact(batches) == [batches[1]], "an expired producer needs no batch"


def test_the_marker_of_a_producer_without_data_stays() -> None:
    batches = [marker(0, ControlType.COMMIT, 7), data(1, (b"a", b"1"))]
    known = {7: LastRecord(0, None)}

    first = compact(batches, last_records=known)
    later = compact(first, dirty_from=2, last_records=known, now_ms=NOW + RETENTION)

    assert [(h.base_offset, h.count, h.is_control) for h in headers(later)] == [
        (0, 0, True),
        (1, 1, False),
    ]
    assert compact(later, dirty_from=2, last_records={7: LastRecord(1, None)}) == later[1:]


def test_the_last_batch_stays_so_that_the_end_is_known() -> None:
    batches = [data(0, (b"a", b"1")), data(1, (None, b"x"), (None, b"y"))]

    left = compact(batches, upper_bound=3)

    assert [(h.base_offset, h.last_offset, h.count) for h in headers(left)] == [
        (0, 0, 1),
        (1, 2, 0),
    ]


def test_a_batch_that_cannot_be_read_is_an_error_and_not_a_loss() -> None:
    batch = bytearray(data(0, (b"a", b"1"), (b"b", b"2")))
    batch[61] = 200

    with pytest.raises(ApiError):
        compact([bytes(batch)])


def test_the_map_counts_what_it_holds() -> None:
    offsets = OffsetMap(10_000, 0)
    for i in range(30):
        offsets.put(b"key-%d" % i, i)
    used = offsets.used_bytes
    for i in range(30):
        offsets.put(b"key-%d" % i, 100 + i)

    assert offsets.used_bytes == used
    assert not offsets.is_full
    assert offsets.last_offset_of(b"key-3") == 103
    assert offsets.last_offset_of(b"other") == -1
    for i in range(60):
        offsets.put(b"more-%d" % i, i)
    assert offsets.is_full
