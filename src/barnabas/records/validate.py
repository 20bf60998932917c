"""What a leader checks of a batch that a client sent, and the changes the topic asks for.

Most batches are judged by their header and their CRC alone and stay where they are.  The records
are looked at only where the header cannot answer: in a compacted topic (every record needs a key),
when the topic has another codec, when old timestamps are refused, and when the header claims a
timestamp in the future.

Which error answers which fault was measured on Apache Kafka, with one exception: bytes that do not
decompress and codecs that do not exist are a server error there, here they are the client's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.base.errors import (
    ApiError,
    CorruptMessage,
    ErrorCode,
    InvalidRecord,
    MessageTooLarge,
    RecordListTooLarge,
    UnsupportedCompressionType,
)
from barnabas.records.batch import build_batch, decode_body, record_body
from barnabas.records.compression import DEFAULT_MAX_SIZE, Codec
from barnabas.records.crc import crc32c
from barnabas.records.header import (
    CODEC_MASK,
    CONTROL,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    crc_is_valid,
    read_header,
    set_max_timestamp,
)

UNLIMITED_MS = 2**63 - 1
_PLAIN_CODECS = int(Codec.LZ4)
_new_tuple = tuple.__new__
_MAGIC_POSITION = 16
_SMALLEST_V0 = 14
"""Least batch length that any format version can have."""
_MANY_RECORDS = 1_000
_MANY_BYTES = 128 * 1024
_SMALLEST_RECORD = 7
"""Length, attributes, two deltas, a null key, a null value, no headers: a byte each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRules:
    """The settings of a topic that decide about its batches."""

    max_message_bytes: int = 1_048_588
    segment_bytes: int = 1_073_741_824
    compact: bool = False
    codec: Codec | None = None
    """What batches are converted to; None leaves each as its producer compressed it."""
    level: int | None = None
    log_append_time: bool = False
    before_max_ms: int = UNLIMITED_MS
    after_max_ms: int = 3_600_000
    max_decompressed_bytes: int = DEFAULT_MAX_SIZE
    largest_plain: int = field(init=False, repr=False)
    """Up to this size the header and the CRC alone decide about a batch without zstd; 0: never."""

    def __post_init__(self) -> None:
        headers_suffice = not (
            self.compact
            or self.codec is not None
            or self.log_append_time
            or self.before_max_ms != UNLIMITED_MS
        )
        largest = min(self.max_message_bytes, self.segment_bytes) if headers_suffice else 0
        object.__setattr__(self, "largest_plain", largest)


class InvalidRecords(ApiError):  # noqa: N818 (named like its siblings in base)
    """Some records of a batch are not acceptable, so that the batch is not.

    `record_errors`: (index of the record in the batch, what is wrong with it).
    """

    code = ErrorCode.INVALID_RECORD

    def __init__(self, record_errors: Sequence[tuple[int, str]]) -> None:
        self.record_errors = record_errors
        index, first = record_errors[0]
        super().__init__(
            f"{len(record_errors)} of the batch's records cannot be accepted; number {index} is "
            f"the first: {first}"
        )


class InvalidRecordTimestamps(InvalidRecords):
    """The first of the refused records is too old or too far in the future."""

    code = ErrorCode.INVALID_TIMESTAMP


class TakesLong(Exception):  # noqa: N818 (no error: an answer that somebody has to wait for)
    """The records have to be looked at, and they are many: not on a thread that others wait for."""


class Validated(NamedTuple):
    """A batch that may be appended.  `data` is exactly one batch, in the buffer it came in if it
    did not have to be converted, and `header` is its header."""

    data: memoryview
    header: BatchHeader
    log_append_time: int


