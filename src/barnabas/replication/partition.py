"""One partition as this broker sees it: who leads, what is replicated, who waits.

Loop thread only.  Appends are queued by the log; they become visible (high watermark, waiting
fetches) when the replica manager has written the log's bytes to the page cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from barnabas.base.errors import (
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeader,
    StorageFailed,
    UnknownLeaderEpoch,
)
from barnabas.records.batch import read_header, set_offset_and_epoch
from barnabas.records.validate import Validated

if TYPE_CHECKING:
    from barnabas.replication.purgatory import Parked
    from barnabas.storage.log import Appended, Log

NO_LEADER = -1


class Partition:
    """Leadership and replication state of one partition."""

    __slots__ = (
        "dirty",
        "error",
        "index",
        "is_leader",
        "is_refusing",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "min_isr",
        "node_id",
        "partition_epoch",
        "replicas",
        "topic",
        "topic_id",
        "unconfirmed",
        "waiters",
        "write_failure",
    )

    def __init__(self, *, node_id: int, topic: str, index: int, topic_id: bytes) -> None:
        self.node_id = node_id
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log: Log | None = None
        self.error: StorageFailed | None = None
        """Why there is no log: its directory failed."""
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.is_leader = False
        self.is_refusing = False
        """The last write failed."""
        self.min_isr = 1
        self.dirty = False
        """Has batches queued that the next `ReplicaManager.write_dirty` writes."""
        self.waiters: dict[Parked, None] = {}
        self.unconfirmed: list[tuple[list[object], int, int]] = []
        """Answers already encoded for appends of this loop turn: (out list, position in it, where
        its error code stands).  Patched if the write fails; see `broker/net/produce_memo.py`."""
        self.write_failure: StorageFailed | None = None
        """Set while the answers of a failed write are given, see `ReplicaManager.write_dirty`."""

    def __repr__(self) -> str:
        return f"<Partition {self.topic}-{self.index} leader={self.leader_id}>"

    def set_leadership(
        self,
        *,
        leader_id: int,
        leader_epoch: int,
        partition_epoch: int,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
    ) -> None:
        """Take over what the metadata journal says.  Epochs never go back."""
        assert leader_epoch >= self.leader_epoch, f"{self!r}: leader epoch went back"
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.replicas = replicas
        self.isr = isr
        self.is_leader = leader_id == self.node_id
        self.lead_from_here()

    def lead_from_here(self) -> None:
        """If this broker leads: what is appended from now on belongs to the present epoch."""
        if self.is_leader and self.log is not None:
            self.log.start_leader_epoch(self.leader_epoch)
            self.advance_high_watermark()

    def leader_log(self, current_leader_epoch: int = -1) -> Log:
        """The log, if this broker leads the partition in the epoch the client believes in.

        A negative epoch means that it does not say.
        """
        if current_leader_epoch >= 0 and current_leader_epoch != self.leader_epoch:
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch
            raise UnknownLeaderEpoch
        if not self.is_leader:
            raise NotLeader
        if self.log is None:
            raise self.error or StorageFailed
        return self.log

    def append(
        self,
        data: memoryview | Validated,
        *,
        acks: int,
        now_ms: int,
        zstd_allowed: bool = True,
        zero_start: bool = False,
        patient: bool = True,
    ) -> Appended:
        """Queue one batch on the log.  `data` is patched in place and kept until the next write.

        For the rest see `Log.append_as_leader`.
        """
        log = self.leader_log()
        if acks == -1 and len(self.isr) < self.min_isr:
            self._refuse_few_replicas()
        return log.append_as_leader(
            data,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            zstd_allowed=zstd_allowed,
            zero_start=zero_start,
            patient=patient,
        )

    def check_internal(self) -> Log:
        """The log, if it takes what a coordinator wants written with acks=all."""
        log = self.leader_log()
        if len(self.isr) < self.min_isr:
            self._refuse_few_replicas()
        return log

    def append_internal(self, data: memoryview, *, now_ms: int) -> Appended:
        """Queue a batch of a coordinator: as trusted as one from a leader, and with acks=all."""
        log = self.check_internal()
        header = read_header(data)
        if header.producer_id < 0:
            return log.append_as_leader(
                Validated(data, header, -1), leader_epoch=self.leader_epoch, now_ms=now_ms
            )
        set_offset_and_epoch(data, 0, log.end_offset, self.leader_epoch)
        return log.append_as_follower(data, now_ms=now_ms)

    def _refuse_few_replicas(self) -> NoReturn:
        raise NotEnoughReplicas(
            f"{len(self.isr)} in-sync replicas of {self.topic}-{self.index}, "
            f"min.insync.replicas is {self.min_isr}"
        )

    def advance_high_watermark(self) -> bool:
        """Move the high watermark to what every in-sync replica has.  True if it moved."""
        log = self.log
        assert log is not None
        assert self.is_leader
        if self.isr == (self.node_id,):
            return log.advance_high_watermark(log.written_end_offset)
        return False
