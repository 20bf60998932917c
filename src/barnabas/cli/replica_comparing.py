"""Whether the replicas of partitions have the same batches.  Pure: what was fetched comes in, where
to go on and what does not match comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.client.brokers import Place


class BatchMark(NamedTuple):
    """What is compared of a batch."""

    last_offset: int
    checksum: int
    """Of the bytes as they came, not as their header claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What one replica sent of a partition; nothing, with an unknown end, if it did not answer."""

    high_watermark: int = -1
    batches: Sequence[BatchMark] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two replicas that do not have the same batch at the same place."""

    place: Place
    one: int
    other: int
    one_batch: BatchMark
    other_batch: BatchMark

    @property
    def is_offset(self) -> bool:
        """The batches do not even end at the same offset: nothing after them can be compared."""
        return self.one_batch.last_offset != self.other_batch.last_offset

    def text(self) -> str:
        topic, number = self.place
        where = f"partition [{topic},{number}]"
        if self.is_offset:
            return (
                f"{where}: replica {self.one}'s offset {self.one_batch.last_offset} doesn't match "
                f"replica {self.other}'s offset {self.other_batch.last_offset}"
            )
        return (
            f"{where} has unmatched checksum at offset {self.one_batch.last_offset}; "
            f"replica {self.one}'s checksum {self.one_batch.checksum}; "
            f"replica {self.other}'s checksum {self.other_batch.checksum}"
        )


@dataclass(slots=True)
class Comparison:
    """All partitions that are compared, and up to where each is known to be the same."""

    offsets: dict[Place, int]
    max_lag: int = -1
    max_lag_place: Place | None = None

    def compare(self, fetched: Mapping[Place, Mapping[int, Fetched]]) -> list[Difference]:
        """One round: goes on in every partition as far as all its replicas have got."""
        differences: list[Difference] = []
        self.max_lag = -1
        for place, replicas in fetched.items():
            self._compare_one(place, replicas, differences)
            lag = max(each.high_watermark for each in replicas.values()) - self.offsets[place]
            if lag > self.max_lag:
                self.max_lag, self.max_lag_place = lag, place
        return differences

    def _compare_one(
        self, place: Place, replicas: Mapping[int, Fetched], differences: list[Difference]
    ) -> None:
        """Batch by batch, as long as every replica has one below its high watermark."""
        ids = sorted(replicas)
        for row in zip(*(replicas[each].batches for each in ids), strict=False):
            if any(
                batch.last_offset >= replicas[each].high_watermark
                for each, batch in zip(ids, row, strict=True)
            ):
                return
            for other, batch in zip(ids[1:], row[1:], strict=True):
                if batch != row[0]:
                    differences.append(
                        Difference(
                            place=place,
                            one=ids[0],
                            other=other,
                            one_batch=row[0],
                            other_batch=batch,
                        )
                    )
            if any(batch.last_offset != row[0].last_offset for batch in row):
                return
            self.offsets[place] = row[0].last_offset + 1

    def text(self) -> str:
        """The report."""
        assert self.max_lag_place is not None, "nothing is compared yet"
        topic, number = self.max_lag_place
        return (
            f"max lag is {self.max_lag} for partition [{topic},{number}] at offset "
            f"{self.offsets[self.max_lag_place]} among {len(self.offsets)} partitions"
        )
