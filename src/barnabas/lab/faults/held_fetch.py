"""Keeps records from followers: what is cut out of the answers to their fetches.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.protocol.apis import ApiKey
from barnabas.records.header import iter_headers

if TYPE_CHECKING:
    from barnabas.lab.faults.passing import Passing


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """No record of the partition from this offset on reaches the follower, or any."""

    topic: str
    topic_id: bytes
    partition: int
    at_offset: int
    follower: int | None

    def may_match(self, key: int, peer: int | None) -> bool:
        """Whether an answer of this API to that node must be looked into."""
        if key != ApiKey.FETCH or peer is None:
            return False
        return self.follower in (None, peer)

    def cut(self, passing: Passing) -> bool:
        """Take the records out of the answer; whether there were any."""
        has_cut = False
        for topic in passing.message.responses:
            if topic.topic == self.topic or topic.topic_id == self.topic_id:
                for partition in topic.partitions:
                    if partition.partition_index == self.partition:
                        has_cut |= self._cut(partition)
        return has_cut

    def _cut(self, partition: Any) -> bool:
        records = partition.records
        if not records:
            return False
        end = 0
        for position, header in iter_headers(records):
            if header.last_offset >= self.at_offset:
                break
            end = position + header.size_bytes
        # A part of a batch at the end is what a fetch may have, and is of no use to anyone.
        partition.records = records[:end]
        return end < len(records)


def is_empty(passing: Passing) -> bool:
    """Whether the answer brings nobody anything."""
    return not any(
        partition.records for topic in passing.message.responses for partition in topic.partitions
    )
