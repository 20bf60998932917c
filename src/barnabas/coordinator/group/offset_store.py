"""Committed offsets, and those of transactions that are still open.

Durable state: changed by `replay`, `replay_pending` and `replay_end`, and by `put` for who has
added the record to a batch already.  A group has offsets whether or not it has, or ever had,
members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from barnabas.protocol.messages.group_records import OffsetCommitValue

if TYPE_CHECKING:
    from barnabas.protocol.messages.group_records import OffsetCommitKey

PartitionKey: TypeAlias = tuple[str, int]
"""Topic and partition."""


class Committed(NamedTuple):
    """One committed offset."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    """When it expires whatever the group does; -1: retention decides."""
    position: int
    """Where in the log it stands, relative to others: the later one wins."""


BY_RETENTION = -1
"""When most offsets expire."""
_NOTHING: Mapping[PartitionKey, Committed] = {}


class OffsetStore:
    """The offsets of every group of one shard."""

    def __init__(self) -> None:
        self._offsets: dict[str, dict[PartitionKey, Committed]] = {}
        self._pending: dict[str, dict[int, dict[PartitionKey, Committed]]] = {}
        """By group and producer."""
        self._groups_of: dict[int, set[str]] = {}
        """The groups for which a producer has pending offsets."""
        self._position = 0

    # Look-ups

    def of_group(self, group: str) -> Mapping[PartitionKey, Committed]:
        return self._offsets.get(group, _NOTHING)

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        return self._offsets.get(group, _NOTHING).get((topic, partition))

    def groups(self) -> Iterator[str]:
        """Groups that have offsets, committed or pending."""
        yield from self._offsets
        yield from (group for group in self._pending if group not in self._offsets)

    def has_group(self, group: str) -> bool:
        return group in self._offsets or group in self._pending

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the offset."""
        producers = self._pending.get(group)
        if producers is None:
            return False
        return any((topic, partition) in offsets for offsets in producers.values())

    def pending_keys(self, group: str) -> set[PartitionKey]:
        """The partitions for which open transactions have offsets."""
        found: set[PartitionKey] = set()
        for offsets in self._pending.get(group, {}).values():
            found.update(offsets)
        return found

    def dump(self) -> dict[str, object]:
        """Everything durable, without positions: equal after compaction."""
        return {
            "offsets": {
                group: {key: value[:-1] for key, value in offsets.items()}
                for group, offsets in self._offsets.items()
            },
            "pending": {
                group: {
                    producer: {key: value[:-1] for key, value in offsets.items()}
                    for producer, offsets in producers.items()
                }
                for group, producers in self._pending.items()
            },
        }

    # Replay

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
        """A commit outside any transaction, or a tombstone, which also ends pending commits."""
        where = (key.topic, key.partition)
        if value is not None:
            self._offsets.setdefault(key.group, {})[where] = self._committed(value)
            return
        offsets = self._offsets.get(key.group)
        if offsets is not None:
            offsets.pop(where, None)
            if not offsets:
                del self._offsets[key.group]
        for producer in list(self._pending.get(key.group, ())):
            self._pending[key.group][producer].pop(where, None)
            self._drop_if_empty(key.group, producer)

    def put(self, group: str, where: PartitionKey, value: tuple[int, int, str, int]) -> None:
        """A commit outside any transaction: offset, leader epoch, metadata, time."""
        self._position += 1
        self._offsets.setdefault(group, {})[where] = tuple.__new__(
            Committed, (*value, BY_RETENTION, self._position)
        )

    def replay_pending(
        self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue | None
    ) -> None:
        """A commit inside a transaction: seen by nobody until the transaction commits."""
        if value is None:
            return  # nobody writes such a record; ignored like the rest of what cannot be
        producers = self._pending.setdefault(key.group, {})
        producers.setdefault(producer_id, {})[key.topic, key.partition] = self._committed(value)
        self._groups_of.setdefault(producer_id, set()).add(key.group)

    def replay_end(self, producer_id: int, *, committed: bool) -> None:
        """A transaction ended.  An offset that was committed after one of its own stays."""
        for group in self._groups_of.pop(producer_id, ()):
            producers = self._pending[group]
            pending = producers.pop(producer_id)
            if not producers:
                del self._pending[group]
            if not committed:
                continue
            offsets = self._offsets.setdefault(group, {})
            for where, offset in pending.items():
                before = offsets.get(where)
                if before is None or before.position < offset.position:
                    offsets[where] = offset

    def _committed(self, value: OffsetCommitValue) -> Committed:
        self._position += 1
        return Committed._make(  # much cheaper than to call it, and done for every commit
            (
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp,
                value.expire_timestamp,
                self._position,
            )
        )

    def _drop_if_empty(self, group: str, producer_id: int) -> None:
        producers = self._pending[group]
        if producers[producer_id]:
            return
        del producers[producer_id]
        if not producers:
            del self._pending[group]
        groups = self._groups_of[producer_id]
        groups.discard(group)
        if not groups:
            del self._groups_of[producer_id]
