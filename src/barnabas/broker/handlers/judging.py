"""Batches whose records must be looked at one by one, and that have many: not on the loop thread.

A worker judges them while other clients are served.  The connection they came on is held: what its
client sent behind them must not overtake them, or sequence numbers would seem to have a hole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import ApiError
from barnabas.broker.dispatch import Later
from barnabas.records.validate import Validated, ValidationRules, is_laborious, judge_batch

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest

Judged = dict[int, Validated | ApiError]
"""What became of a batch, by the identity of its part of the request."""


class Laborious(NamedTuple):
    data: PartitionProduceData
    rules: ValidationRules


def laborious_batches(broker: Broker, request: ProduceRequest) -> list[Laborious]:
    """The batches of `request` that a worker has to judge.  Usually none."""
    now_ms = broker.clock.now_ms()
    found: list[Laborious] = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            partition = broker.replicas.find(topic.name, data.index)
            if partition is None or not partition.is_leader or partition.log is None:
                continue  # the append says why not
            rules = partition.log.config.rules
            records = data.records
            if isinstance(records, memoryview) and is_laborious(records, rules, now_ms=now_ms):
                found.append(Laborious(data, rules))
    return found


def judge_elsewhere(
    broker: Broker,
    request: ProduceRequest,
    laborious: list[Laborious],
    *,
    zstd_allowed: bool,
    produce: Callable[[Judged], Message | Later | None],
) -> Later:
    """Have a worker judge; then `produce`.  All records are copied: their buffer is used again."""
    later = Later(holds=True)
    now_ms = broker.clock.now_ms()
    judged: Judged = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            if data.records:
                data.records = memoryview(bytearray(data.records))

    def judge() -> None:
        for data, rules in laborious:
            assert isinstance(data.records, memoryview)
            try:
                judged[id(data)] = judge_batch(
                    data.records, rules, now_ms=now_ms, zstd_allowed=zstd_allowed
                )
            except ApiError as error:
                judged[id(data)] = error

    def done(failure: Exception | None) -> None:
        if failure is not None:
            later.resolve(failure)
            return
        try:
            answer = produce(judged)
        except Exception as error:
            later.resolve(error)
            return
        if isinstance(answer, Later):
            later.on_abandon = answer.abandon
            answer.when_done(later.resolve)
        else:
            later.resolve(answer)

    broker.judges.submit(judge, done)
    return later
