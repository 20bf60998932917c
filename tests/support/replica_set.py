"""One partition on several brokers without sockets: metadata arrives when the test says so.

Each broker is a `SmallBroker` with an image of its own, which may be behind.  Followers fetch with
the real fetcher through the real handler; requests and answers pass through the codec.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_broker import LISTENER, SmallBroker
from storage_logs import NOW, batch

from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k01_fetch import fetch
from barnabas.broker.handlers.k02_list_offsets import list_offsets
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.replication import following, leading
from barnabas.replication.fetcher import (
    Append,
    AskOffsets,
    Fetched,
    Fetcher,
    FetchLimits,
    Truncate,
    reset_offset,
)
from barnabas.replication.partition import Partition

TOPIC_ID = b"t".ljust(16, b".")
FETCH_VERSION = 17


class Replica(SmallBroker):
    """One broker, and what it copies."""

    def __init__(self, path: Path, node_id: int, **settings: str) -> None:
        super().__init__(path, node_id=node_id, **settings)
        self.broker.epoch = node_id * 10
        self.seen = 0
        """How much of the journal it has."""
        self.fetchers: dict[int, Fetcher] = {}
        self.followed: tuple[int, int] | None = None
        self.wanted: list[Partition] = []
        self.replicas.on_isr_wanted = self._isr_wanted
        self.replicas.on_moved = self._moved

    @property
    def p(self) -> Partition:
        return self.partition("t")

    @property
    def log(self) -> Any:
        log = self.p.log
        assert log is not None
        return log

    def _isr_wanted(self, partition: Partition) -> None:
        self.wanted.append(partition)

    def _moved(self, partition: Partition) -> None:
        now = partition.leader_id, partition.leader_epoch
        following_nobody = partition.is_leader or partition.leader_id < 0 or partition.log is None
        if self.followed is not None and (following_nobody or now != self.followed):
            self.fetchers[self.followed[0]].remove((TOPIC_ID, 0))
            self.followed = None
        if following_nobody or self.followed == now:
            return
        self.followed = now
        log = partition.log
        assert log is not None
        fetcher = self.fetchers.setdefault(
            now[0], Fetcher(replica_id=self.node_id, limits=FetchLimits(max_wait_ms=0))
        )
        fetcher.replica_epoch = self.broker.epoch
        fetcher.add(
            (TOPIC_ID, 0),
            leader_epoch=partition.leader_epoch,
            offset=log.end_offset,
            last_epoch=log.epochs.latest,
            start_offset=log.start_offset,
        )

    def values(self) -> list[bytes | None]:
        """All that is in the log, committed or not."""
        return [value for _, value in self.entries()]

    def entries(self) -> list[tuple[int, bytes | None]]:
        from barnabas.records.batch import decode_records, iter_headers

        log, found, offset = self.log, [], self.log.start_offset
        while offset < log.written_end_offset:
            data = log.read(
                offset, max_bytes=1 << 20, end_offset=log.written_end_offset, at_least_one=True
            ).read()
            for at, header in iter_headers(data):
                if not header.is_control:
                    whole = data[at : at + header.size_bytes]
                    found += [(record.offset, record.value) for record in decode_records(whole)]
                offset = header.next_offset
        return found


class ReplicaSet:
    """Brokers 1 to `count`, and the journal that each follows at its own pace."""

    def __init__(self, path: Path, count: int = 3, **settings: str) -> None:
        self.brokers = {
            node_id: Replica(path / str(node_id), node_id, **settings)
            for node_id in range(1, count + 1)
        }
        ids = list(self.brokers)
        self.leader, self.leader_epoch, self.partition_epoch = ids[0], 0, 0
        self.isr = tuple(ids)
        self.journal: list[list[Message]] = [
            [
                mr.RegisterBrokerRecord(
                    broker_id=node_id,
                    broker_epoch=node_id * 10,
                    incarnation_id=bytes([node_id]) * 16,
                    fenced=False,
                )
                for node_id in ids
            ]
        ]
        self.journal.append(
            [
                mr.TopicRecord(name="t", topic_id=TOPIC_ID),
                mr.PartitionRecord(
                    partition_id=0,
                    topic_id=TOPIC_ID,
                    replicas=ids,
                    isr=ids,
                    leader=self.leader,
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=[bytes(16)] * count,
                ),
            ]
        )
        self.tell_all()

    def __getitem__(self, node_id: int) -> Replica:
        return self.brokers[node_id]

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.close()

    # The controller.

    def change(self, **fields: Any) -> None:
        """One more change in the journal; nobody has heard of it yet."""
        self.partition_epoch += 1
        if "leader" in fields:
            self.leader = fields["leader"]
            self.leader_epoch += 1
        if "isr" in fields:
            self.isr = tuple(fields["isr"])
        self.journal.append([mr.PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **fields)])

    def tell(self, node_id: int) -> bool:
        """The next change gets to that broker; False if there is none."""
        broker = self.brokers[node_id]
        if broker.seen == len(self.journal):
            return False
        broker.replay(*self.journal[broker.seen])
        broker.seen += 1
        return True

    def tell_all(self) -> None:
        for node_id in self.brokers:
            while self.tell(node_id):
                pass

    def answer_isr(self, node_id: int) -> bool:
        """The controller decides what that broker wants of it; whether anything changed."""
        broker = self.brokers[node_id]
        wanted, broker.wanted = broker.wanted, []
        for partition in wanted:
            followers = partition.followers
            if followers is None or followers.pending_isr is None:
                continue
            if (
                self.leader != node_id
                or partition.leader_epoch != self.leader_epoch
                or partition.partition_epoch != self.partition_epoch
            ):
                continue  # outdated: metadata is on its way
            self.change(isr=list(followers.pending_isr))
            return True
        return False

    # Records.

    def append(self, node_id: int, *values: bytes, acks: int = 1) -> int:
        """At that broker, written; the last offset."""
        broker = self.brokers[node_id]
        appended = broker.replicas.append(
            broker.p, batch(*values), acks=acks, now_ms=broker.clock.now_ms()
        )
        broker.replicas.write_dirty()
        return appended.last_offset

    def fetch(self, node_id: int) -> None:
        """One fetch of that follower from whom it believes to be the leader, carried out."""
        follower = self.brokers[node_id]
        if follower.followed is None:
            return
        leader = self.brokers[follower.followed[0]]
        fetcher = follower.fetchers[leader.node_id]
        request = fetcher.next_request(follower.clock.mono)
        if request is None:
            return
        response = _ask(leader, request)
        for action in fetcher.take(response, follower.clock.mono):
            fetched = action.partition
            match action:
                case Append():
                    if action.records:
                        following.append(follower.replicas, follower.p, action.records, now_ms=NOW)
                        follower.replicas.write_dirty()
                    following.follow_watermarks(
                        follower.replicas,
                        follower.p,
                        action.high_watermark,
                        action.log_start_offset,
                    )
                case Truncate():
                    following.truncate(
                        follower.replicas, follower.p, action.epoch, action.end_offset
                    )
                case AskOffsets():
                    self._reset(leader, follower, fetched)
            fetcher.moved(
                fetched,
                offset=follower.log.written_end_offset,
                last_epoch=follower.log.epochs.latest,
                start_offset=follower.log.start_offset,
            )

    def _reset(self, leader: Replica, follower: Replica, fetched: Fetched) -> None:
        start, end = (_offset(leader, follower, fetched, which) for which in (-2, -1))
        to = reset_offset(leader_start=start, leader_end=end, local_end=follower.log.end_offset)
        following.reset(follower.replicas, follower.p, to, now_ms=NOW)

    def settle(self, rounds: int = 12) -> None:
        """Everybody hears everything and copies until nothing is left to do."""
        for _ in range(rounds):
            self.tell_all()
            for node_id, broker in self.brokers.items():
                broker.clock.mono += 1.1
                self.fetch(node_id)
                self.answer_isr(node_id)

    def pass_time(self, seconds: float) -> None:
        for broker in self.brokers.values():
            broker.clock.mono += seconds

    def check_lag(self, node_id: int) -> None:
        broker = self.brokers[node_id]
        leading.check_lag(broker.replicas, broker.clock.mono)


def _context(key: ApiKey, version: int) -> RequestContext:
    return RequestContext(
        api_key=key,
        api_version=version,
        correlation_id=1,
        client_id="broker",
        listener=LISTENER,
        peer_host="127.0.0.1",
    )


def _ask(leader: Replica, request: FetchRequest) -> FetchResponse:
    sent = FetchRequest.decode(request.encode(FETCH_VERSION), FETCH_VERSION)
    answer = fetch(leader.broker, _context(ApiKey.FETCH, FETCH_VERSION), sent)
    assert not isinstance(answer, Later), "it does not want to wait"
    assert answer is not None
    parts = answer.parts(FETCH_VERSION)
    data = b"".join(part.read() if hasattr(part, "read") else bytes(part) for part in parts)
    return FetchResponse.decode(memoryview(bytearray(data)), FETCH_VERSION)


def _offset(leader: Replica, follower: Replica, fetched: Fetched, which: int) -> int:
    wanted = ListOffsetsPartition(
        partition_index=0, current_leader_epoch=fetched.leader_epoch, timestamp=which
    )
    request = ListOffsetsRequest(
        replica_id=follower.node_id, topics=[ListOffsetsTopic(name="t", partitions=[wanted])]
    )
    response: Any = list_offsets(leader.broker, _context(ApiKey.LIST_OFFSETS, 10), request)
    answer = response.topics[0].partitions[0]
    assert answer.error_code == 0
    offset: int = answer.offset
    return offset
