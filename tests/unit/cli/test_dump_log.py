"""`kafka-dump-log` on files that are made here; Apache Kafka's tool on the same kind of files is in
`tests/conformance`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas.cli.main import run_tool
from barnabas.records.batch import Record, encode_batch
from barnabas.records.compression import Codec
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker
from barnabas.storage import producer_snapshot, txn_index
from barnabas.storage.producer_state import AppendedBatch, ProducerEntry

Captured = pytest.CaptureFixture[str]
LOG = "00000000000000000000.log"


def run(*argv: str) -> int:
    return run_tool("kafka-dump-log", "barnabas.cli.dump_log", argv)


def dump(capsys: Captured, path: object, *argv: str) -> tuple[int, list[str], list[str]]:
    status = run("--files", str(path), *argv)
    out, err = capsys.readouterr()
    return status, out.splitlines(), err.splitlines()


def batch(first: int, values: Sequence[bytes | None], codec: Codec = Codec.NONE) -> bytes:
    records = [
        Record(timestamp=1000 + first + n, key=b"k", value=value, headers=(("h", b"1"),))
        for n, value in enumerate(values)
    ]
    return bytes(encode_batch(records, base_offset=first, codec=codec, leader_epoch=3))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Offsets 0 to 2 and 5, and the end of a transaction."""
    marker = encode_end_txn_marker(
        EndTxnMarker(ControlType.COMMIT, 7),
        producer_id=9,
        producer_epoch=1,
        timestamp=2000,
        base_offset=6,
    )
    path = tmp_path / LOG
    path.write_bytes(batch(0, [b"a", None, b"c"], Codec.GZIP) + batch(5, [b"x"]) + bytes(marker))
    return path


def test_batches_are_told_one_a_line(capsys: Captured, log: Path) -> None:
    status, lines, told = dump(capsys, log)

    assert (status, told) == (0, [])
    assert lines[:2] == [f"Dumping {log}", "Log starting offset: 0"]
    assert lines[2].startswith(
        "baseOffset: 0 lastOffset: 2 count: 3 baseSequence: -1 lastSequence: -1 producerId: -1 "
        "producerEpoch: -1 partitionLeaderEpoch: 3 isTransactional: false isControl: false "
        "deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1002 size: "
    )
    assert " magic: 2 compresscodec: gzip crc: " in lines[2]
    assert all(line.endswith(" isvalid: true") for line in lines[2:])
    assert "isTransactional: true isControl: true" in lines[4]


def test_records_are_told_under_their_batch(capsys: Captured, log: Path) -> None:
    status, lines, told = dump(capsys, log, "--print-data-log")

    assert status == 0
    assert [line for line in lines if line.startswith("|")] == [
        (
            "| offset: 0 CreateTime: 1000 keySize: 1 valueSize: 1 sequence: -1 "
            "headerKeys: [h] key: k payload: a"
        ),
        "| offset: 1 CreateTime: 1001 keySize: 1 valueSize: -1 sequence: -1 headerKeys: [h] key: k",
        (
            "| offset: 2 CreateTime: 1002 keySize: 1 valueSize: 1 sequence: -1 "
            "headerKeys: [h] key: k payload: c"
        ),
        (
            "| offset: 5 CreateTime: 1005 keySize: 1 valueSize: 1 sequence: -1 "
            "headerKeys: [h] key: k payload: x"
        ),
        (
            "| offset: 6 CreateTime: 2000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
            "endTxnMarker: COMMIT coordinatorEpoch: 7"
        ),
    ]
    assert told == [f"Non-consecutive offsets in {log}", "  2 is followed by 5"]


def test_metadata_of_records_can_be_left_out(capsys: Captured, log: Path) -> None:
    _, lines, _ = dump(capsys, log, "--print-data-log", "--skip-record-metadata")

    assert lines[3:6] == ["| key: k payload: a", "| key: k", "| key: k payload: c"]
    assert lines[-1] == ""


def test_no_more_is_read_than_wished(capsys: Captured, log: Path) -> None:
    size = len(batch(0, [b"a", None, b"c"], Codec.GZIP))

    status, lines, _ = dump(capsys, log, "--max-bytes", str(size + 10))

    assert (status, len(lines)) == (0, 3)


def test_a_wrong_checksum_is_told_in_one_line_at_the_end(capsys: Captured, log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)

    status, lines, told = dump(capsys, log)

    assert status == 1
    assert lines[-1].endswith("isvalid: false")
    assert told == [
        (
            f"kafka-dump-log: 1 file is damaged, of 1: {LOG}: the checksum of the batch at "
            f"position {len(data) - 78} is wrong"
        )
    ]


