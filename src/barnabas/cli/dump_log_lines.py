"""The lines of `kafka-dump-log`: batches, records, entries of indexes and snapshots.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRecord
from barnabas.cli.dump_log_decoders import Parser, java_json
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.json_form import json_form
from barnabas.records.control import ControlType, control_type, end_txn_marker
from barnabas.records.header import CODEC_MASK

if TYPE_CHECKING:
    from barnabas.protocol.message import Message
    from barnabas.records.batch import BatchHeader, Record
    from barnabas.storage.producer_state import ProducerEntry
    from barnabas.storage.txn_index import AbortedTransaction

INDENT = "|"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TXN_INDEX_VERSION = 0


def batch_line(header: BatchHeader, *, position: int, is_valid: bool) -> str:
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} "
        f"count: {header.count} baseSequence: {header.base_sequence} "
        f"lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.leader_epoch} "
        f"isTransactional: {_flag(header.is_transactional)} isControl: {_flag(header.is_control)} "
        f"deleteHorizonMs: {_optional(header.delete_horizon)} "
        f"position: {position} {time_type(header)}: {header.max_timestamp} "
        f"size: {header.size_bytes} magic: {header.magic} compresscodec: {codec_name(header)} "
        f"crc: {header.crc} isvalid: {_flag(is_valid)}"
    )


def time_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def codec_name(header: BatchHeader) -> str:
    number = header.attributes & CODEC_MASK
    return CODECS[number] if number < len(CODECS) else f"unknown({number})"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def record_lines(
    header: BatchHeader, *, parser: Parser | None, skip_metadata: bool
) -> Callable[[Record], str]:
    """The function from the records of one batch to their lines.

    `parser` is None if keys and values are not asked for.  The function raises `DeserializeError`
    if they are not what the parser expects.
    """
    if skip_metadata:
        if parser is None or header.is_control:
            return _nothing
        return partial(_contents, parser)
    kind = time_type(header)
    if header.is_control:
        return lambda record: _metadata(record, kind) + _control(record)
    if parser is None:
        return lambda record: _metadata(record, kind)

    def line(record: Record) -> str:
        key, value = parser(record)
        shown_key = "" if key is None else f" key: {key}"
        shown_value = "" if value is None else f" payload: {value}"
        return f"{_metadata(record, kind)}{shown_key}{shown_value}"

    return line


def _nothing(record: Record) -> str:
    return ""


def _contents(parser: Parser, record: Record) -> str:
    key, value = parser(record)
    parts = [] if key is None else [f"key: {key}"]
    if value is not None:
        parts.append(f"payload: {value}")
    return f"{INDENT} {' '.join(parts)}" if parts else ""


def _metadata(record: Record, kind: str) -> str:
    offset, timestamp, key, value, headers, sequence = record
    return (
        f"{INDENT} offset: {offset} {kind}: {timestamp} "
        f"keySize: {-1 if key is None else len(key)} "
        f"valueSize: {-1 if value is None else len(value)} sequence: {sequence} "
        f"headerKeys: [{','.join(_text(name) for name, _ in headers) if headers else ''}]"
    )


def _text(name: str) -> str:
    """A header's key, of which bytes that are no text were kept: Java shows them as unknown."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _control(record: Record) -> str:
    kind = control_type(record.key)
    if kind.ends_transaction:
        marker = end_txn_marker(record)
        return f" endTxnMarker: {kind.name} coordinatorEpoch: {marker.coordinator_epoch}"
    found = _raft_records().get(kind)
    if found is None:
        number = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
        return f" controlType: {kind.name}({number})"
    title, cls = found
    version = int.from_bytes((record.value or b"")[:2], "big", signed=True)
    try:
        message = cls.decode(record.value or b"", min(max(version, 0), cls.max_version))
    except DecodeError as error:
        raise InvalidRecord(f"A {kind.name} record: {error}.") from None
    return f" {title} {java_json(json_form(message, version))}"


def _raft_records() -> dict[ControlType, tuple[str, type[Message]]]:
    from barnabas.protocol.messages import raft_records as rr

    return {
        ControlType.LEADER_CHANGE: ("LeaderChange:", rr.LeaderChangeMessage),
        ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", rr.SnapshotHeaderRecord),
        ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", rr.SnapshotFooterRecord),
        ControlType.KRAFT_VERSION: ("KRaftVersion", rr.KRaftVersionRecord),
        ControlType.KRAFT_VOTERS: ("KRaftVoters", rr.VotersRecord),
    }


def aborted_line(entry: AbortedTransaction) -> str:
    return (
        f"version: {TXN_INDEX_VERSION} producerId: {entry.producer_id} "
        f"firstOffset: {entry.first_offset} lastOffset: {entry.last_offset} "
        f"lastStableOffset: {entry.last_stable_offset}"
    )


def producer_line(entry: ProducerEntry) -> str:
    start = entry.transaction_start
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
        f"coordinatorEpoch: {entry.coordinator_epoch} "
        f"currentTxnFirstOffset: {_optional(start if start >= 0 else None)} "
        f"lastTimestamp: {entry.last_timestamp}"
    )
    if not entry.batches:
        return line
    last = entry.batches[0]
    return (
        f"{line} firstSequence: {last.first_sequence} lastSequence: {last.last_sequence} "
        f"lastOffset: {last.last_offset} offsetDelta: {last.offset_delta} "
        f"timestamp: {last.timestamp}"
    )
