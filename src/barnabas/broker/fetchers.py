"""Copying from leaders: one connection to each broker that leads something this one follows.

`replication/fetcher.py` says what to ask and what an answer means; here is the doing.  Batches are
appended where they were received; the logs are written at the end of the loop turn, each with one
system call, and then the next request leaves at once: its offsets tell the leader what is written.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ApiError
from barnabas.broker.fetcher_requests import limits_of, list_offsets, nudge, offset_in
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.replication import following
from barnabas.replication.fetcher import (
    Append,
    AskOffsets,
    Fetched,
    Fetcher,
    Key,
    Truncate,
    backoff,
    reset_offset,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.client.node_connection import NodeConnection
    from barnabas.protocol.message import Message
    from barnabas.replication.partition import Partition

logger = logging.getLogger("barnabas.fetchers")

LATEST, EARLIEST = -1, -2


class Fetchers:
    """All that this broker follows."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        self._broker = broker
        self._loop = loop
        self._schedule_turn = schedule_turn
        self._by_leader: dict[int, LeaderFetcher] = {}
        self._followed: dict[Key, tuple[int, int]] = {}
        """Leader and leader epoch of each partition that is followed."""

    def moved(self, partition: Partition) -> None:
        """A partition has another leader, epoch or log than before; or perhaps not."""
        key = partition.topic_id, partition.index
        now = partition.leader_id, partition.leader_epoch
        if partition.is_leader or partition.leader_id < 0 or partition.log is None:
            self._unfollow(key)
        elif self._followed.get(key) != now:
            self._unfollow(key)
            self._followed[key] = now
            self._fetcher(partition.leader_id).follow(partition)

    def _unfollow(self, key: Key) -> None:
        leader_id, _ = self._followed.pop(key, (-1, -1))
        fetcher = self._by_leader.get(leader_id)
        if fetcher is not None:
            fetcher.unfollow(key)
            if fetcher.is_idle:
                del self._by_leader[leader_id]
                fetcher.stop()

    def _fetcher(self, leader_id: int) -> LeaderFetcher:
        fetcher = self._by_leader.get(leader_id)
        if fetcher is None:
            fetcher = self._by_leader[leader_id] = LeaderFetcher(
                self._broker, self._loop, leader_id, schedule_turn=self._schedule_turn
            )
        return fetcher

    def broker_changed(self, node_id: int) -> None:
        """That broker has registered anew, or is fenced no more: do not wait to try it again."""
        fetcher = self._by_leader.get(node_id)
        if fetcher is not None:
            fetcher.try_now()

    def throttles_changed(self) -> None:
        """What waits for its share may have to wait no longer."""
        for fetcher in self._by_leader.values():
            fetcher.throttles_changed()

    def stop(self) -> None:
        for fetcher in self._by_leader.values():
            fetcher.stop()
        self._by_leader.clear()
        self._followed.clear()


