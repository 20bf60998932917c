"""What no client can see: the insides of the nodes, looked at now and then.

| Name | What is found |
|---|---|
| two leaders | two brokers lead a partition in one epoch |
| high watermark went back | on one replica, in one life of its broker |
| logs differ | below the high watermark two replicas have different batches |
| not caught up | a member of the ISR has less than the leader's high watermark |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.lab.sim.checker import Violation
from barnabas.records.batch import iter_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from barnabas.controller.image import ClusterImage
    from barnabas.lab.sim.process import Process
    from barnabas.lab.sim.world import SimHost
    from barnabas.replication.partition import Partition
    from barnabas.storage.log import Log

READ_BYTES = 1 << 20
Key = tuple[bytes, int]
"""A partition: topic id and index."""


class Probe:
    """Remembers what it saw.  `image`: what the active controller, if any, has committed."""

    def __init__(self, brokers: list[SimHost], image: Callable[[], ClusterImage | None]) -> None:
        self.violations: list[Violation] = []
        self._brokers = brokers
        self._image = image
        self._leaders: dict[tuple[Key, int], int] = {}
        self._logs: dict[tuple[Process, Key], Log] = {}
        self._high: dict[tuple[Process, Key], int] = {}
        self._checked: dict[tuple[Process, Key], int] = {}
        self._truth: dict[Key, dict[int, tuple[int, int, int]]] = {}
        """Of each committed batch, by its offset: last offset, leader epoch, checksum."""

    def look(self) -> None:
        for host, process, partition in self._partitions():
            key = partition.topic_id, partition.index
            if partition.is_leader:
                self._see_leader(key, partition)
            log = partition.log
            if log is not None:
                self._see_log(host, process, key, log)
        self._see_isr()

    def look_at_everything(self) -> None:
        """As `look`, but logs are read anew from their start."""
        self._checked.clear()
        self.look()

    def _partitions(self) -> Iterator[tuple[SimHost, Process, Partition]]:
        for host in self._brokers:
            node, process = host.node, host.process
            if node is not None and process is not None and host.is_started:
                for partition in node.broker.replicas.all():
                    yield host, process, partition

    def _say(self, name: str, detail: str) -> None:
        if len(self.violations) < 20:
            self.violations.append(Violation(name, detail))

    def _see_leader(self, key: Key, partition: Partition) -> None:
        leader = self._leaders.setdefault((key, partition.leader_epoch), partition.node_id)
        if leader != partition.node_id:
            self._say(
                "two leaders",
                f"{partition!r}, epoch {partition.leader_epoch}: {leader} and {partition.node_id}",
            )

    def _see_log(self, host: SimHost, process: Process, key: Key, log: Log) -> None:
        high = log.high_watermark
        if self._logs.get((process, key)) is not log:  # a replica that went may come back, empty
            self._logs[process, key] = log
            self._high.pop((process, key), None)
            self._checked.pop((process, key), None)
        before = self._high.get((process, key), 0)
        if high < before:
            self._say(
                "high watermark went back",
                f"{process} {log.topic}-{log.partition}: {before} {high}",
            )
        self._high[process, key] = high
        if log.config.is_compacted:
            return  # each replica compacts when it comes to it
        truth = self._truth.setdefault(key, {})
        position = max(self._checked.get((process, key), 0), log.start_offset)
        while position < high:
            slice_ = log.read(position, max_bytes=READ_BYTES, end_offset=high, at_least_one=True)
            if not len(slice_):
                break
            for _, header in iter_headers(slice_.read()):
                found = header.last_offset, header.leader_epoch, header.crc
                known = truth.setdefault(header.base_offset, found)
                if known != found:
                    self._say(
                        "logs differ",
                        f"{process} {log.topic}-{log.partition} at {header.base_offset}: "
                        f"(last offset, epoch, checksum) {found}, others {known}",
                    )
                position = header.last_offset + 1
        self._checked[process, key] = position

    def _see_isr(self) -> None:
        image = self._image()
        if image is None:
            return
        seen = {
            (partition.node_id, partition.topic_id, partition.index): partition
            for _, _, partition in self._partitions()
        }
        for topic in image.topics.values():
            for index, state in enumerate(topic.partitions):
                leader = seen.get((state.leader, topic.id, index))
                if (
                    leader is None
                    or leader.log is None
                    or not leader.is_leader
                    or leader.leader_epoch != state.leader_epoch
                ):
                    continue
                high = leader.log.high_watermark
                for member in state.isr:
                    follower = seen.get((member, topic.id, index))
                    if (
                        follower is not None
                        and follower.log is not None
                        and follower.leader_epoch == state.leader_epoch
                        and follower.log.end_offset < high
                    ):
                        self._say(
                            "not caught up",
                            f"{topic.name}-{index}: {member} is in the ISR with "
                            f"{follower.log.end_offset}, leader's high watermark {high}",
                        )
