"""`partition.metadata`: which topic (by id) a partition directory belongs to."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.ids import NO_ID, id_text, parse_id

if TYPE_CHECKING:
    from barnabas.storage.fs import FilePool

FILE_NAME = "partition.metadata"
_logger = logging.getLogger(__name__)


def encode(topic_id: bytes) -> bytes:
    return f"version: 0\ntopic_id: {id_text(topic_id)}".encode()


def decode(data: bytes) -> bytes | None:
    """The topic id, or None if the file is damaged."""
    try:
        lines = dict(line.split(": ", 1) for line in data.decode().splitlines() if line)
        return parse_id(lines["topic_id"]) if lines["version"] == "0" else None
    except (ValueError, KeyError):
        return None


def read_topic_id(pool: FilePool, directory: str) -> bytes:
    """The id on file; NO_ID if there is none or it is damaged."""
    data = pool.read_bytes(f"{directory}/{FILE_NAME}")
    if data is None:
        return NO_ID
    topic_id = decode(data)
    if topic_id is None:
        _logger.warning("%s/%s is damaged: its topic id is unknown.", directory, FILE_NAME)
        return NO_ID
    return topic_id


def write_topic_id(pool: FilePool, directory: str, topic_id: bytes) -> None:
    pool.write_atomically(f"{directory}/{FILE_NAME}", encode(topic_id), sync=False)
