"""Produce: what is appended, what is refused, and when each is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_workers import HeldWorkers
from small_broker import LISTENER, NODE_ID, SmallBroker
from storage_logs import NOW, batch, values_of

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k00_produce import produce
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.records.batch import Record, encode_batch
from barnabas.records.compression import Codec

OTHER = 2
LATEST = 12


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    made.topic("t", 2)
    yield made
    made.close()


def request(
    *wanted: tuple[str, int, memoryview | None], acks: int = 1, timeout_ms: int = 1000
) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            TopicProduceData(
                name=topic, partition_data=[PartitionProduceData(index=index, records=records)]
            )
            for topic, index, records in wanted
        ],
    )


class Asked:
    """A produce request at the handler; `answers` gets what the client is told."""

    def __init__(self, world: SmallBroker, asked: ProduceRequest, version: int = LATEST) -> None:
        ctx = RequestContext(
            api_key=ApiKey.PRODUCE,
            api_version=version,
            correlation_id=1,
            client_id="c",
            listener=LISTENER,
            peer_host="127.0.0.1",
        )
        self.answers: list[Any] = []
        answer = produce(world.broker, ctx, asked)
        if isinstance(answer, Later):
            answer.when_done(self.answers.append)
        elif answer is not None:
            self.answers.append(answer)

    @property
    def results(self) -> list[PartitionProduceResponse]:
        (response,) = self.answers
        assert isinstance(response, ProduceResponse)
        assert ProduceResponse.decode(response.encode(LATEST), LATEST) == response
        return [result for topic in response.responses for result in topic.partition_responses]

    @property
    def codes(self) -> list[str]:
        return [ErrorCode(result.error_code).name for result in self.results]


def ask(world: SmallBroker, asked: ProduceRequest, version: int = LATEST) -> Asked:
    """Ask, and let the turn end."""
    made = Asked(world, asked, version)
    world.replicas.write_dirty()
    return made


def test_a_batch_is_answered_with_its_offset_after_it_is_written(world: SmallBroker) -> None:
    asked = Asked(world, request(("t", 0, batch(b"a", b"b"))))
    assert asked.answers == []

    world.replicas.write_dirty()

    assert asked.results == [PartitionProduceResponse(index=0, base_offset=0, log_start_offset=0)]
    assert ask(world, request(("t", 0, batch(b"c")))).results[0].base_offset == 2
    assert values_of(world.partition("t").leader_log()) == [b"a", b"b", b"c"]


def test_each_partition_succeeds_or_fails_by_itself(world: SmallBroker) -> None:
    asked = ask(
        world,
        request(
            ("t", 0, batch(b"a")),
            ("t", 7, batch(b"b")),
            ("nowhere", 0, batch(b"c")),
            ("t", 1, batch(b"d")),
        ),
    )

    missing = "UNKNOWN_TOPIC_OR_PARTITION"
    assert asked.codes == ["NONE", missing, missing, "NONE"]
    assert [result.base_offset for result in asked.results] == [0, -1, -1, 0]


def test_the_time_of_appending_is_told_where_the_topic_wants_it(world: SmallBroker) -> None:
    world.topic("stamped", message_timestamp_type="LogAppendTime")

    result = ask(world, request(("stamped", 0, batch(b"a", timestamp=5)))).results[0]

    assert result.log_append_time_ms == NOW


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_senseless_acks_are_refused_and_nothing_is_appended(world: SmallBroker, acks: int) -> None:
    asked = ask(world, request(("t", 0, batch(b"a")), ("t", 1, batch(b"b")), acks=acks))

    assert asked.codes == ["INVALID_REQUIRED_ACKS"] * 2
    assert world.partition("t").leader_log().end_offset == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_versions_that_are_only_advertised_are_refused(world: SmallBroker, version: int) -> None:
    assert ask(world, request(("t", 0, batch(b"a"))), version).codes == ["UNSUPPORTED_VERSION"]


@pytest.mark.parametrize(("version", "code"), [(6, "UNSUPPORTED_COMPRESSION_TYPE"), (7, "NONE")])
def test_zstd_needs_a_client_that_knows_of_it(world: SmallBroker, version: int, code: str) -> None:
    data = encode_batch([Record(timestamp=NOW, value=b"z")], codec=Codec.ZSTD)

    assert ask(world, request(("t", 0, memoryview(data))), version).codes == [code]


def test_a_request_without_records_is_refused(world: SmallBroker) -> None:
    empty = memoryview(bytearray())

    asked = ask(world, request(("t", 0, None), ("t", 0, empty)))

    assert asked.codes == ["INVALID_REQUEST", "INVALID_RECORD"]


@pytest.mark.parametrize("version", [3, 12])
def test_a_transaction_needs_a_transactional_id(world: SmallBroker, version: int) -> None:
    data = batch(b"a", producer_id=9, epoch=0, sequence=0, transactional=True)

    asked = ask(world, request(("t", 0, batch(b"b")), ("t", 1, data)), version)

    assert asked.codes == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"] * 2
    assert world.partition("t", 1).leader_log().last_stable_offset == 0
    assert not world.partition("t", 1).leader_log().is_dirty


def test_who_is_refused_is_told_where_the_log_starts(world: SmallBroker) -> None:
    for _ in range(3):
        world.append("t", b"x")
    world.replicas.write_dirty()
    world.partition("t").leader_log().delete_records_before(2)
    late = batch(b"a", producer_id=9, epoch=0, sequence=0)
    too_late = batch(b"a", producer_id=9, epoch=0, sequence=5)
    damaged = batch(b"a")
    damaged[-1] ^= 1

    asked = ask(world, request(("t", 0, late), ("t", 0, too_late), ("t", 0, damaged)))

    assert asked.codes == ["NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "CORRUPT_MESSAGE"]
    assert [result.log_start_offset for result in asked.results] == [2, 2, -1]


def test_a_damaged_batch_is_refused(world: SmallBroker) -> None:
    data = batch(b"a")
    data[-1] ^= 1

    asked = ask(world, request(("t", 0, data)))

    assert asked.codes == ["CORRUPT_MESSAGE"]
    assert asked.results[0].error_message


def test_records_that_cannot_be_accepted_are_named(world: SmallBroker) -> None:
    world.topic("compacted", cleanup_policy="compact")
    records = [Record(timestamp=NOW, key=key, value=b"v") for key in (b"k", None, None)]

    result = ask(world, request(("compacted", 0, memoryview(encode_batch(records))))).results[0]

    assert ErrorCode(result.error_code) is ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in result.record_errors] == [1, 2]


def test_who_leads_is_checked(world: SmallBroker) -> None:
    world.topic("theirs", replicas=(OTHER, NODE_ID))
    world.topic("elsewhere", replicas=(OTHER,))

    asked = ask(world, request(("theirs", 0, batch(b"a")), ("elsewhere", 0, batch(b"b"))))

    assert asked.codes == ["NOT_LEADER_OR_FOLLOWER"] * 2


# acks=0


def test_without_acks_there_is_no_answer(world: SmallBroker) -> None:
    asked = ask(world, request(("t", 0, batch(b"a")), acks=0))

    assert asked.answers == []
    assert values_of(world.partition("t").leader_log()) == [b"a"]


def test_without_acks_an_error_ends_the_connection(world: SmallBroker) -> None:
    with pytest.raises(DecodeError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        Asked(world, request(("nowhere", 0, batch(b"a")), acks=0))


# acks=all


def test_all_of_one_replica_is_answered_at_the_end_of_the_turn(world: SmallBroker) -> None:
    assert ask(world, request(("t", 0, batch(b"a")), acks=-1)).codes == ["NONE"]


def test_with_too_few_in_sync_replicas_nothing_is_appended(world: SmallBroker) -> None:
    world.topic("careful", replicas=(NODE_ID, OTHER), isr=(NODE_ID,), min_insync_replicas="2")

    asked = ask(world, request(("careful", 0, batch(b"a")), acks=-1))

    assert asked.codes == ["NOT_ENOUGH_REPLICAS"]
    assert world.partition("careful").leader_log().end_offset == 0


def test_all_replicas_are_waited_for(world: SmallBroker) -> None:
    topic_id = world.topic("followed", replicas=(NODE_ID, OTHER))
    asked = ask(world, request(("followed", 0, batch(b"a")), ("t", 0, batch(b"b")), acks=-1))
    assert asked.answers == []

    world.change(topic_id, isr=[NODE_ID])

    assert asked.codes == ["NONE", "NONE"]
    assert world.replicas.next_deadline() is None


def test_replicas_are_waited_for_no_longer_than_the_client_wants(world: SmallBroker) -> None:
    world.topic("followed", replicas=(NODE_ID, OTHER))
    wanted = request(("followed", 0, batch(b"a")), ("t", 0, batch(b"b")), acks=-1, timeout_ms=500)
    asked = ask(world, wanted)

    world.replicas.expire(world.clock.mono + 0.4)
    assert asked.answers == []
    world.replicas.expire(world.clock.mono + 0.5)

    assert asked.codes == ["REQUEST_TIMED_OUT", "NONE"]


def test_if_leadership_is_lost_while_waiting_the_client_is_told(world: SmallBroker) -> None:
    topic_id = world.topic("followed", replicas=(NODE_ID, OTHER))
    asked = ask(world, request(("followed", 0, batch(b"a")), acks=-1))

    world.change(topic_id, leader=OTHER)

    assert asked.codes == ["NOT_LEADER_OR_FOLLOWER"]
    assert asked.results[0].base_offset == -1


# Disks


def test_a_failed_write_is_told_to_those_whose_batches_it_had(world: SmallBroker) -> None:
    world.disk.room = 0
    asked = ask(world, request(("t", 0, batch(b"a")), ("nowhere", 0, batch(b"b"))))

    assert asked.codes == ["KAFKA_STORAGE_ERROR", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert [result.base_offset for result in asked.results] == [-1, -1]
    world.disk.room = None
    assert ask(world, request(("t", 0, batch(b"c")))).codes == ["NONE"]


# Idempotence


def test_a_repeated_batch_is_answered_with_its_first_offset(world: SmallBroker) -> None:
    def sent(sequence: int) -> Asked:
        data = batch(b"x", producer_id=5, epoch=0, sequence=sequence)
        return ask(world, request(("t", 0, data)))

    assert [sent(n).results[0].base_offset for n in (0, 1, 0, 1, 2)] == [0, 1, 0, 1, 2]
    assert world.partition("t").leader_log().end_offset == 3


def test_a_gap_in_the_sequence_is_refused(world: SmallBroker) -> None:
    ask(world, request(("t", 0, batch(b"x", producer_id=5, epoch=0, sequence=0))))

    asked = ask(world, request(("t", 0, batch(b"x", producer_id=5, epoch=0, sequence=2))))

    assert asked.codes == ["OUT_OF_ORDER_SEQUENCE_NUMBER"]


@pytest.fixture
def workers(world: SmallBroker) -> HeldWorkers:
    world.topic("compacted", 2, cleanup_policy="compact")
    world.broker.judges = made = HeldWorkers()
    return made


def many(key: bytes | None) -> memoryview:
    return memoryview(encode_batch([Record(timestamp=NOW, key=key, value=b"v")] * 2000))


def few() -> memoryview:
    return memoryview(encode_batch([Record(timestamp=NOW, key=b"k", value=b"w")]))


def test_many_records_are_judged_elsewhere_while_others_append(
    world: SmallBroker, workers: HeldWorkers
) -> None:
    data = many(b"k")
    asked = ask(world, request(("compacted", 0, data), ("compacted", 1, few())))
    data[:] = bytes(len(data))  # the buffer is received into again
    other = ask(world, request(("compacted", 0, few())))
    assert other.results[0].base_offset == 0
    assert asked.answers == []

    workers.run_one()
    world.replicas.write_dirty()

    assert asked.codes == ["NONE", "NONE"]
    assert [result.base_offset for result in asked.results] == [1, 0]
    assert world.partition("compacted").leader_log().end_offset == 2001


def test_what_is_wrong_with_one_of_many_records_is_told(
    world: SmallBroker, workers: HeldWorkers
) -> None:
    asked = ask(world, request(("compacted", 0, many(None)), ("compacted", 1, few())))
    workers.run_one()
    world.replicas.write_dirty()

    assert asked.codes == ["INVALID_RECORD", "NONE"]
    assert len(asked.results[0].record_errors) == 2000


def test_many_records_without_an_answer_hold_their_connection_too(
    world: SmallBroker, workers: HeldWorkers
) -> None:
    held = Asked(world, request(("compacted", 0, many(b"k")), acks=0))
    refused = Asked(world, request(("compacted", 0, many(None)), acks=0))
    assert held.answers == refused.answers == []

    workers.run_one()
    workers.run_one()

    assert held.answers == [None]
    assert isinstance(refused.answers[0], DecodeError)


def test_a_judge_that_fails_is_a_fault_of_ours(world: SmallBroker, workers: HeldWorkers) -> None:
    asked = Asked(world, request(("compacted", 0, many(b"k"))))
    failure = MemoryError()

    workers.held.pop()[1](failure)

    assert asked.answers == [failure]
