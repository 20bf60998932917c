"""What the application under test sent and processed, told by whoever sees it.

Any client library will do: a record is whatever has a topic, a partition, an offset, a key and a
value, as attributes or as methods.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
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
HIDDEN = "aborted or open"
"""The transaction of all records that are stored and not committed."""
Raw = bytes | bytearray | memoryview
"""What no deserializer has touched.  Not `str`, nor None: JSON has texts and nulls, too."""


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

    def history(self, stored: Sequence[StoredRecord], committed: Sequence[StoredRecord]) -> History:
        """For the verdict, with what the topics hold: all of it, and what is committed of it.

        If nobody said what was sent to a topic, that is what it holds.  What is there and not
        committed, of aborted transactions or of open ones, nobody has to process; an application
        that asks for it may.
        """
        with self._changed:
            sent, processed = list(self._sent), list(self._processed)
        told = {record.topic for record in sent}
        by_place = {_place(record): record for record in stored}
        hidden = by_place.keys() - {_place(record) for record in committed}
        sent += [
            SentRecord(record.topic, record.partition, record.key, record.value, record.offset)
            for record in stored
            if record.topic not in told
        ]
        return History(
            sent=[
                record._replace(transaction=HIDDEN) if _place(record) in hidden else record
                for record in sent
            ],
            received=[_received(record, consumer, by_place) for record, consumer in processed],
            ended={HIDDEN: False},
            stored=list(stored),
        )


def _place(record: StoredRecord | SentRecord) -> Place:
    return record.topic, record.partition, record.offset


def _received(record: Any, consumer: str, stored: Mapping[Place, StoredRecord]) -> ReceivedRecord:
    """A key or value that a deserializer may have made is known by its offset.

    Bytes are taken as they are: what stands at the offset by now may be another record.
    """
    topic, partition, offset = (_field(record, name) for name in ("topic", "partition", "offset"))
    key, value = _field(record, "key"), _field(record, "value")
    known = stored.get((topic, partition, offset))
    return ReceivedRecord(
        topic,
        partition,
        key_text(_bytes(key)) if known is None or isinstance(key, Raw) else known.key,
        value_text(_bytes(value)) if known is None or isinstance(value, Raw) else known.value,
        offset,
        consumer,
    )


def _field(record: Any, name: str) -> Any:
    found = getattr(record, name)
    return found() if callable(found) else found


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return bytes(value) if isinstance(value, Raw) else str(value).encode()
