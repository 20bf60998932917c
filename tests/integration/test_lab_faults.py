"""Faults of the lab's network, seen by a client library that knows nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.faults.conditions import acked, committed, requests, sent

PATIENCE_S = 60
SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
}
"""Members of either protocol soon hear that they are out."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LabCluster]:
    with LabCluster(settings=SETTINGS) as made:
        yield made


@pytest.fixture
def topic(cluster: LabCluster, topic_name: Callable[[], str]) -> Iterator[str]:
    name = topic_name()
    cluster.create_topic(name)
    yield name
    cluster.faults.lift_all()


def produce(cluster: LabCluster, topic: str, count: int, **config: object) -> list[int]:
    """The offsets that the producer was told, one request a record."""
    defaults = {
        "bootstrap.servers": cluster.bootstrap,
        "linger.ms": 0,
        "batch.num.messages": 1,
        "retry.backoff.ms": 10,
        "log_level": 0,
    }
    producer = Producer(defaults | config)
    offsets: list[int] = []
    for number in range(count):
        producer.produce(
            topic, str(number), on_delivery=lambda _, sent: offsets.append(sent.offset())
        )
    assert producer.flush(PATIENCE_S) == 0
    return offsets


def stored(cluster: LabCluster, topic: str) -> int:
    end = cluster.view(topic)[0].end_offset
    assert end is not None
    return end


def test_a_lost_acknowledgement_doubles_the_record_of_a_producer_that_is_not_idempotent(
    cluster: LabCluster, topic: str
) -> None:
    lost = cluster.faults.lose_ack(topic)

    produce(cluster, topic, 1, **{"enable.idempotence": False, "acks": 1})

    assert lost.hits == 1
    assert stored(cluster, topic) == 2


def test_a_lost_acknowledgement_does_nothing_to_an_idempotent_producer(
    cluster: LabCluster, topic: str
) -> None:
    lost = cluster.faults.lose_ack(topic, times=3)

    produce(cluster, topic, 3, **{"enable.idempotence": True})

    assert lost.hits == 3
    assert stored(cluster, topic) == 3


def test_a_lost_request_never_reaches_the_broker(cluster: LabCluster, topic: str) -> None:
    lost = cluster.faults.drop(api="Produce", topic=topic, times=2)

    produce(cluster, topic, 1, **{"enable.idempotence": False, "acks": 1})

    assert lost.hits == 2
    assert stored(cluster, topic) == 1


def test_a_request_that_comes_twice_is_answered_once(cluster: LabCluster, topic: str) -> None:
    twice = cluster.faults.duplicate(api="Produce", topic=topic, times=1)

    produce(cluster, topic, 2, **{"enable.idempotence": False, "acks": 1})

    assert twice.hits == 1
    assert stored(cluster, topic) == 3


def test_requests_that_overtake_each_other_turn_records_round(
    cluster: LabCluster, topic: str
) -> None:
    turned = cluster.faults.reorder(api="Produce", topic=topic, times=1, wait_s=PATIENCE_S)

    offsets = produce(
        cluster,
        topic,
        2,
        **{"enable.idempotence": False, "acks": 1, "max.in.flight.requests.per.connection": 2},
    )

    assert turned.hits == 1
    assert sorted(offsets) == [0, 1]
    assert read(cluster, topic, 2) == ["1", "0"]