def test_records_after_those_that_make_no_sense_are_shown(capsys: Captured, log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[61:70] = b"\xff" * 9
    log.write_bytes(data)

    status, lines, told = dump(capsys, log, "--deep-iteration")

    assert status == 1
    assert [line.split()[2] for line in lines if line.startswith("| ")] == ["5", "6"]
    assert told[-1].startswith(f"kafka-dump-log: 1 file is damaged, of 1: {LOG}: the checksum")


@pytest.mark.parametrize("rest", [b"short", b"long enough to be taken for a batch, but none"])
def test_what_is_no_batch_at_the_end_is_told(capsys: Captured, log: Path, rest: bytes) -> None:
    log.write_bytes(log.read_bytes() + rest)

    status, lines, told = dump(capsys, log)

    assert status == 1
    assert lines[-1] == f"Found {len(rest)} invalid bytes at the end of {LOG}"
    assert told == [
        f"kafka-dump-log: 1 file is damaged, of 1: {LOG}: {len(rest)} bytes at its end are no batch"
    ]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (struct.pack(">qiib", 0, 3, 0, 2), "Found record size 3 smaller than"),
        (struct.pack(">qiib", 0, 40, 0, 1), "of format 1, older than Kafka 0.11"),
        (struct.pack(">qiib", 0, 40, 0, 2), "has no header"),
    ],
)
def test_bytes_that_cannot_be_a_batch_end_the_file(
    capsys: Captured, log: Path, head: bytes, reason: str
) -> None:
    log.write_bytes(head.ljust(200, b"\0"))

    status, lines, told = dump(capsys, log)

    assert (status, len(lines), len(told)) == (1, 2, 1)
    assert reason in told[0]