class LeaderFetcher:
    """Copies from one broker.  At most one fetch is under way."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        leader_id: int,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        self._broker = broker
        self._loop = loop
        self._leader_id = leader_id
        self._schedule_turn = schedule_turn
        self._fetcher = Fetcher(replica_id=broker.node_id, limits=limits_of(broker))
        self._connection: NodeConnection | None = None
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._failures = 0
        self._is_asking = False
        """A fetch is under way, or its records are being written."""
        self._is_nudged = False
        self._is_stopped = False

    @property
    def is_idle(self) -> bool:
        return not self._fetcher.partitions

    def follow(self, partition: Partition) -> None:
        log = partition.log
        assert log is not None
        self._fetcher.add(
            (partition.topic_id, partition.index),
            leader_epoch=partition.leader_epoch,
            offset=log.end_offset,
            last_epoch=log.epochs.latest,
            start_offset=log.start_offset,
        )
        self._ask_soon()

    def unfollow(self, key: Key) -> None:
        self._fetcher.remove(key)

    def try_now(self) -> None:
        if not self._is_asking and self._failures:
            self._failures = 0
            self._ask_soon()

    def stop(self) -> None:
        self._is_stopped = True
        self._cancel_timer()
        if self._connection is not None:
            self._connection.close()

    # -- asking

    def _ask_soon(self) -> None:
        """Once for all partitions that come in the same turn."""
        self._cancel_timer()
        self._timer = self._loop.call_soon(self._ask_or_nudge)

    def _ask_at(self, when: float) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_at(when, self._ask_or_nudge)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ask_or_nudge(self) -> None:
        self._timer = None
        if not self._is_asking:
            self._ask()
        elif self._connection is not None and not self._is_nudged:
            # The leader may hold our fetch until it has records.  A fetch for nothing makes it
            # answer, and we can name the partitions that have come meanwhile.
            self._is_nudged = True
            self._send(nudge(self._broker), lambda response: None)

    def _ask(self) -> None:
        if self._is_stopped:
            return
        now = self._loop.time()
        self._fetcher.replica_epoch = self._broker.epoch
        request = self._fetcher.next_request(now)
        when = self._fetcher.next_resume()
        if when is not None:
            self._ask_at(when)  # whether or not the leader holds what we ask now
        if request is None:
            return
        if self._connection is None:
            self._connection = self._broker.connections.open(self._leader_id, self._lost)
        self._is_asking = True
        if self._connection is None:
            self._answered(None)
        else:
            self._send(request, self._answered)

    def _send(self, request: Message, done: Callable[[Message | None], None]) -> None:
        assert self._connection is not None
        timeout_s = self._broker.config.int("replica.socket.timeout.ms") / 1000
        self._connection.send(request, done, timeout_s=timeout_s)

    def _lost(self) -> None:
        self._connection = None

    # -- answers

    def _answered(self, response: Message | None) -> None:
        if self._is_stopped:
            return
        now = self._loop.time()
        self._is_nudged = False
        if response is None:
            self._is_asking = False
            self._fetcher.lost()
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._failures == 0:
                logger.info("broker %d cannot be fetched from", self._leader_id)
            self._ask_at(now + backoff(self._failures, self._fetcher.limits.backoff_s))
            self._failures += 1
            return
        self._failures = 0
        assert isinstance(response, FetchResponse)
        appended = []
        for action in self._fetcher.take(response, now):
            partition = self._partition(action.partition)
            if partition is None:
                continue
            try:
                if isinstance(action, Append):
                    if action.records:
                        self._append(partition, action.records)
                    appended.append((partition, action))
                elif isinstance(action, Truncate):
                    following.truncate(
                        self._broker.replicas, partition, action.epoch, action.end_offset
                    )
                    self._moved(action.partition, partition)
                else:
                    self._ask_offsets(action, partition)
            except ApiError as error:
                self._failed(action.partition, partition, error)
            except Exception as error:
                # A fault of ours: it must not end the copying of all that this leader leads.
                logger.exception("%s-%d cannot be copied", partition.topic, partition.index)
                self._failed(action.partition, partition, error)
        self._broker.replicas.after_write(partial(self._written, appended))
        self._schedule_turn()

    def _partition(self, fetched: Fetched) -> Partition | None:
        if not self._fetcher.is_current(fetched):
            return None
        return self._broker.replicas.find_by_id(*fetched.key)

    def _append(self, partition: Partition, records: memoryview) -> None:
        following.append(
            self._broker.replicas, partition, records, now_ms=self._broker.clock.now_ms()
        )

    def _written(self, appended: list[tuple[Partition, Append]]) -> None:
        for partition, action in appended:
            fetched = action.partition
            if not self._fetcher.is_current(fetched):
                continue
            if partition.write_failure is not None or partition.log is None:
                self._fetcher.failed(fetched, self._loop.time())
                continue
            try:
                self._follow(partition, action)
            except Exception as error:  # the others go on, see `_answered`
                logger.exception("%s-%d cannot be copied", partition.topic, partition.index)
                self._failed(fetched, partition, error)
        self._is_asking = False
        self._ask()

    def _follow(self, partition: Partition, action: Append) -> None:
        """What was appended is written: now the leader's watermarks hold."""
        following.follow_watermarks(
            self._broker.replicas, partition, action.high_watermark, action.log_start_offset
        )
        self._moved(action.partition, partition)
        if partition.is_throttled_follower and action.records:
            self._slow_down(action.partition, partition, len(action.records))

    def _slow_down(self, fetched: Fetched, partition: Partition, size: int) -> None:
        if partition.node_id not in partition.isr:
            now = self._loop.time()
            throttle = self._broker.replicas.follower_throttle
            throttle.spend(size, now)
            pause = throttle.pause(now)
            if pause:
                self._fetcher.pause(fetched, now + pause)

    def throttles_changed(self) -> None:
        """Without this, what was copied too fast at a low rate is waited for at that rate, however
        much higher it is now.
        """
        now = self._loop.time()
        throttle = self._broker.replicas.follower_throttle
        for fetched in self._fetcher.paused():
            if fetched.failures:
                continue  # it waits for something else
            partition = self._partition(fetched)
            slow = partition is not None and partition.is_throttled_follower
            until = now + (throttle.pause(now) if slow else 0.0)
            if until < fetched.pause_until:
                self._fetcher.pause(fetched, until)
                self._ask_soon()

    def _moved(self, fetched: Fetched, partition: Partition) -> None:
        log = partition.log
        if log is None:
            self._fetcher.failed(fetched, self._loop.time())
            return
        self._fetcher.moved(
            fetched,
            offset=log.written_end_offset,
            last_epoch=log.epochs.latest,
            start_offset=log.start_offset,
        )

    def _failed(self, fetched: Fetched, partition: Partition, error: Exception) -> None:
        logger.warning(
            "%s-%d from broker %d: %s", partition.topic, partition.index, self._leader_id, error
        )
        if partition.dirty:
            self._broker.replicas.write_dirty()
        log = partition.log
        if log is not None and log.written_end_offset != fetched.offset:
            self._moved(fetched, partition)  # some of it could be done
        self._fetcher.failed(fetched, self._loop.time())

    # -- where the leader does not know our position

    def _ask_offsets(self, action: AskOffsets, partition: Partition) -> None:
        """Ask for both ends of its log, in two requests: one cannot ask both of a partition."""
        ends: dict[int, int] = {}

        def answered(which: int, response: Any) -> None:
            if self._is_stopped or not self._fetcher.is_current(action.partition):
                return
            try:
                ends[which] = offset_in(response)
                if len(ends) == 2:
                    self._reset(action.partition, partition, ends)
            except ApiError as error:
                self._failed(action.partition, partition, error)
                self._ask_soon()

        for which in (LATEST, EARLIEST):
            request = list_offsets(self._broker.node_id, partition, which)
            self._send(request, partial(answered, which))

    def _reset(self, fetched: Fetched, partition: Partition, ends: dict[int, int]) -> None:
        log = following.follower_log(partition, fetched.leader_epoch)
        to = reset_offset(
            leader_start=ends[EARLIEST], leader_end=ends[LATEST], local_end=log.end_offset
        )
        following.reset(self._broker.replicas, partition, to, now_ms=self._broker.clock.now_ms())
        self._moved(fetched, partition)
        self._ask_soon()