def validate_batch(
    data: memoryview,
    rules: ValidationRules,
    *,
    now_ms: int,
    zstd_allowed: bool = True,
    patient: bool = True,
) -> Validated:
    """Check the records field of one partition of a Produce request; patch or convert its batch.

    `data` is writable; log append time is patched into it.  `zstd_allowed` is False for request
    versions whose clients may not know zstd.  Unless `patient`, a batch that is much work is not
    looked at: `TakesLong`.
    """
    size = len(data)
    if HEADER_SIZE < size <= rules.largest_plain:
        header = read_header(data)
        (
            base_offset,
            length,
            _,
            magic,
            crc,
            attributes,
            delta,
            _,
            latest,
            pid,
            _,
            sequence,
            count,
        ) = header
        # A sieve: whatever is not plainly right is judged, or explained, below.
        if (
            magic == MAGIC
            and length + LOG_OVERHEAD == size
            and base_offset == 0
            and 0 <= delta == count - 1
            and count * _SMALLEST_RECORD + HEADER_SIZE <= size
            and 0 <= attributes & ~TRANSACTIONAL <= _PLAIN_CODECS
            and (pid < 0 or sequence >= 0)
            and latest - now_ms <= rules.after_max_ms
            and crc32c(data[CRC_START:], 0) == crc
        ):
            return _new_tuple(Validated, (data, header, NO_TIMESTAMP))
    return judge_batch(data, rules, now_ms=now_ms, zstd_allowed=zstd_allowed, patient=patient)


def is_laborious(data: memoryview, rules: ValidationRules, *, now_ms: int) -> bool:
    """Whether `validate_batch` would be much work: records to be looked at, and many of them.

    A batch that it refuses without looking at them is not.
    """
    if len(data) < HEADER_SIZE:
        return False
    header = read_header(data)
    if header.count <= _MANY_RECORDS and len(data) <= _MANY_BYTES:
        return False
    try:
        return check_header(header, len(data), rules, now_ms)
    except ApiError:
        return False


def judge_batch(
    data: memoryview,
    rules: ValidationRules,
    *,
    now_ms: int,
    zstd_allowed: bool = True,
    patient: bool = True,
) -> Validated:
    """What `validate_batch` promises, without its short cut for the batches of every day."""
    header = read_one_header(data)
    size = header.batch_length + LOG_OVERHEAD
    if len(data) != size:
        data = data[:size]
    if not crc_is_valid(data, header):  # before all else: the client may send it again
        raise CorruptMessage("The batch's CRC is not that of its content.")
    if not zstd_allowed and header.attributes & CODEC_MASK == Codec.ZSTD:
        raise UnsupportedCompressionType("zstd needs version 7 of the Produce request.")
    if check_header(header, size, rules, now_ms):
        if not patient and (header.count > _MANY_RECORDS or size > _MANY_BYTES):
            raise TakesLong
        data, header = _scan(data, header, rules, now_ms)
    if rules.log_append_time:
        set_max_timestamp(data, 0, now_ms, log_append_time=True)
        return Validated(data, read_header(data), now_ms)
    if header.attributes & LOG_APPEND_TIME:
        set_max_timestamp(data, 0, header.max_timestamp, log_append_time=False)
        header = read_header(data)
    return Validated(data, header, NO_TIMESTAMP)


def read_one_header(data: memoryview) -> BatchHeader:
    """The header of the only batch in `data`; a stump behind it, too short for one, is ignored."""
    length = len(data)
    if length <= _MAGIC_POSITION:
        raise InvalidRecord("A partition's records must be exactly one batch, not none.")
    size = int.from_bytes(data[8:12], "big", signed=True)
    if size < _SMALLEST_V0:
        raise CorruptMessage(f"A batch cannot have {size} bytes.")
    magic = data[_MAGIC_POSITION]
    if magic != MAGIC:
        if magic < MAGIC:
            raise InvalidRecord(f"Batches have format version 2, not {magic}.")
        raise CorruptMessage(f"Unknown format version {magic}.")
    if size < HEADER_SIZE - LOG_OVERHEAD:
        raise CorruptMessage(f"A batch of {size} bytes is smaller than its header.")
    left = length - LOG_OVERHEAD - size
    if left:
        if left < 0:
            raise InvalidRecord("A partition's records must be exactly one batch; it is cut off.")
        if left > _MAGIC_POSITION:
            _refuse_second(data[length - left :])
    return read_header(data)


def _refuse_second(data: memoryview) -> None:
    size = int.from_bytes(data[8:12], "big", signed=True)
    if size < _SMALLEST_V0 or data[_MAGIC_POSITION] > MAGIC:
        raise CorruptMessage("What follows the batch is not a batch.")
    raise InvalidRecord("A partition's records must be exactly one batch, not several.")