def test_other_files_are_dumped_though_one_is_damaged(
    capsys: Captured, log: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "nonsense.log"
    bad.write_bytes(b"")

    status, lines, told = dump(capsys, f"{bad},{log}")

    assert status == 1
    assert len(lines) == 6
    assert told == [
        (
            "kafka-dump-log: 1 file is damaged, of 2: nonsense.log: its name does not begin with "
            "an offset"
        )
    ]


def test_a_snapshot_of_metadata_is_told_by_its_end(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000042-0000000007.checkpoint"
    path.write_bytes(batch(0, [b"x"]))
    boot = tmp_path / "bootstrap.checkpoint"
    boot.write_bytes(b"")

    _, lines, _ = dump(capsys, f"{path},{boot}")

    assert lines[1] == "Snapshot end offset: 42, epoch: 7"
    assert lines[-1] == "KRaft bootstrap snapshot"


@pytest.fixture
def indexed(log: Path, tmp_path: Path) -> Path:
    """A segment with an entry for its second batch in both indexes."""
    position = len(batch(0, [b"a", None, b"c"], Codec.GZIP))
    (tmp_path / LOG.replace(".log", ".index")).write_bytes(struct.pack(">ii", 5, position))
    (tmp_path / LOG.replace(".log", ".timeindex")).write_bytes(struct.pack(">qi", 1005, 5))
    return tmp_path


def of(folder: Path, suffix: str) -> Path:
    return folder / LOG.replace(".log", suffix)


def test_entries_of_indexes_are_told(capsys: Captured, indexed: Path) -> None:
    position = len(batch(0, [b"a", None, b"c"], Codec.GZIP))

    both = f"{of(indexed, '.index')},{of(indexed, '.timeindex')}"
    status, lines, told = dump(capsys, both)

    assert (status, told) == (0, [])
    assert lines[1::2] == [f"offset: 5 position: {position}", "timestamp: 1005 offset: 5"]
    assert dump(capsys, both, "--verify-index-only")[1] == lines[::2]


def test_zeros_of_a_file_with_room_set_aside_are_not_entries(
    capsys: Captured, indexed: Path
) -> None:
    for suffix in (".index", ".timeindex"):
        path = of(indexed, suffix)
        path.write_bytes(path.read_bytes() + bytes(240))

        status, lines, _ = dump(capsys, path)

        assert (status, len(lines)) == (0, 2)


def test_an_index_that_does_not_fit_its_log_is_told(capsys: Captured, indexed: Path) -> None:
    of(indexed, ".index").write_bytes(struct.pack(">ii", 1, 0))
    of(indexed, ".timeindex").write_bytes(struct.pack(">qiqi", 1006, 5, 1000, 6))
    index, times = of(indexed, ".index"), of(indexed, ".timeindex")

    status, _, told = dump(capsys, f"{index},{times}")

    assert status == 1
    assert told == [
        f"Mismatches in :{index}",
        "  Index offset: 1, log offset: 2",
        f"Found timestamp mismatch in :{times}",
        "  Index timestamp: 1006, log timestamp: 1005",
        "  Index timestamp: 1000, log timestamp: 2000",
        f"Found out of order timestamp in :{times}",
        "  Index timestamp: 1000, Previously indexed timestamp: 1006",
        f"kafka-dump-log: 2 files are damaged, of 2: {index.name} does not fit its log",
    ]


def test_an_offset_that_no_batch_ends_with_is_not_found(capsys: Captured, indexed: Path) -> None:
    times = of(indexed, ".timeindex")
    times.write_bytes(struct.pack(">qiqi", 1, 1, 2, 99))

    _, _, told = dump(capsys, times)

    assert told[:3] == [
        f"The following indexed offsets are not found in :{times}",
        "Indexed offset: 1, found log offset: 2",
        "Indexed offset: 99, found log offset: -1",
    ]


@pytest.mark.parametrize(
    ("suffix", "data", "status"),
    [
        (".index", b"", 0),
        (".timeindex", b"", 0),
        (".index", struct.pack(">ii", 5, 3), 0),
        (".index", struct.pack(">ii", -5, 3), 1),
        (".index", bytes(9), 1),
        (".timeindex", struct.pack(">qiqi", 9, 1, 8, 2), 1),
        (".timeindex", struct.pack(">qi", 9, -1), 1),
        (".timeindex", bytes(13), 1),
    ],
)
def test_the_check_of_a_start_is_made_alone(
    capsys: Captured, tmp_path: Path, suffix: str, data: bytes, status: int
) -> None:
    """Without a log beside it."""
    path = of(tmp_path, suffix)
    path.write_bytes(data)

    found, lines, told = dump(capsys, path, "--index-sanity-check")

    assert (found, len(told)) == (status, status)
    assert status or lines[1].endswith(("passed sanity check.", "is empty."))


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_without_its_log_is_told(capsys: Captured, tmp_path: Path, suffix: str) -> None:
    of(tmp_path, suffix).write_bytes(bytes(24))

    status, _, told = dump(capsys, of(tmp_path, suffix))

    assert status == 1
    assert told[0].endswith("No such file or directory")


def test_producers_and_aborted_transactions_are_told(capsys: Captured, tmp_path: Path) -> None:
    open_one, idle = ProducerEntry(5), ProducerEntry(6)
    open_one.producer_epoch, open_one.last_timestamp, open_one.transaction_start = 2, 77, 10
    open_one.batches = (AppendedBatch(9, 12, 2, 77),)
    snapshot = of(tmp_path, ".snapshot")
    snapshot.write_bytes(producer_snapshot.encode([open_one, idle]))
    index = of(tmp_path, ".txnindex")
    index.write_bytes(txn_index.encode(txn_index.AbortedTransaction(5, 1, 3, 4)))

    status, lines, _ = dump(capsys, f"{snapshot},{index}")

    assert status == 0
    assert lines[1] == (
        "producerId: 5 producerEpoch: 2 coordinatorEpoch: -1 currentTxnFirstOffset: "
        "OptionalLong[10] lastTimestamp: 77 firstSequence: 7 lastSequence: 9 lastOffset: 12 "
        "offsetDelta: 2 timestamp: 77"
    )
    assert lines[2].startswith("producerId: 6 producerEpoch: -1 ")
    assert "currentTxnFirstOffset: OptionalLong.empty" in lines[2]
    assert lines[4] == "version: 0 producerId: 5 firstOffset: 1 lastOffset: 3 lastStableOffset: 4"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a snapshot of 0 bytes"),
        (b"\0\x09" + bytes(20), "Snapshot contained an unknown file version 9"),
        (b"\0\1" + bytes(20), "Snapshot is corrupt (CRC is no longer valid)."),
    ],
)
def test_a_damaged_snapshot_is_told(
    capsys: Captured, tmp_path: Path, data: bytes, reason: str
) -> None:
    path = of(tmp_path, ".snapshot")
    path.write_bytes(data)

    status, _, told = dump(capsys, path)

    assert (status, len(told)) == (1, 1)
    assert reason in told[0]


def test_unknown_files_are_passed_over(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n0\n")

    assert dump(capsys, path) == (0, [f"Dumping {path}"], [f"Ignoring unknown file {path}"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "--files is missing: FILE,..."),
        ("--files ,", "--files: names no file"),
        ("--files /no/such.log", "--files: cannot read /no/such.log: No such file or directory"),
        ("--files . --max-bytes few", '--max-bytes: "few" is not a whole number'),
        ("--files . ", "--files: cannot read .: Is a directory"),
        ("--filse x", "unknown option --filse: did you mean --files?"),
    ],
)
def test_a_wrong_command_line_is_one_line(capsys: Captured, line: str, reason: str) -> None:
    assert run(*line.split()) == 1
    assert capsys.readouterr() == ("", f"kafka-dump-log: {reason}\n")


def test_one_decoder_is_enough(capsys: Captured, log: Path) -> None:
    assert run("--files", str(log), "--offsets-decoder", "--cluster-metadata-decoder") == 1
    assert "cannot be used together" in capsys.readouterr().err


def test_a_value_of_another_type_is_damage(capsys: Captured, log: Path) -> None:
    status, _, told = dump(capsys, log, "--value-decoder-class", "LongDecoder")

    assert status == 1
    assert "LongDeserializer is not 8" in told[-1]