def read(cluster: LabCluster, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "reading"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        messages = consumer.consume(count, PATIENCE_S)
        return [message.value().decode() for message in messages]
    finally:
        consumer.close()


def test_a_delayed_answer_waits_until_it_is_let_go(cluster: LabCluster, topic: str) -> None:
    late = cluster.faults.delay(600, api="Produce", direction="response", topic=topic)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    producer.produce(topic, b"v")
    producer.poll(0)

    late.wait_hits(1, PATIENCE_S)
    assert len(producer) == 1, "nobody has told it yet"
    late.lift()

    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_fault_is_for_one_client_alone(
    cluster: LabCluster, topic: str, direction: Literal["request", "response"]
) -> None:
    """By an API of which nothing is counted: the client is known by its first request."""
    lost = cluster.faults.drop(api="FindCoordinator", direction=direction, client="other", times=1)

    commit(cluster, topic, "one")
    assert lost.hits == 0
    commit(cluster, topic, "other")
    assert lost.hits == 1


def commit(cluster: LabCluster, topic: str, client: str) -> None:
    """A position of the group that is called like the topic."""
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": topic, "log_level": 0}
    consumer = Consumer({**config, "client.id": client})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    finally:
        consumer.close()


def test_a_rule_strikes_from_its_moment_on(cluster: LabCluster, topic: str) -> None:
    lost = cluster.faults.lose_ack(topic, times=1, when=acked(topic) >= 5)

    one_at_a_time = {"max.in.flight.requests.per.connection": 1}
    produce(cluster, topic, 8, **{"enable.idempotence": False, "acks": 1} | one_at_a_time)

    assert lost.hits == 1
    assert stored(cluster, topic) == 9
    assert cluster.traffic().acked[topic, 0] == 9


def test_a_trigger_acts_before_the_message_that_makes_it_true_is_passed_on(
    cluster: LabCluster, topic: str
) -> None:
    """The broker freezes on the third record's acknowledgement, which then waits with it."""
    seen: list[int] = []
    trigger = cluster.faults.at(
        acked(topic) >= 3, lambda: seen.append(cluster.relays.observer.traffic.acked[topic, 0])
    )

    produce(cluster, topic, 5)

    assert trigger.wait_hits(1, PATIENCE_S) == 1
    assert seen == [3]


def test_a_trigger_that_fails_tells_whoever_waits(cluster: LabCluster, topic: str) -> None:
    def fail() -> None:
        raise RuntimeError("no such luck")

    trigger = cluster.faults.at(sent(topic) >= 1, fail)
    produce(cluster, topic, 1)

    with pytest.raises(RuntimeError, match="no such luck"):
        trigger.wait_hits(1, PATIENCE_S)


def test_commits_and_requests_are_counted(cluster: LabCluster, topic: str) -> None:
    commit(cluster, topic, "client")

    cluster.faults.at(committed(topic, topic, 0) >= 3, lambda: None).wait_hits(1, PATIENCE_S)
    cluster.faults.at(requests("OffsetCommit") >= 1, lambda: None).wait_hits(1, PATIENCE_S)


def test_a_full_disk_refuses_records_until_there_is_room(cluster: LabCluster, topic: str) -> None:
    full = cluster.faults.full_disk(1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    producer.produce(topic, b"v")
    producer.poll(0)

    full.wait_hits(1, PATIENCE_S)
    full.lift()

    assert producer.flush(PATIENCE_S) == 0
    assert stored(cluster, topic) == 1


def test_a_slow_disk_is_felt_by_those_who_write(cluster: LabCluster, topic: str) -> None:
    with cluster.faults.slow_disk(1, 0.05) as slow:
        produce(cluster, topic, 2)
        assert slow.wait_hits(1, PATIENCE_S) >= 1


@pytest.mark.parametrize(
    "kind",
    [
        {"client.id": "member", "heartbeat.interval.ms": 200},
        {"group.instance.id": "member", "heartbeat.interval.ms": 200},
        {"client.id": "member", "group.protocol": "consumer"},
    ],
    ids=["classic", "static", "newer protocol"],
)
def test_a_member_whose_session_is_ended_joins_anew(
    cluster: LabCluster, topic: str, kind: dict[str, object]
) -> None:
    assigned: list[int] = []
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": topic, "log_level": 0}
    consumer = Consumer({**config, **kind})
    consumer.subscribe([topic], on_assign=lambda _, places: assigned.append(len(places)))
    try:
        cluster.wait(lambda: consumer.poll(0.1) or assigned, PATIENCE_S, "first assignment")

        assert cluster.faults.expire_session(topic, "nobody").hits == 0
        assert cluster.faults.expire_session(topic, "member").hits == 1
        cluster.wait(lambda: consumer.poll(0.1) or len(assigned) > 1, PATIENCE_S, "second one")
    finally:
        consumer.close()
