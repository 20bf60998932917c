"""What the application under test sent and processed, told by whoever sees it.

Any client library will do: a record is whatever has a topic, a partition, an offset, a key and a
value, as attributes or as methods.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from barnabas.lab.programs.payload_log import key_text, value_text
from barnabas.lab.verdict.records import (
    History,
    Outcome,
    ReceivedRecord,
    SentRecord,
    StoredRecord,
)

Place = tuple[str, int, int]
"""Topic, partition, offset."""


class Recorder:
    """Of one test.  Any thread may call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sent: list[SentRecord] = []
        self._processed: list[tuple[Any, str]] = []

    # -- told by the test, or by the application's doubles

    def sent(
        self,
        topic: str,
        key: str | bytes | None = None,
        value: str | bytes | None = None,
        *,
        partition: int = -1,
        offset: int = -1,
        outcome: Outcome = Outcome.ACKNOWLEDGED,
    ) -> None:
        """A record was sent and, unless `outcome` says otherwise, acknowledged."""
        record = SentRecord(
            topic, partition, key_text(_bytes(key)), value_text(_bytes(value)), offset, outcome
        )
        with self._changed:
            self._sent.append(record)
            self._changed.notify_all()

    def delivered(self, error: Any, message: Any) -> None:
        """The same as a callback of confluent-kafka: `produce(..., on_delivery=...)`."""
        self.sent(
            message.topic(),
            message.key(),
            message.value(),
            partition=-1 if message.partition() is None else message.partition(),
            offset=-1 if error is not None or message.offset() is None else message.offset(),
            outcome=Outcome.ACKNOWLEDGED if error is None else Outcome.UNKNOWN,
        )

    def processed(self, record: Any, consumer: str = "") -> None:
        """The application has done what it does with a record: call it where that takes effect."""
        with self._changed:
            self._processed.append((record, consumer))
            self._changed.notify_all()

    # -- for the test

    @property
    def processed_count(self) -> int:
        return len(self._processed)

    def wait_processed(self, count: int, timeout_s: float = 60.0) -> None:
        """Until so many records were processed.  TimeoutError if they were not.

        In an asyncio test: `await asyncio.to_thread(history.wait_processed, 10)`.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._processed) >= count, timeout_s):
                raise TimeoutError(
                    f"{len(self._processed)} records processed in {timeout_s} s, not {count}"
                )

    # -- for the verdict

    def topics(self) -> list[str]:
        """All that were heard of."""
        with self._changed:
            of_processed = {_field(record, "topic") for record, _ in self._processed}
            return sorted(of_processed | {record.topic for record in self._sent})

    def history(self, stored: Mapping[str, list[StoredRecord]]) -> History:
        """For the verdict, with what the topics hold.

        If nobody said what was sent to a topic, that is what it holds.  A record with a key or
        value that a deserializer made is known by its offset.
        """
        with self._changed:
            sent, processed = list(self._sent), list(self._processed)
        told = {record.topic for record in sent}
        everything = [record for records in stored.values() for record in records]
        sent += [
            SentRecord(record.topic, record.partition, record.key, record.value, record.offset)
            for record in everything
            if record.topic not in told
        ]
        by_place = {(each.topic, each.partition, each.offset): each for each in everything}
        return History(
            sent=sent,
            received=[_received(record, consumer, by_place) for record, consumer in processed],
            stored=everything,
        )


def _received(record: Any, consumer: str, stored: Mapping[Place, StoredRecord]) -> ReceivedRecord:
    topic, partition, offset = (_field(record, name) for name in ("topic", "partition", "offset"))
    key, value = _field(record, "key"), _field(record, "value")
    known = stored.get((topic, partition, offset))
    if known is not None and not (_is_raw(key) and _is_raw(value)):
        return ReceivedRecord(topic, partition, known.key, known.value, offset, consumer)
    texts = key_text(_bytes(key)), value_text(_bytes(value))
    return ReceivedRecord(topic, partition, *texts, offset, consumer)


def _field(record: Any, name: str) -> Any:
    found = getattr(record, name)
    return found() if callable(found) else found


def _is_raw(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes | bytearray | memoryview)


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return str(value).encode() if not isinstance(value, bytes | bytearray) else bytes(value)
