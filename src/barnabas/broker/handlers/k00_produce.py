"""Produce: append batches to partition logs.

acks=0 gets no answer (an error closes the connection, as the client can learn of it no other way),
acks=1 is answered when the bytes are in the leader's page cache, acks=-1 when every in-sync replica
has them.  Nothing is decoded: a batch is checked by its header and CRC and appended as it came.

v3: transactional id, message format v2.  v7: zstd.  v8: per-record errors (KIP-467).  v9: flexible.
v10: who leads instead (KIP-951).  v12: the leader adds the partition to the transaction (KIP-890).
v0-2 are advertised, because some clients read "compression is supported" from it, and refused.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    InvalidRequest,
    InvalidTopic,
    code_for,
)
from barnabas.broker.dispatch import Later, RequestContext, attempts, handles
from barnabas.broker.handlers.judging import Judged, judge_elsewhere, laborious_batches
from barnabas.broker.handlers.leader_hints import MOVED, tell_leaders
from barnabas.broker.handlers.shared import INTERNAL_TOPICS
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas.records.header import LOW_ATTRIBUTES, TRANSACTIONAL
from barnabas.records.validate import InvalidRecords, Validated, read_one_header
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.broker.handlers.transactional_batches import TransactionalBatches
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.replication.partition import Partition

logger = logging.getLogger("barnabas.requests")

MIN_VERSION = 3
LEADERS_SINCE = 10
ZSTD_SINCE = 7
ADMIN_CLIENT_ID = "__admin_client"
"""Who calls itself so may write to internal topics, as with Apache Kafka."""
_START_IS_NOT_TOLD = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""After any other error of a batch the client is told where the log starts, as by Apache Kafka."""


class _Outcome:
    """What became of one partition of the request."""

    __slots__ = ("answer", "last_offset", "partition")

    def __init__(self, answer: PartitionProduceResponse) -> None:
        self.answer = answer
        self.partition: Partition | None = None
        self.last_offset = -1


@handles(ApiKey.PRODUCE, versions=(0, 12))
def produce(broker: Broker, ctx: RequestContext, request: ProduceRequest) -> Message | Later | None:
    if request.acks not in {-1, 0, 1}:
        return _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    if ctx.api_version < MIN_VERSION:
        return _refuse_all(request, ErrorCode.UNSUPPORTED_VERSION)
    if request.transactional_id is None:
        if _is_transactional(request):
            # Nobody could ever end such a transaction, and no reader of committed records pass it.
            return _refuse_all(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return _judged_first(broker, ctx, request, None)
    if request.acks == 0:  # whether it may be appended must be asked first, and told
        return _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    from barnabas.broker.handlers.transactional_batches import verified_first

    return verified_first(
        broker,
        request,
        ctx.api_version,
        lambda batches: _judged_first(broker, ctx, request, batches),
    )


def _judged_first(
    broker: Broker,
    ctx: RequestContext,
    request: ProduceRequest,
    batches: TransactionalBatches | None,
) -> Message | Later | None:
    """Append; but if records have to be looked at and are many, a worker does that before."""
    laborious = laborious_batches(broker, request)
    if not laborious:
        return _produce(broker, ctx, request, batches, {})
    return judge_elsewhere(
        broker,
        request,
        laborious,
        zstd_allowed=ctx.api_version >= ZSTD_SINCE,
        produce=lambda judged: _produce(broker, ctx, request, batches, judged),
    )


def _produce(
    broker: Broker,
    ctx: RequestContext,
    request: ProduceRequest,
    batches: TransactionalBatches | None,
    judged: Judged,
) -> ProduceResponse | Later | None:
    now_ms = broker.clock.now_ms()
    response = ProduceResponse()
    outcomes: list[_Outcome] = []
    for topic in request.topic_data:
        answers = TopicProduceResponse(name=topic.name)
        response.responses.append(answers)
        for data in topic.partition_data:
            outcome = _Outcome(PartitionProduceResponse(index=data.index))
            answers.partition_responses.append(outcome.answer)
            outcomes.append(outcome)
            try:
                if topic.name in INTERNAL_TOPICS:
                    _check_internal(topic.name, ctx, batches)
                _append(
                    broker,
                    topic.name,
                    judged.get(id(data), data.records),
                    outcome,
                    batches,
                    acks=request.acks,
                    now_ms=now_ms,
                    zstd_allowed=ctx.api_version >= ZSTD_SINCE,
                )
            except Exception as error:
                _fail(outcome.answer, error)
    if request.acks == 0:
        failed = next((o.answer for o in outcomes if o.answer.error_code), None)
        if failed is not None:
            code = ErrorCode(failed.error_code).name
            raise DecodeError(f"produce with acks=0 to partition {failed.index} failed: {code}")
        return None
    later = Later()
    broker.replicas.after_write(
        lambda: _written(broker, ctx, later, response, outcomes, request=request)
    )
    return later


def _check_internal(topic: str, ctx: RequestContext, batches: TransactionalBatches | None) -> None:
    """Raise unless the client may write to an internal topic, on which coordinators rely."""
    if ctx.client_id != ADMIN_CLIENT_ID or batches is not None:
        raise InvalidTopic(f"Cannot append to internal topic {topic}")


def _is_transactional(request: ProduceRequest) -> bool:
    return any(
        data.records is not None
        and len(data.records) > LOW_ATTRIBUTES
        and data.records[LOW_ATTRIBUTES] & TRANSACTIONAL
        for topic in request.topic_data
        for data in topic.partition_data
    )


def _append(
    broker: Broker,
    topic: str,
    records: memoryview | bytes | Validated | ApiError | None,
    outcome: _Outcome,
    batches: TransactionalBatches | None,
    *,
    acks: int,
    now_ms: int,
    zstd_allowed: bool,
) -> None:
    partition = broker.replicas.get(topic, outcome.answer.index)
    if records is None:
        raise InvalidRequest("a produce request without records")
    if isinstance(records, ApiError):
        raise records
    assert not isinstance(records, bytes), "decoded in place"
    if isinstance(records, memoryview):
        read_one_header(records)
    if batches is not None:
        batches.check(partition)
    try:
        appended = broker.replicas.append(
            partition,
            records,
            acks=acks,
            now_ms=now_ms,
            zstd_allowed=zstd_allowed,
            zero_start=batches is not None and batches.zero_start,
        )
    except ApiError as error:
        if error.code not in _START_IS_NOT_TOLD and partition.log is not None:
            outcome.answer.log_start_offset = partition.log.start_offset
        raise
    if batches is not None:
        batches.appended(partition)
    outcome.partition = partition
    outcome.last_offset = appended.last_offset
    outcome.answer.base_offset = appended.base_offset
    outcome.answer.log_append_time_ms = appended.log_append_time
    outcome.answer.log_start_offset = appended.log_start_offset


def _fail(answer: PartitionProduceResponse, error: Exception) -> None:
    if not isinstance(error, ApiError):
        logger.error("produce failed", exc_info=error)
    answer.error_code = int(code_for(error))
    answer.base_offset = -1
    answer.log_append_time_ms = -1
    if isinstance(error, ApiError):
        answer.error_message = str(error)
    if isinstance(error, InvalidRecords):
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in error.record_errors
        ]


