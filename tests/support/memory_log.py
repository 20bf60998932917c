"""The log of an internal topic in memory, and what compaction would leave of it."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.records.batch import Record, decode_records, encode_batch, read_header
from barnabas.records.control import ControlType, control_type


class MemoryLog:
    """The log of the internal topic: appends are committed at once, or when told to."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.hold = False
        self.refuse: Exception | None = None
        """Raised by the next check or append."""
        self.waiting: list[Callable[[Exception | None], None]] = []

    def check(self, partition: int) -> None:
        if self.refuse is not None:
            error, self.refuse = self.refuse, None
            raise error

    def append(
        self, partition: int, batch: bytearray, committed: Callable[[Exception | None], None]
    ) -> None:
        assert partition == 0
        self.check(partition)
        self.batches.append(bytes(batch))
        if self.hold:
            self.waiting.append(committed)
        else:
            committed(None)

    def release(self, error: Exception | None = None) -> None:
        """Commit, or fail, everything that was held back."""
        waiting, self.waiting = self.waiting, []
        for committed in waiting:
            committed(error)

    def compacted(self) -> list[bytes]:
        """The log with only the last record of each key, as the cleaner would leave it.

        Open transactions stay as they are; of ended ones the records count where they stand, and
        markers stay, or go with the data of their transaction.
        """
        return compact(self.batches)


def compact(batches: list[bytes]) -> list[bytes]:
    plain: list[tuple[int, bool, Record]] = []
    outcome: dict[int, bool] = {}
    for position, batch in reversed(list(enumerate(batches))):
        header = read_header(batch)
        records = list(decode_records(batch, header))
        if header.is_control:
            outcome[header.producer_id] = control_type(records[0].key) is ControlType.COMMIT
            plain.append((position, True, records[0]))
            continue
        open_or_committed = outcome.get(header.producer_id) if header.is_transactional else True
        if open_or_committed is False:
            continue
        plain += [(position, open_or_committed is True, r) for r in reversed(records)]
    kept: list[tuple[int, Record]] = []
    seen: set[bytes | None] = set()
    for position, settled, record in plain:
        if read_header(batches[position]).is_control or not settled:
            kept.append((position, record))
        elif record.key not in seen:
            seen.add(record.key)
            kept.append((position, record))
    result = []
    for position, record in reversed(kept):
        header = read_header(batches[position])
        result.append(
            bytes(
                encode_batch(
                    [record._replace(offset=-1)],
                    producer_id=header.producer_id,
                    producer_epoch=header.producer_epoch,
                    transactional=header.is_transactional,
                    control=header.is_control,
                )
            )
        )
    return result
