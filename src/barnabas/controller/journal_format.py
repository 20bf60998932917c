"""The bytes of an embedded journal, which are Kafka's own metadata log.  Pure: no file is touched.

    00000000000000000000.log                   record batches (v2); named after the first offset
    00000000000000001234-0000000007.checkpoint snapshot of everything below offset 1234, whose last
                                               record has epoch 7

A batch holds framed metadata records (`record_codec`).  One batch is one run; a run that is too
large for one batch stands between a BeginTransaction and an EndTransaction record.  Control batches
say that a writer with a new epoch took over.  Offsets have no gaps, epochs never go down, and a
batch is valid when its CRC is: the first that is not, in the last segment, is where a crash tore
the file, and everything from there on was never committed.

A snapshot is batches too, numbered from 0: a header, the records, a footer (without which it is
not a snapshot).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.controller.journal import Run
from barnabas.controller.record_codec import decode_record, encode_record
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.raft_records import (
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
)
from barnabas.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Record,
    check_framing,
    crc_is_valid,
    decode_records,
    encode_batch,
    read_header,
)
from barnabas.records.control import ControlType, control_key, control_type

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

BATCH_BYTES_MAX = 8 * 1024 * 1024
"""Kafka reads no larger metadata batch."""
SNAPSHOT_BATCH_RECORDS = 1000

_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_CARRIED = (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS)


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020}.log"


def snapshot_name(end_offset: int, epoch: int) -> str:
    return f"{end_offset:020}-{epoch:010}.checkpoint"


def segment_offsets(names: Sequence[str]) -> list[int]:
    """The base offsets of the segments among `names`, in order."""
    return sorted(int(found[1]) for name in names if (found := _SEGMENT.fullmatch(name)))


def snapshot_ids(names: Sequence[str]) -> list[tuple[int, int]]:
    """(end offset, epoch) of the snapshots among `names`, newest first."""
    found = (_SNAPSHOT.fullmatch(name) for name in names)
    return sorted(((int(m[1]), int(m[2])) for m in found if m), reverse=True)


# Writing


def encode_run(
    records: Sequence[Message], *, base_offset: int, epoch: int, now_ms: int
) -> tuple[bytes, int]:
    """The run as bytes, and the offset after it."""
    assert records, "a run has at least one record"
    values = [encode_record(record) for record in records]
    if len(values) == 1 or sum(map(len, values)) < BATCH_BYTES_MAX // 2:
        return bytes(_data_batch(values, base_offset, epoch, now_ms)), base_offset + len(values)
    values.insert(0, encode_record(mr.BeginTransactionRecord(name=type(records[0]).__name__)))
    values.append(encode_record(mr.EndTransactionRecord()))
    out = bytearray()
    for chunk in _chunks(values):
        out += _data_batch(chunk, base_offset, epoch, now_ms)
        base_offset += len(chunk)
    return bytes(out), base_offset


def _chunks(values: list[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for value in values:
        if chunk and size + len(value) > BATCH_BYTES_MAX // 2:
            yield chunk
            chunk, size = [], 0
        chunk.append(value)
        size += len(value)
    yield chunk


def _data_batch(values: Sequence[bytes], base_offset: int, epoch: int, now_ms: int) -> bytearray:
    return encode_batch(
        [Record(timestamp=now_ms, value=value) for value in values],
        base_offset=base_offset,
        leader_epoch=epoch,
    )


def _control_batch(
    controls: Sequence[tuple[ControlType, bytes]], base_offset: int, epoch: int, now_ms: int
) -> bytearray:
    return encode_batch(
        [Record(timestamp=now_ms, key=control_key(kind), value=value) for kind, value in controls],
        base_offset=base_offset,
        leader_epoch=epoch,
        control=True,
    )


def encode_leader_change(*, node_id: int, base_offset: int, epoch: int, now_ms: int) -> bytes:
    """The batch with which a writer takes over."""
    voters = [LeaderChangeVoter(voter_id=node_id)]
    message = LeaderChangeMessage(leader_id=node_id, voters=voters, granting_voters=voters)
    control = (ControlType.LEADER_CHANGE, message.encode(0))
    return bytes(_control_batch([control], base_offset, epoch, now_ms))


def snapshot_batches(
    records: Sequence[Message],
    *,
    epoch: int,
    now_ms: int,
    last_timestamp: int,
    carried: dict[ControlType, bytes] | None = None,
) -> Iterator[bytes]:
    """The batches of a snapshot, each made when it is asked for.

    `carried`: control records of another kind of quorum to keep.
    """
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp).encode(0)
    controls = [(ControlType.SNAPSHOT_HEADER, header), *(carried or {}).items()]
    yield bytes(_control_batch(controls, 0, epoch, now_ms))
    offset = len(controls)
    for first in range(0, len(records), SNAPSHOT_BATCH_RECORDS):
        chunk = records[first : first + SNAPSHOT_BATCH_RECORDS]
        values = [encode_record(record) for record in chunk]
        yield bytes(_data_batch(values, offset, epoch, now_ms))
        offset += len(chunk)
    footer = (ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord().encode(0))
    yield bytes(_control_batch([footer], offset, epoch, now_ms))


def encode_snapshot(
    records: Sequence[Message],
    *,
    epoch: int,
    now_ms: int,
    last_timestamp: int,
    carried: dict[ControlType, bytes] | None = None,
) -> bytes:
    """A whole snapshot file, of all its `snapshot_batches`."""
    batches = snapshot_batches(
        records, epoch=epoch, now_ms=now_ms, last_timestamp=last_timestamp, carried=carried
    )
    return b"".join(batches)


# Reading


class Scan(NamedTuple):
    """What stands in the bytes of a segment or snapshot."""

    batches: list[tuple[int, BatchHeader]]
    """Position and header of every valid batch, up to the first that is not."""
    size: int
    """Bytes of all of them."""
    fault: str | None
    """Why the scan did not reach the end."""


def scan(data: bytes, *, base_offset: int = 0, check_from: int = 0) -> Scan:
    """Find the valid batches; the first of them must have `base_offset`.

    Checksums are not looked at below the offset `check_from`: nobody reads what is there.
    """
    batches: list[tuple[int, BatchHeader]] = []
    view = memoryview(data)
    position = 0
    expected, epoch = base_offset, -1
    while position < len(data):
        fault, header = _next_batch(view, position, expected, epoch, check_from)
        if header is None:
            return Scan(batches, position, fault)
        batches.append((position, header))
        position += header.size_bytes
        expected, epoch = header.next_offset, header.leader_epoch
    return Scan(batches, position, None)


def _next_batch(
    view: memoryview, position: int, expected: int, epoch: int, check_from: int
) -> tuple[str, BatchHeader | None]:
    left = len(view) - position
    if left < HEADER_SIZE:
        return f"{left} bytes are no batch", None
    header = read_header(view, position)
    try:
        check_framing(header)
    except CorruptMessage as error:
        return str(error), None
    if header.size_bytes > left:
        return f"a batch of {header.size_bytes} bytes ends after {left}", None
    if header.last_offset >= check_from and not crc_is_valid(view[position:], header):
        return "a batch's checksum is wrong", None
    if header.base_offset != expected:
        return f"a batch starts at offset {header.base_offset} instead of {expected}", None
    if header.leader_epoch < epoch:
        return f"epoch {header.leader_epoch} follows {epoch}", None
    return "", header


def is_whole_snapshot(data: bytes) -> bool:
    """Whether a snapshot file has all its batches, the footer last."""
    found = scan(data)
    if found.fault is not None or not found.batches:
        return False
    position, header = found.batches[-1]
    if not header.is_control:
        return False
    kinds = [control_type(raw.key) for raw in decode_records(data[position:], header)]
    return kinds[-1] is ControlType.SNAPSHOT_FOOTER


def decode_snapshot(data: bytes) -> tuple[tuple[Message, ...], dict[ControlType, bytes]]:
    """The records of a whole snapshot file, and the control records to carry on."""
    reader = RunReader()
    records: list[Message] = []
    for position, header in scan(data).batches:
        for run in reader.read(data[position : position + header.size_bytes], header):
            records += run.records
    return tuple(records), reader.carried


@dataclass(slots=True)
class RunReader:
    """Puts batches together to runs; a transaction may span many batches."""

    carried: dict[ControlType, bytes] = field(default_factory=dict)
    """Newest control records that a snapshot must keep although nothing here reads them."""
    _transaction: list[Message] | None = None

    @property
    def in_transaction(self) -> bool:
        """The last transaction has begun and neither ended nor aborted."""
        return self._transaction is not None

    def read(self, data: bytes, header: BatchHeader) -> Iterator[Run]:
        """The runs that end in this batch.  DecodeError if a record in it cannot be read."""
        if header.is_control:
            self._note_control(data, header)
            if self._transaction is None:
                yield Run(records=(), last_offset=header.last_offset, epoch=header.leader_epoch)
            return
        gathered: list[Message] = []
        last_offset = header.base_offset - 1
        for raw in decode_records(data, header):
            record = decode_record(raw.value or b"")
            match record:
                case mr.BeginTransactionRecord():
                    assert self._transaction is None, "a transaction in a transaction"
                    if last_offset >= header.base_offset:
                        yield self._run(gathered, last_offset, header)
                    gathered, self._transaction = [], []
                case mr.EndTransactionRecord() | mr.AbortTransactionRecord():
                    assert self._transaction is not None, "the end of no transaction"
                    kept = self._transaction if isinstance(record, mr.EndTransactionRecord) else []
                    self._transaction = None
                    yield self._run(kept, raw.offset, header)
                case _ if record is not None:
                    (gathered if self._transaction is None else self._transaction).append(record)
            last_offset = raw.offset
        if self._transaction is None and (gathered or not _ends_transaction(record)):
            yield self._run(gathered, last_offset, header)

    def _run(self, records: Sequence[Message], last_offset: int, header: BatchHeader) -> Run:
        return Run(records=tuple(records), last_offset=last_offset, epoch=header.leader_epoch)

    def _note_control(self, data: bytes, header: BatchHeader) -> None:
        for raw in decode_records(data, header):
            kind = control_type(raw.key)
            if kind in _CARRIED:
                self.carried[kind] = raw.value or b""


def _ends_transaction(record: Message | None) -> bool:
    return isinstance(record, mr.EndTransactionRecord | mr.AbortTransactionRecord)