def check_header(header: BatchHeader, size: int, rules: ValidationRules, now_ms: int) -> bool:
    """Check all that the header of a batch of `size` bytes tells; the CRC is the caller's.

    The answer is whether the records have to be looked at as well.
    """
    if header.base_offset != 0:
        raise InvalidRecord(f"A client's batch has base offset 0, not {header.base_offset}.")
    check_size(size, rules)
    if header.count <= 0 or header.last_offset_delta != header.count - 1:
        raise InvalidRecord(
            f"A batch of {header.count} records with a last offset delta of "
            f"{header.last_offset_delta}."
        )
    attributes = header.attributes
    if attributes & CONTROL:
        raise InvalidRecord("Clients cannot write control batches.")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise InvalidRecord(
            f"Producer {header.producer_id} sent the sequence number {header.base_sequence}."
        )
    codec = attributes & CODEC_MASK
    if codec > Codec.ZSTD:
        raise UnsupportedCompressionType(f"Unknown compression codec {codec}.")
    room = rules.max_decompressed_bytes if codec else size - HEADER_SIZE
    if header.count * _SMALLEST_RECORD > room:  # it would use up offsets that nobody has
        raise InvalidRecord(f"{header.count} records do not fit into a batch of {size} bytes.")
    if rules.compact or (rules.codec is not None and rules.codec != codec):
        return True
    return not rules.log_append_time and (
        rules.before_max_ms != UNLIMITED_MS or header.max_timestamp - now_ms > rules.after_max_ms
    )


def check_size(size: int, rules: ValidationRules) -> None:
    if size > rules.max_message_bytes:
        raise MessageTooLarge(
            f"A batch of {size} bytes; the topic takes {rules.max_message_bytes} at most."
        )
    if size > rules.segment_bytes:
        raise RecordListTooLarge(
            f"A batch of {size} bytes is larger than a segment, {rules.segment_bytes} bytes."
        )


def _scan(
    data: memoryview, header: BatchHeader, rules: ValidationRules, now_ms: int
) -> tuple[memoryview, BatchHeader]:
    """Check each record, correct the header's greatest timestamp, convert to the topic's codec."""
    try:
        body = record_body(data, header, max_size=rules.max_decompressed_bytes)
    except CorruptMessage as error:  # the CRC is right: sending it again would not help
        raise InvalidRecord(error.message) from error
    max_timestamp = _check_records(body, header, rules, now_ms)
    if rules.codec is not None and rules.codec != header.attributes & CODEC_MASK:
        attributes = header.attributes & ~CODEC_MASK | rules.codec
        converted = build_batch(
            header._replace(attributes=attributes, max_timestamp=max_timestamp),
            body,
            level=rules.level,
        )
        check_size(len(converted), rules)
        data = memoryview(converted)
        header = read_header(data)
    elif max_timestamp != header.max_timestamp:
        set_max_timestamp(data, 0, max_timestamp, log_append_time=False)
        header = read_header(data)
    return data, header


def _check_records(body: bytes, header: BatchHeader, rules: ValidationRules, now_ms: int) -> int:
    """The greatest timestamp of the records, all of which may be accepted."""
    earliest = now_ms - rules.before_max_ms
    latest = now_ms + rules.after_max_ms
    errors: list[tuple[int, str]] = []
    late_first = False
    max_timestamp = NO_TIMESTAMP
    create_time = header._replace(attributes=header.attributes & ~LOG_APPEND_TIME)
    for index, record in enumerate(decode_body(body, create_time)):
        if record.offset != index:
            raise InvalidRecord(f"Record {index} of the batch says that it is {record.offset}.")
        timestamp = record.timestamp
        max_timestamp = max(max_timestamp, timestamp)
        if rules.compact and record.key is None:
            errors.append((index, "A record of a compacted topic must have a key."))
        elif (
            not rules.log_append_time
            and not earliest <= timestamp <= latest
            and timestamp != NO_TIMESTAMP
        ):
            late_first = late_first or not errors
            errors.append((index, f"Timestamp {timestamp} is not between {earliest} and {latest}."))
    if errors:
        raise InvalidRecordTimestamps(errors) if late_first else InvalidRecords(errors)
    return max_timestamp
