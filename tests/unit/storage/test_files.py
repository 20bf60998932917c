"""Small files: checkpoints, leader epochs, partition metadata, aborted transactions, snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.ids import NO_ID
from barnabas.storage import checkpoint, partition_metadata, producer_snapshot, txn_index
from barnabas.storage.epochs import EpochCache
from barnabas.storage.fs import FilePool
from barnabas.storage.producer_state import AppendedBatch, ProducerEntry
from barnabas.storage.txn_index import AbortedTransaction

TOPIC_ID = bytes(range(16))


def test_a_checkpoint_is_version_count_and_lines() -> None:
    data = checkpoint.encode_offsets({("orders", 0): 12, ("a-b.c", 11): 0})
    assert data == b"0\n2\norders 0 12\na-b.c 11 0\n"
    assert checkpoint.decode_offsets(data) == {("orders", 0): 12, ("a-b.c", 11): 0}
    assert checkpoint.decode_offsets(b"0\n0\n") == {}


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"0",
        b"1\n0\n",
        b"0\nx\n",
        b"0\n2\nt 0 1\n",
        b"0\n1\nt 0\n",
        b"0\n1\nt 0 x\n",
        b"\xff\n0",
    ],
)
def test_a_damaged_checkpoint_reads_as_empty(damaged: bytes, tmp_path: Path) -> None:
    assert checkpoint.decode_offsets(damaged) is None
    path = tmp_path / checkpoint.RECOVERY_POINTS
    pool = FilePool(1)
    assert checkpoint.read_offsets(pool, str(path)) == {}
    path.write_bytes(damaged)
    assert checkpoint.read_offsets(pool, str(path)) == {}


def test_checkpoints_are_read_back(tmp_path: Path) -> None:
    pool = FilePool(1)
    path = str(tmp_path / checkpoint.HIGH_WATERMARKS)
    checkpoint.write_offsets(pool, path, {("t", 3): 5})
    assert checkpoint.read_offsets(pool, path) == {("t", 3): 5}


def test_partition_metadata_names_the_topic_by_id(tmp_path: Path) -> None:
    pool = FilePool(1)
    assert partition_metadata.read_topic_id(pool, str(tmp_path)) == NO_ID
    partition_metadata.write_topic_id(pool, str(tmp_path), TOPIC_ID)
    written = (tmp_path / "partition.metadata").read_bytes()
    assert written == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert partition_metadata.read_topic_id(pool, str(tmp_path)) == TOPIC_ID
    (tmp_path / "partition.metadata").write_bytes(b"version: 0\ntopic_id: ???")
    assert partition_metadata.read_topic_id(pool, str(tmp_path)) == NO_ID


def test_an_aborted_transaction_is_34_bytes() -> None:
    entry = AbortedTransaction(7, 100, 200, 150)
    data = txn_index.encode(entry)
    assert data == bytes.fromhex(
        "0000 0000000000000007 0000000000000064 00000000000000c8 0000000000000096"
    )
    assert txn_index.decode(data, 0) == [entry]
    assert txn_index.decode(data + data[:5], 0) == [entry]


def test_an_aborted_transaction_file_that_cannot_be_right_is_not_believed() -> None:
    data = txn_index.encode(AbortedTransaction(7, 100, 200, 150))
    assert txn_index.decode(data, base_offset=201) is None
    assert txn_index.decode(data + data, base_offset=0) is None
    assert txn_index.decode(b"\x00\x09" + data[2:], base_offset=0) is None


def entry(producer_id: int, **fields: object) -> ProducerEntry:
    made = ProducerEntry(producer_id)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_a_producer_snapshot_has_kafkas_layout() -> None:
    producer = entry(
        5,
        producer_epoch=2,
        last_timestamp=1000,
        coordinator_epoch=3,
        transaction_start=40,
        batches=(AppendedBatch(1, 2, 0, 9), AppendedBatch(9, 42, 2, 1000)),
    )
    data = producer_snapshot.encode([producer])
    assert data[:2] == bytes.fromhex("0001")
    assert data[6:] == bytes.fromhex(
        "00000001 0000000000000005 0002 00000009 000000000000002a 00000002 00000000000003e8"
        "00000003 0000000000000028"
    )
    (again,) = producer_snapshot.decode(data) or ()
    producer.batches = producer.batches[-1:]
    assert again == producer


def test_a_producer_without_batches_survives_a_snapshot() -> None:
    producer = entry(5, producer_epoch=2, last_timestamp=1000, coordinator_epoch=0)
    assert producer_snapshot.decode(producer_snapshot.encode([producer])) == [producer]


@pytest.mark.parametrize("position", [0, 3, 12, 30])
def test_a_damaged_producer_snapshot_is_not_believed(position: int) -> None:
    data = bytearray(producer_snapshot.encode([entry(5, producer_epoch=2)]))
    data[position] ^= 0x40
    assert producer_snapshot.decode(bytes(data)) is None
    assert producer_snapshot.decode(b"") is None
    assert producer_snapshot.decode(bytes(data[:-1])) is None


def epochs(*entries: tuple[int, int]) -> EpochCache:
    cache = EpochCache()
    for epoch, start in entries:
        cache.assign(epoch, start)
    return cache


def test_an_epoch_ends_where_the_next_began() -> None:
    cache = epochs((1, 0), (3, 10), (7, 20))
    assert cache.end_of(1, 30) == (1, 10)
    assert cache.end_of(2, 30) == (1, 10)
    assert cache.end_of(3, 30) == (3, 20)
    assert cache.end_of(7, 30) == (7, 30)
    assert cache.end_of(8, 30) == (-1, -1)
    assert cache.end_of(0, 30) == (0, 0)
    assert cache.end_of(-1, 30) == (-1, -1)
    assert EpochCache().end_of(0, 30) == (-1, -1)


def test_an_epoch_that_appended_nothing_leaves_no_trace() -> None:
    assert epochs((1, 0), (2, 5), (3, 5)).entries == [(1, 0), (3, 5)]


def test_an_epoch_that_began_before_changes_nothing() -> None:
    cache = epochs((1, 0), (2, 5))
    cache.dirty = False
    cache.assign(2, 9)
    cache.assign(1, 9)
    assert cache.entries == [(1, 0), (2, 5)]
    assert not cache.dirty


def test_epochs_follow_the_ends_of_the_log() -> None:
    cache = epochs((1, 0), (2, 5), (3, 9))
    cache.cut_end(9)
    assert cache.entries == [(1, 0), (2, 5)]
    assert cache.latest == 2
    cache.cut_start(7)
    assert cache.entries == [(2, 7)]
    assert [cache.epoch_at(offset) for offset in (6, 7, 100)] == [-1, 2, 2]
    cache.cut_start(3)
    assert cache.entries == [(2, 7)]


def test_the_epoch_file_is_a_checkpoint() -> None:
    cache = epochs((0, 0), (4, 120))
    assert cache.encode() == b"0\n2\n0 0\n4 120\n"
    again = EpochCache.decode(cache.encode())
    assert again is not None
    assert again.entries == cache.entries
    assert again.latest == 4
    assert not again.dirty


@pytest.mark.parametrize("damaged", [b"", b"0\n1\n", b"0\n1\n0 x\n", b"0\n2\n1 5\n0 9\n"])
def test_a_damaged_epoch_file_is_not_believed(damaged: bytes) -> None:
    assert EpochCache.decode(damaged) is None
