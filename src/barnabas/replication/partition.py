"""One partition as this broker sees it: who leads, what is replicated, who waits.

Loop thread only.  Appends are queued by the log; they become visible (high watermark, waiting
fetches) when the replica manager has written the log's bytes to the page cache and every in-sync
follower has shown, by what it fetches next, that it has them too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from barnabas.replication.followers import Followers
from barnabas.replication.held import HeldAnswers
from barnabas.replication.throttle import is_throttled

if TYPE_CHECKING:
    from barnabas.replication.followers import Eligible
    from barnabas.replication.purgatory import Parked
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log import Appended, Log

NO_LEADER = -1


@dataclass(slots=True, kw_only=True)
class Terms:
    """What holds for the replicas of all partitions of a broker."""

    lag_s: float = 30.0
    """`replica.lag.time.max.ms`"""
    eligible: Eligible = lambda node_id, epoch: True
    monotonic: Callable[[], float] = lambda: 0.0


class Partition:
    """Leadership and replication state of one partition."""

    __slots__ = (
        "dirty",
        "error",
        "followers",
        "held",
        "index",
        "is_alone",
        "is_leader",
        "is_refusing",
        "is_throttled_follower",
        "is_throttled_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "min_isr",
        "node_id",
        "partition_epoch",
        "replicas",
        "terms",
        "topic",
        "topic_id",
        "unconfirmed",
        "waiters",
        "write_failure",
    )

    def __init__(
        self,
        *,
        node_id: int,
        topic: str,
        index: int,
        topic_id: bytes,
        terms: Terms | None = None,
    ) -> None:
        self.node_id = node_id
        self.terms = terms or Terms()
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
        self.is_alone = False
        """No other broker has a replica: what is written here is written everywhere."""
        self.followers: Followers | None = None
        """Where this broker leads and others follow."""
        self.is_refusing = False
        """The last write failed."""
        self.min_isr = 1
        self.is_throttled_leader = self.is_throttled_follower = False
        """Slowed down, as one or the other, while the follower is not in sync."""
        self.dirty = False
        """Has batches queued that the next `ReplicaManager.write_dirty` writes."""
        self.waiters: dict[Parked, None] = {}
        self.held = HeldAnswers()
        """Answers that leave when the high watermark has passed their batches."""
        self.unconfirmed: list[tuple[list[object], int, int]] = []
        """Answers already encoded for appends of this loop turn: (out list, position in it, where
        its error code stands).  Patched if the write fails; see `broker/net/produce_memo.py`."""
        self.write_failure: StorageFailed | None = None
        """Set while the answers of a failed write are given, see `ReplicaManager.write_dirty`."""

    def configure(self, config: LogConfig) -> None:
        """Settings of the topic that are not the log's."""
        self.min_isr = config.min_insync_replicas
        self.is_throttled_leader = is_throttled(
            config.leader_replication_throttled_replicas, self.index, self.node_id
        )
        self.is_throttled_follower = is_throttled(
            config.follower_replication_throttled_replicas, self.index, self.node_id
        )

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
        if leader_epoch > self.leader_epoch:
            self.followers = None
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.replicas = replicas
        self.isr = isr
        self.is_leader = leader_id == self.node_id
        self.is_alone = replicas == (self.node_id,)
        self.lead_from_here()

    def lead_from_here(self) -> None:
        """If this broker leads: what is appended from now on belongs to the present epoch."""
        log = self.log
        if not self.is_leader or log is None:
            self.followers = None
            return
        log.start_leader_epoch(self.leader_epoch)
        if self.is_alone:
            self.followers = None
        elif self.followers is not None:
            self.followers.commit(self.replicas, self.isr, self.terms.monotonic())
        else:
            self.followers = Followers(
                self.node_id,
                replicas=self.replicas,
                isr=self.isr,
                epoch_start=log.end_offset,
                lag_s=self.terms.lag_s,
                eligible=self.terms.eligible,
                now=self.terms.monotonic(),
            )
        self.advance_high_watermark()

    def leader_log(self, current_leader_epoch: int = -1) -> Log:
        """The log, if this broker leads the partition in the epoch the client believes in.

        A negative epoch means that it does not say.
        """
        self._check_epoch(current_leader_epoch)
        if not self.is_leader:
            raise NotLeader
        if self.log is None:
            raise self.error or NotLeader  # not made yet: it will be in a moment
        return self.log

    def any_log(self, current_leader_epoch: int = -1) -> Log:
        """The log, if this broker leads or follows: a consumer may read from either (KIP-392)."""
        self._check_epoch(current_leader_epoch)
        if self.log is None:
            raise self.error or NotLeader
        return self.log

    def _check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch >= 0 and current_leader_epoch != self.leader_epoch:
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch
            raise UnknownLeaderEpoch

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
        if acks == -1 and len(self.isr) < self.min_isr and self.has_too_few:
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
        if self.has_too_few:
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

    @property
    def has_too_few(self) -> bool:
        """Fewer in-sync replicas than `min.insync.replicas`, or than there are replicas at all."""
        return len(self.isr) < min(self.min_isr, len(self.replicas))

    @property
    def will_have_too_few(self) -> bool:
        """The same, once those who are about to join have joined."""
        isr = self.isr if self.followers is None else self.followers.maximal_isr
        return len(isr) < min(self.min_isr, len(self.replicas))

    def _refuse_few_replicas(self) -> NoReturn:
        raise NotEnoughReplicas(
            f"{len(self.isr)} in-sync replicas of {self.topic}-{self.index}, "
            f"min.insync.replicas is {self.min_isr}"
        )

    def advance_high_watermark(self) -> bool:
        """Move the high watermark to what every in-sync replica has.  True if it moved.

        With too few in-sync replicas it stands still: what is below it must be safe (KIP-966).
        """
        log = self.log
        assert log is not None
        assert self.is_leader
        followers = self.followers
        if followers is None:
            return log.advance_high_watermark(log.written_end_offset)
        if self.has_too_few:
            return False
        return log.advance_high_watermark(
            followers.high_watermark(log.written_end_offset, self.terms.monotonic())
        )
