"""Reads one range of one partition from its leader, as the batches that it stores.

The next fetch is under way while what the last one brought is decoded: the broker and the network
work meanwhile, and no thread is needed for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.base.error_codes import ErrorCode
from barnabas.base.errors import ApiError
from barnabas.client.brokers import check_code
from barnabas.client.errors import ClientError, NoLeaderError, RefusedError
from barnabas.client.wire import Connection
from barnabas.pipelines.cluster import MISSING, Cluster, Pauses, passes
from barnabas.pipelines.errors import DataLossError, PipelineError
from barnabas.pipelines.offsets import EARLIEST, OffsetRange
from barnabas.pipelines.options import SourceOptions
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.records.header import BatchHeader, iter_headers

LOG = logging.getLogger(__name__)

MAX_RESPONSE_BYTES = 0x7FFF_FFFF
READ_COMMITTED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Batches as they are stored; offsets below `position` were read before."""

    records: memoryview | bytes
    batches: list[tuple[int, BatchHeader]]
    """Where each begins in `records`."""
    position: int
    aborted: list[tuple[int, int]]
    """Producers, and the first offsets, of aborted transactions that reach into the batches."""


class RangeReader:
    """One pass over a range.  One thread; the cluster is the caller's, and used by nobody else
    meanwhile.
    """

    def __init__(self, cluster: Cluster, span: OffsetRange, options: SourceOptions) -> None:
        self._cluster = cluster
        self._span = span
        self._options = options
        self._name = f"{span.topic}-{span.partition}"
        self._position = span.start
        self._asked: Connection | None = None
        """Whom the fetch from `_position` is under way to."""
        self._leader = -1
        self._was_empty_at = -1
        """Where an answer had nothing, although there should be something."""

    def __iter__(self) -> Iterator[Fetched]:
        waited_since = time.monotonic()
        self._ask()
        while self._position < self._span.end:
            data = self._answer()
            if data is None:  # the position is another one now
                continue
            fetched = self._note(data)
            if self._position < self._span.end:
                self._ask()
            if fetched is not None:
                yield fetched
                waited_since = time.monotonic()
            elif (time.monotonic() - waited_since) * 1000 > self._options.poll_timeout_ms:
                raise PipelineError(
                    f"{self._name}: nothing at offset {self._position} for "
                    f"{self._options.poll_timeout_ms} ms; it ends at {data.high_watermark}, "
                    f"and was to be read up to {self._span.end}"
                )

    # Asking.

    def _ask(self) -> None:
        """Sends the next fetch; whatever goes wrong is found out when its answer is awaited."""
        try:
            self._asked = self._send()
        except ClientError as error:
            LOG.info("%s: %s", self._name, error)
            self._asked = None

    def _send(self) -> Connection:
        span = self._span
        brokers = self._cluster.brokers()
        place = brokers.places([span.topic]).get(span.place) if self._leader < 0 else None
        if self._leader < 0:
            if place is None:
                raise RefusedError(MISSING, f"there is no partition {self._name}")
            if place.leader is None:
                raise NoLeaderError(*span.place)
            self._leader, self._topic_id = place.leader, place.topic_id
        connection = brokers.to(self._leader)
        partition = FetchPartition(
            partition=span.partition,
            fetch_offset=self._position,
            partition_max_bytes=self._options.fetch_bytes,
        )
        connection.send(
            FetchRequest(
                max_wait_ms=self._options.fetch_wait_ms,
                min_bytes=1,
                max_bytes=MAX_RESPONSE_BYTES,
                isolation_level=READ_COMMITTED if self._options.is_committed_only else 0,
                topics=[
                    FetchTopic(topic=span.topic, topic_id=self._topic_id, partitions=[partition])
                ],
            )
        )
        return connection

    def _answer(self) -> PartitionData | None:
        """What the leader says, whoever that is by now; None if reading goes on elsewhere."""
        pauses = Pauses(self._options.poll_timeout_ms / 1000)
        while True:
            try:
                asked, self._asked = self._asked, None
                return self._received(asked or self._send())
            except RefusedError as error:
                if error.name == ErrorCode.OFFSET_OUT_OF_RANGE.name:
                    self._skip_what_is_lost()
                    return None
                self._leader = -1
                if not (passes(error) or error.name == MISSING) or not pauses.take():
                    self._give_up(error)
                    return None
            except ClientError as error:
                self._leader = -1
                self._cluster.drop()
                if not passes(error) or not pauses.take():
                    raise PipelineError(f"{self._name}: {error}") from None

    def _received(self, connection: Connection) -> PartitionData:
        while True:
            answer = connection.receive(FetchResponse)
            check_code(answer.error_code)
            found = [each for topic in answer.responses for each in topic.partitions]
            if not found:
                raise ClientError(f"{connection.address}: an answer without {self._name}")
            check_code(found[0].error_code)
            if found[0].records or not answer.throttle_time_ms:
                return found[0]
            time.sleep(answer.throttle_time_ms / 1000)  # a quota: nothing is said about records
            connection = self._send()

    def _give_up(self, error: RefusedError) -> None:
        """Ends the range, if the partition was deleted and that is to be endured."""
        if error.name != MISSING:
            raise PipelineError(f"{self._name}: {error}") from None
        self._lose(f"{self._name} was deleted before it was read up to offset {self._span.end}")
        self._position = self._span.end

    def _skip_what_is_lost(self) -> None:
        """Retention, or whoever deletes records, was faster."""
        place = self._span.place
        first = self._cluster.offsets({place: EARLIEST})[place]
        lost = f"offsets {self._position} to {min(first, self._span.end) - 1} of the range"
        if first <= self._position:
            lost = f"offset {self._position}, and what came after it,"
            first = self._span.end
        self._lose(f"{self._name}: {lost} up to {self._span.end} are not there any more")
        self._position = first
        if self._position < self._span.end:
            self._ask()

    def _lose(self, text: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(text)
        LOG.warning("%s", text)

    # Answers.

    def _note(self, data: PartitionData) -> Fetched | None:
        """Moves on behind what came; None if there was nothing in it."""
        records = data.records
        assert records is None or isinstance(records, bytes | memoryview), "decoded, not made"
        position = self._position
        if not records:
            self._end_if_nothing_follows(data)
            return None
        try:
            batches = list(iter_headers(records))
        except ApiError as error:
            raise PipelineError(f"{self._name}: at offset {position}: {error}") from None
        if not batches:
            raise PipelineError(f"{self._name}: half a batch at offset {position}")
        self._position = max(position, batches[-1][1].next_offset)
        return Fetched(
            records=records,
            batches=batches,
            position=position,
            aborted=[(each.producer_id, each.first_offset) for each in data.aborted_transactions]
            if self._options.is_committed_only and data.aborted_transactions
            else [],
        )

    def _end_if_nothing_follows(self, data: PartitionData) -> None:
        """Compaction can remove the last records of all: the range then ends without them.

        A broker may have other reasons to send nothing: only two such answers in a row are one.
        """
        readable = (
            data.last_stable_offset if self._options.is_committed_only else data.high_watermark
        )
        if readable < self._span.end:
            return
        if self._was_empty_at == self._position:
            self._position = self._span.end
        else:
            self._was_empty_at = self._position
