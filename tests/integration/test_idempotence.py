"""Idempotent producers: a batch that comes again is answered again, and is in the log once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from quick_clients import send
from wire_client import (
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    produce_request,
    produced,
    read_log,
)

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.faults.conditions import Condition
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

OUT_OF_ORDER = 45
OLD_EPOCH = 47


class Idempotent:
    """A producer that may send whatever it likes under its id."""

    def __init__(self, port: int, topic: str, producer_id: int | None = None) -> None:
        self.client = WireClient(port)
        self.topic = topic
        self.producer_id = self._new_id() if producer_id is None else producer_id

    def _new_id(self) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = self.client.call(request, 4)
        assert (answer.error_code, answer.producer_epoch) == (0, 0)
        given: int = answer.producer_id
        return given

    def put(
        self, sequence: int, *values: bytes, epoch: int = 0, version: int = PRODUCE_VERSION
    ) -> tuple[int, int]:
        """Error code and offset of one batch."""
        batch = batch_of(
            *values, producer_id=self.producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        return produced(self.client.call(produce_request(self.topic, batch), version))

    def stored(self) -> list[bytes | None]:
        return [record.value for record in read_log(self.client, self.topic)]


@pytest.fixture
def producer(broker: BarnabasProcess, topic_name: Callable[[], str]) -> Iterator[Idempotent]:
    topic = topic_name()
    create_topics(broker.bootstrap, topic)
    made = Idempotent(broker.port, topic)
    yield made
    made.client.close()


def test_a_repeated_batch_is_answered_with_the_first_offset_and_stored_once(
    producer: Idempotent,
) -> None:
    assert producer.put(0, b"a", b"b") == (0, 0)
    assert producer.put(2, b"c") == (0, 2)
    for _ in range(3):
        assert producer.put(2, b"c") == (0, 2)
        assert producer.put(0, b"a", b"b") == (0, 0)
    assert producer.put(3, b"d") == (0, 3)

    assert producer.stored() == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("version", [3, 7, 8, 9, PRODUCE_VERSION])
def test_every_version_knows_a_repetition(producer: Idempotent, version: int) -> None:
    for _ in range(2):
        assert producer.put(0, b"a", version=version) == (0, 0)
    assert producer.stored() == [b"a"]


def test_each_of_the_last_five_batches_may_be_repeated_an_older_one_not(
    producer: Idempotent,
) -> None:
    for sequence in range(8):
        assert producer.put(sequence, b"%d" % sequence) == (0, sequence)

    for sequence in range(3, 8):
        assert producer.put(sequence, b"%d" % sequence) == (0, sequence)
    assert producer.put(2, b"2") == (OUT_OF_ORDER, -1)
    assert producer.stored() == [b"%d" % n for n in range(8)]


def test_pipelined_repetitions_in_one_write_are_found_too(producer: Idempotent) -> None:
    batches = [
        batch_of(b"%d" % n, producer_id=producer.producer_id, producer_epoch=0, base_sequence=n)
        for n in (0, 1, 1, 2, 0, 1, 2, 3)
    ]
    requests = [produce_request(producer.topic, batch) for batch in batches]
    for request in requests:
        producer.client.send(request, PRODUCE_VERSION)

    answers = [produced(producer.client.receive(r, PRODUCE_VERSION)) for r in requests]

    assert answers == [(0, n) for n in (0, 1, 1, 2, 0, 1, 2, 3)]
    assert producer.stored() == [b"0", b"1", b"2", b"3"]


def test_a_gap_in_the_sequence_is_refused(producer: Idempotent) -> None:
    assert producer.put(0, b"a") == (0, 0)
    assert producer.put(2, b"c") == (OUT_OF_ORDER, -1)
    assert producer.put(1, b"b") == (0, 1)
    assert producer.put(2, b"c") == (0, 2)
    assert producer.stored() == [b"a", b"b", b"c"]


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_zero(producer: Idempotent) -> None:
    assert producer.put(0, b"a") == (0, 0)
    assert producer.put(5, b"x", epoch=1) == (OUT_OF_ORDER, -1)
    assert producer.put(0, b"b", epoch=1) == (0, 1)
    assert producer.put(1, b"x", epoch=0) == (OLD_EPOCH, -1)
    assert producer.put(0, b"a", epoch=0) == (OLD_EPOCH, -1)
    assert producer.put(0, b"b", epoch=1) == (0, 1)
    assert producer.stored() == [b"a", b"b"]


def test_producers_do_not_mind_each_other(broker: BarnabasProcess, producer: Idempotent) -> None:
    other = Idempotent(broker.port, producer.topic)
    try:
        assert other.producer_id != producer.producer_id
        assert producer.put(0, b"mine") == (0, 0)
        assert other.put(0, b"yours") == (0, 1)
        assert producer.put(0, b"mine") == (0, 0)
        assert other.put(0, b"yours") == (0, 1)
    finally:
        other.client.close()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_repetitions_are_recognised_after_a_restart(tmp_path: Path, end: str) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t", internal_segment_bytes="300")
        before = Idempotent(broker.port, "t")
        with before.client:
            for sequence in range(10):
                assert before.put(sequence, b"%d" % sequence) == (0, sequence)
            assert before.put(0, b"later epoch", epoch=1) == (0, 10)
        getattr(broker, end)()
        broker.start(same_port=True)

        after = Idempotent(broker.port, "t", before.producer_id)
        with after.client:
            assert after.put(0, b"later epoch", epoch=1) == (0, 10)
            assert after.put(9, b"9") == (OLD_EPOCH, -1)
            assert after.put(2, b"x", epoch=1) == (OUT_OF_ORDER, -1)
            assert after.put(1, b"on", epoch=1) == (0, 11)
            assert after.stored() == [*(b"%d" % n for n in range(10)), b"later epoch", b"on"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_producer_ids_are_not_given_twice(tmp_path: Path, end: str) -> None:
    seen: list[int] = []
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        for _ in range(3):
            for _ in range(5):
                made = Idempotent(broker.port, "t")
                made.client.close()
                seen.append(made.producer_id)
            getattr(broker, end)()
            broker.start(same_port=True)

    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "careless"])
def test_lost_answers_make_no_duplicates(idempotent: bool) -> None:
    rng = random.Random(7)
    sent = [(None, b"%d" % n) for n in range(600)]
    now_and_then = Condition("now and then", lambda _: rng.random() < 0.15)
    with LabCluster() as cluster, WireClient(cluster.brokers[1].direct[1]) as client:
        cluster.create_topic("t")
        lost = cluster.faults.lose_ack("t", times=None, when=now_and_then)

        answers = send(
            cluster.bootstrap,
            "t",
            sent,
            enable_idempotence=idempotent,
            acks="all",
            batch_num_messages=10,
            linger_ms=0,
            retry_backoff_ms=1,
            reconnect_backoff_ms=1,
            reconnect_backoff_max_ms=2,
        )

        stored = Counter(record.value for record in read_log(client, "t"))
        in_order = [record.value for record in read_log(client, "t")]

    assert len(answers) == len(sent)
    assert lost.hits > 5, "nothing was lost: the test shows nothing"
    assert set(stored) == {value for _, value in sent}, "something acknowledged is missing"
    if idempotent:
        assert in_order == [value for _, value in sent]
    else:
        assert max(stored.values()) > 1, "without idempotence, this is how it goes wrong"
