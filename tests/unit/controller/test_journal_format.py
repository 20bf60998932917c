from __future__ import annotations

import pytest

from barnabas.controller import journal_format as fmt
from barnabas.controller.journal import Run
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.records.batch import Record, encode_batch
from barnabas.records.control import ControlType, control_key


def feature(level: int) -> mr.FeatureLevelRecord:
    return mr.FeatureLevelRecord(name="f", feature_level=level)


def encoded(*records: Message, base_offset: int = 0, epoch: int = 1) -> bytes:
    data, _ = fmt.encode_run(records, base_offset=base_offset, epoch=epoch, now_ms=5)
    return data


def runs(data: bytes, reader: fmt.RunReader | None = None) -> list[Run]:
    reader = reader or fmt.RunReader()
    found = fmt.scan(data)
    assert found.fault is None
    return [
        run
        for position, header in found.batches
        for run in reader.read(data[position : position + header.size_bytes], header)
    ]


def test_files_are_named_as_kafka_names_them() -> None:
    names = [fmt.segment_name(0), fmt.segment_name(1234), fmt.snapshot_name(1234, 7)]

    assert names == [
        "00000000000000000000.log",
        "00000000000000001234.log",
        "00000000000000001234-0000000007.checkpoint",
    ]
    others = ["leader-epoch-checkpoint", "00000000000000000000.index", "x.log", "1-1.checkpoint"]
    assert fmt.segment_offsets(names[::-1] + others) == [0, 1234]
    assert fmt.snapshot_ids([*names, *others, fmt.snapshot_name(9, 1)]) == [(1234, 7), (9, 1)]


def test_one_run_is_one_batch() -> None:
    data, end = fmt.encode_run([feature(1), feature(2)], base_offset=7, epoch=3, now_ms=5)

    ((position, header),) = fmt.scan(data, base_offset=7).batches
    assert (position, header.base_offset, header.last_offset, end) == (0, 7, 8, 9)
    assert (header.leader_epoch, header.max_timestamp, header.producer_id) == (3, 5, -1)
    assert list(fmt.RunReader().read(data, header)) == [
        Run(records=(feature(1), feature(2)), last_offset=8, epoch=3)
    ]


def test_a_run_too_large_for_one_batch_is_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmt, "BATCH_BYTES_MAX", 40)
    records = tuple(feature(level) for level in range(20))

    data, end = fmt.encode_run(records, base_offset=0, epoch=1, now_ms=5)

    batches = fmt.scan(data).batches
    assert len(batches) > 5
    assert all(header.size_bytes < 200 for _, header in batches)
    assert end == 22
    assert runs(data) == [Run(records=records, last_offset=21, epoch=1)]
    reader = fmt.RunReader()
    torn = data[: batches[-1][0]]
    assert runs(torn, reader) == []
    assert reader.in_transaction


def test_an_aborted_transaction_counts_for_its_offsets_only() -> None:
    data = encoded(mr.BeginTransactionRecord(), feature(1), mr.AbortTransactionRecord())

    assert runs(data) == [Run(records=(), last_offset=2, epoch=1)]


def test_records_around_transactions_in_one_batch_are_runs_of_their_own() -> None:
    data = encoded(
        feature(1),
        mr.BeginTransactionRecord(),
        feature(2),
        mr.EndTransactionRecord(),
        feature(3),
    )

    assert runs(data) == [
        Run(records=(feature(1),), last_offset=0, epoch=1),
        Run(records=(feature(2),), last_offset=3, epoch=1),
        Run(records=(feature(3),), last_offset=4, epoch=1),
    ]


def test_a_new_writers_mark_is_an_empty_run() -> None:
    data = fmt.encode_leader_change(node_id=1, base_offset=0, epoch=4, now_ms=5)

    assert runs(data) == [Run(records=(), last_offset=0, epoch=4)]


def test_a_mark_within_a_transaction_does_not_end_it() -> None:
    data = (
        encoded(mr.BeginTransactionRecord(), feature(1))
        + fmt.encode_leader_change(node_id=1, base_offset=2, epoch=2, now_ms=5)
        + encoded(mr.AbortTransactionRecord(), feature(2), base_offset=3, epoch=2)
    )

    assert runs(data) == [
        Run(records=(), last_offset=3, epoch=2),
        Run(records=(feature(2),), last_offset=4, epoch=2),
    ]


FIRST = encoded(feature(1))
SECOND = encoded(feature(2), base_offset=1)


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        (SECOND[:30], "30 bytes are no batch"),
        (SECOND[:-1], "ends after"),
        (SECOND[:-1] + b"\xff", "checksum"),
        (bytes(100), "smaller"),
        (encoded(feature(2), base_offset=5), "offset 5 instead of 1"),
        (encoded(feature(2), base_offset=1, epoch=0), "epoch 0 follows 1"),
    ],
    ids=["part of a header", "part of a body", "wrong", "zeros", "gap", "epoch"],
)
def test_a_scan_stops_at_the_first_batch_that_is_not_valid(tail: bytes, fault: str) -> None:
    found = fmt.scan(FIRST + tail)

    assert [header.base_offset for _, header in found.batches] == [0]
    assert found.size == len(FIRST)
    assert found.fault is not None
    assert fault in found.fault


def test_checksums_are_only_looked_at_where_something_will_be_read() -> None:
    damaged = FIRST[:-1] + b"\xff"

    assert fmt.scan(damaged + SECOND, check_from=1).fault is None
    assert fmt.scan(damaged + SECOND, check_from=0).fault is not None


def test_a_snapshot_has_a_header_records_and_a_footer() -> None:
    records = [feature(level) for level in range(2500)]
    carried = {ControlType.KRAFT_VERSION: b"v", ControlType.KRAFT_VOTERS: b"w"}

    data = fmt.encode_snapshot(records, epoch=3, now_ms=9, last_timestamp=8, carried=carried)

    assert fmt.is_whole_snapshot(data)
    assert fmt.decode_snapshot(data) == (tuple(records), carried)
    batches = fmt.scan(data).batches
    assert [header.count for _, header in batches] == [3, 1000, 1000, 500, 1]
    assert [header.is_control for _, header in batches] == [True, False, False, False, True]


def test_part_of_a_snapshot_is_no_snapshot() -> None:
    data = fmt.encode_snapshot([feature(1)], epoch=3, now_ms=9, last_timestamp=8)
    ends = [position for position, _ in fmt.scan(data).batches]

    for size in (0, 10, *ends, len(data) - 1):
        assert not fmt.is_whole_snapshot(data[:size])
    unknown = encode_batch(
        [Record(timestamp=1, key=control_key(ControlType.LEADER_CHANGE), value=b"")], control=True
    )
    assert not fmt.is_whole_snapshot(bytes(unknown))
