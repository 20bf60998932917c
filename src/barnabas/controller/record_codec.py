"""Metadata records as bytes: a frame version, the kind, the version, then the fields."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.varint import encode_uvarint, read_uvarint

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

log = logging.getLogger(__name__)

FRAME_VERSION = 1


def encode_record(record: Message) -> bytes:
    """The record in the lowest version that carries all of it, as older readers like best."""
    version = _version(record)
    head = bytes((FRAME_VERSION,)) + encode_uvarint(record.api_key) + encode_uvarint(version)
    return head + record.encode(version)


def _version(record: Any) -> int:
    match record:
        case mr.PartitionRecord():
            return 2 if record.eligible_leader_replicas or record.last_known_elr else 1
        case mr.PartitionChangeRecord():
            if record.eligible_leader_replicas is not None or record.last_known_elr is not None:
                return 2
            return 0 if record.directories is None else 1
        case mr.RegisterBrokerRecord():
            return 3
        case mr.BrokerRegistrationChangeRecord():
            if record.log_dirs:
                return 2
            return 1 if record.in_controlled_shutdown else 0
        case _:
            return 0


def decode_record(data: bytes) -> Message | None:
    """The record, or None (and a warning) if it is of a kind that a later release brought.

    A version later than ours is read as our latest: later ones have only added tagged fields.
    DecodeError if that leaves bytes over, or if the frame is not one of ours.
    """
    try:
        frame, pos = read_uvarint(data, 0)
        number, pos = read_uvarint(data, pos)
        version, pos = read_uvarint(data, pos)
    except IndexError:
        raise DecodeError(f"a metadata record of {len(data)} bytes") from None
    if frame != FRAME_VERSION:
        raise DecodeError(f"a metadata record in a frame of version {frame}")
    cls = mr.METADATA_RECORDS.get(number)
    if cls is None:
        _warn_once(number)
        return None
    return cls.decode(data, min(version, cls.max_version), pos)


@cache
def _warn_once(number: int) -> None:
    log.warning("metadata records of kind %d are not known to this release: skipped", number)