def _written(
    broker: Broker,
    ctx: RequestContext,
    later: Later,
    response: ProduceResponse,
    outcomes: list[_Outcome],
    *,
    request: ProduceRequest,
) -> None:
    """The turn's bytes are written, or not: answer, or wait for the replicas."""
    for outcome in outcomes:
        partition = outcome.partition
        if partition is not None and partition.write_failure is not None:
            outcome.partition = None
            outcome.answer.log_start_offset = -1
            _fail(outcome.answer, partition.write_failure)
    waiting: list[_Outcome] = []
    if request.acks == -1:
        waiting = [o for o in outcomes if o.partition is not None and not _replicated(o)]
    if not waiting:
        later.resolve(_with_leaders(broker, ctx, response))
        return

    def attempt(expired: bool) -> bool:
        still = [o for o in waiting if not _replicated(o)]
        if still and not expired:
            return False
        for outcome in still:
            _refuse(outcome, ErrorCode.REQUEST_TIMED_OUT)
        later.resolve(_with_leaders(broker, ctx, response))
        return True

    deadline = broker.clock.monotonic() + request.timeout_ms / 1000
    parked = Parked(
        attempts(later, attempt), [o.partition for o in waiting if o.partition], deadline
    )
    broker.replicas.produces.park(parked)
    later.on_abandon = lambda: broker.replicas.produces.forget(parked)


def _with_leaders(broker: Broker, ctx: RequestContext, response: ProduceResponse) -> Message:
    if ctx.api_version >= LEADERS_SINCE:
        moved = [
            (answer, broker.image.partition(topic.name, answer.index))
            for topic in response.responses
            for answer in topic.partition_responses
            if answer.error_code in MOVED
        ]
        if moved:
            response.node_endpoints = tell_leaders(broker, ctx.listener.name, moved, NodeEndpoint)
    return response


def _replicated(outcome: _Outcome) -> bool:
    """Whether it is known what became of the batch: on all in-sync replicas, or given up."""
    partition = outcome.partition
    assert partition is not None
    log = partition.log
    if not partition.is_leader or log is None:
        _refuse(outcome, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    if log.high_watermark <= outcome.last_offset:
        return False
    if partition.will_have_too_few:
        _refuse(outcome, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return True


def _refuse(outcome: _Outcome, code: ErrorCode) -> None:
    answer = outcome.answer
    answer.error_code = int(code)
    answer.base_offset = answer.log_append_time_ms = answer.log_start_offset = -1


def _refuse_all(request: ProduceRequest, code: ErrorCode) -> ProduceResponse | None:
    if request.acks == 0:
        raise DecodeError(f"produce with acks=0 refused: {code.name}")
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(index=data.index, error_code=int(code), base_offset=-1)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
