"""The lab's exercises on Apache Kafka: what the pages say happens, happens there too.

Each runs on three brokers of Apache Kafka and on three of ours, with the same programs and the same
verdict.  Only faults that can be done from outside are used: processes are stopped, killed, frozen.
A broker that is frozen accepts connections and bytes and answers nothing, which makes the moment
exact: what happens until it is killed or thawed has happened while it did not look.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from eventually import eventually
from harness.barnabas import BIN
from harness.clusters import ApacheCluster, BarnabasCluster, Cluster
from harness.targets import TARGETS
from harness.wire import Replicas, topics_view
from lab_programs import LabPrograms, Program, freeze, thaw

from barnabas.lab.verdict.journal import What

KINDS: Mapping[str, type[ApacheCluster] | type[BarnabasCluster]] = {
    "apache": ApacheCluster,
    "barnabas": BarnabasCluster,
}
SETTINGS = {
    "broker.session.timeout.ms": "15000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
}
"""A frozen broker is not missed at once, and one that was killed soon enough."""

ENDLESS = 1_000_000
"""Records that a producer would send if nobody ended it: however long the faults of a test take, it
sends before, during and after them.
"""

MEANWHILE = 200
"""Records that are acknowledged while a broker is frozen; a few of them before it was, as the
journal is read a little later than it is written.
"""


@pytest.fixture(scope="module", params=TARGETS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    made = KINDS[request.param](tmp_path_factory.mktemp(request.param), SETTINGS)
    try:
        made.start()
        yield made
    finally:
        made.discard()


@pytest.fixture
def lab(cluster: Cluster, topic: str, tmp_path: Path) -> Iterator[LabPrograms]:
    """On a cluster that is whole, whatever the test before did to it."""
    for number, node in cluster.nodes.items():
        if node.child.status is None:
            thaw(node.child.pid)
        else:
            cluster.start_node(number)
    with LabPrograms(tmp_path, cluster.bootstrap, topic[-40:]) as programs:
        programs.silence_ms = 8000
        yield programs


def create(cluster: Cluster, lab: LabPrograms, assignment: str, **config: str) -> None:
    """A topic whose replicas are where they are told to be, the leader first."""
    command = [BIN / "kafka-topics", "--create", "--bootstrap-server", cluster.bootstrap]
    command += ["--topic", lab.topic, "--replica-assignment", assignment]
    for name, value in config.items():
        command += ["--config", f"{name.replace('_', '.')}={value}"]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=60)
    cluster.await_in_sync(lab.topic)


def partition(cluster: Cluster, lab: LabPrograms) -> Replicas:
    return topics_view(cluster.addresses()[0])[lab.topic][0]


def await_leader(cluster: Cluster, lab: LabPrograms, leader: int) -> None:
    cluster.await_topic(lab.topic, lambda found: found[0].leader == leader)


def await_more(producer: Program, what: What, count: int) -> None:
    """So many more records than there are now."""

    def total() -> int:
        return sum(len(event.keys) for event in producer.events(what))

    before = total()
    eventually(lambda: total() >= before + count, timeout_s=120, what=f"{count} more {what}")


def end(producer: Program) -> None:
    """It stops once records are acknowledged again, so that all that it sent is answered."""
    await_more(producer, What.ACKED, 100)
    assert producer.stop() == 128 + signal.SIGTERM, producer.output()


def node_pid(cluster: Cluster, number: int) -> int:
    return cluster.nodes[number].child.pid


# 2.2: baseline, and a consumer that does not commit.


def test_2_2a_by_default_both_logs_are_the_same(cluster: Cluster, lab: LabPrograms) -> None:
    create(cluster, lab, "2")
    lab.produce()
    lab.consume()

    assert lab.verdict().is_clean
    found = lab.lab("diff")
    assert found.stdout == (
        "100 sent, 100 acknowledged; 100 processed\nnothing lost, nothing duplicated\n"
    )


def test_2_2b_without_a_commit_all_comes_again(cluster: Cluster, lab: LabPrograms) -> None:
    create(cluster, lab, "2")
    lab.produce()
    first = lab.consumer("first", auto_commit="false", session_timeout=6000)
    lab.await_processed(lambda keys: len(keys) == 100, first)
    first.kill()
    second = lab.consumer("second", auto_commit="false")
    lab.await_processed(lambda keys: len(keys) == 100, second)

    assert len(lab.verdict().duplicated) == 100
    assert not lab.verdict().lost


def test_2_2b_a_static_member_is_back_before_its_session_ends(
    cluster: Cluster, lab: LabPrograms
) -> None:
    """The session would end long after this test does."""
    create(cluster, lab, "2")
    told = {"auto_commit": "false", "instance_id": "one", "session_timeout": 600_000}
    first = lab.consumer("first", **told)
    first.await_event(What.ASSIGNED)
    first.kill()
    second = lab.consumer("second", **told)

    assert second.await_event(What.ASSIGNED)[0].partition == 0


# 3.1 to 3.3: acknowledgements and replicas.


def test_3_1_acks_0_loses_what_a_dying_broker_did_not_read(
    cluster: Cluster, lab: LabPrograms
) -> None:
    create(cluster, lab, "2")
    producer = lab.producer(acks=0, num_records_per_roll=ENDLESS, wait_after_send=1)
    await_more(producer, What.ACKED, 100)
    freeze(node_pid(cluster, 2))
    await_more(producer, What.ACKED, MEANWHILE)
    cluster.nodes[2].kill()
    await_leader(cluster, lab, -1)
    cluster.start_node(2)
    end(producer)
    lab.consume()
    verdict = lab.verdict()

    assert verdict.acknowledged == verdict.sent
    assert len(verdict.lost) > MEANWHILE // 2
    assert not verdict.duplicated


def test_3_2a_replicas_do_not_help_acks_0(cluster: Cluster, lab: LabPrograms) -> None:
    create(cluster, lab, "2:3")
    producer = lab.producer(acks=0, num_records_per_roll=ENDLESS, wait_after_send=1)
    await_more(producer, What.ACKED, 100)
    freeze(node_pid(cluster, 2))
    await_more(producer, What.ACKED, MEANWHILE)
    cluster.nodes[2].kill()
    await_leader(cluster, lab, 3)
    assert partition(cluster, lab) == Replicas(leader=3, replicas=(2, 3), isr=(3,))
    cluster.start_node(2)
    cluster.await_in_sync(lab.topic)
    assert partition(cluster, lab).leader == 3, "leaders stay where they are"
    end(producer)
    lab.consume()

    assert len(lab.verdict().lost) > MEANWHILE // 2


def test_3_2b_acks_1_loses_what_only_the_dead_leader_has(
    cluster: Cluster, lab: LabPrograms
) -> None:
    create(cluster, lab, "2:3")
    producer = lab.producer(acks=1, num_records_per_roll=ENDLESS, wait_after_send=2)
    await_more(producer, What.ACKED, 100)
    freeze(node_pid(cluster, 3))
    await_more(producer, What.ACKED, MEANWHILE)
    cluster.nodes[2].kill()
    thaw(node_pid(cluster, 3))
    await_leader(cluster, lab, 3)
    cluster.nodes[3].kill()
    cluster.start_node(3)
    await_leader(cluster, lab, 3)
    cluster.start_node(2)
    cluster.await_in_sync(lab.topic)
    end(producer)
    lab.consume()
    verdict = lab.verdict()

    assert verdict.acknowledged == verdict.sent
    assert len(verdict.lost) > MEANWHILE // 2
    assert {one.name for one in verdict.lost} == {"lost write"}
    assert all(one.offset >= 0 for one in verdict.lost)


def test_3_3a_as_many_in_sync_as_replicas_is_durable_and_not_available(
    cluster: Cluster, lab: LabPrograms
) -> None:
    create(cluster, lab, "2:3", min_insync_replicas="2")
    lab.produce(name="early")
    cluster.stop_node(3)
    refused = lab.producer("refused", first_number=1000, delivery_timeout=5000)
    assert refused.wait() == 1, refused.output()
    assert not refused.events(What.ACKED)
    cluster.start_node(3)
    cluster.await_in_sync(lab.topic)
    lab.produce(name="late", first_number=2000)
    lab.consume()
    verdict = lab.verdict()

    assert (verdict.acknowledged, verdict.unknown) == (200, 100)
    assert not verdict.lost


def test_3_3b_fewer_in_sync_than_replicas_pauses_and_loses_nothing(
    cluster: Cluster, lab: LabPrograms
) -> None:
    create(cluster, lab, "2:3:1", min_insync_replicas="2")
    producer = lab.producer(num_records_per_roll=ENDLESS, wait_after_send=1)
    await_more(producer, What.ACKED, 100)
    cluster.stop_node(2)
    cluster.stop_node(3)
    cluster.start_node(2)
    end(producer)
    lab.consume()

    assert lab.verdict().is_clean


# 3.4: what is sent again.


@pytest.mark.parametrize("idempotent", [False, True], ids=["break", "fix"])
def test_3_4_only_an_idempotent_producer_may_be_impatient(
    cluster: Cluster, lab: LabPrograms, *, idempotent: bool
) -> None:
    """The leader is frozen for three seconds of sending; the producer waits one for an answer."""
    create(cluster, lab, "2:3:1", min_insync_replicas="2")
    told: dict[str, object] = {"acks": 1, "max_inflight": 1000, "idempotent": "false"}
    if idempotent:
        told = {"idempotent": "true"}
    producer = lab.producer(
        num_records_per_roll=ENDLESS, wait_after_send=2, request_timeout=1000, **told
    )
    await_more(producer, What.ACKED, 100)
    freeze(node_pid(cluster, 2))
    await_more(producer, What.SENT, 1500)
    thaw(node_pid(cluster, 2))
    end(producer)
    lab.consume()
    verdict = lab.verdict()

    assert verdict.acknowledged == verdict.sent
    assert not verdict.lost
    if idempotent:
        assert verdict.is_clean
    else:
        assert verdict.duplicated
        assert {one.name for one in verdict.duplicated} == {"duplicate"}


# 4: when a consumer commits.


@pytest.mark.parametrize(
    ("told", "is_lost"),
    [
        ({"ack_every_x_msgs": 50}, True),
        ({"ack_after_batch": "true", "max_poll_recs": 50}, False),
    ],
    ids=["break", "fix"],
)
def test_4_1_a_commit_of_the_polls_position_is_too_early(
    cluster: Cluster, lab: LabPrograms, told: dict[str, object], *, is_lost: bool
) -> None:
    create(cluster, lab, "2")
    lab.produce(num_records_per_roll=1500)
    first = lab.consumer("first", instance_id="one", wait_after_record=20, **told)
    first.await_event(What.COMMITTED)
    first.kill()
    lab.consume("second", instance_id="one", **told)
    verdict = lab.verdict()

    assert bool(verdict.lost) == is_lost
    if is_lost:
        (received, *_) = first.events(What.RECEIVED)
        assert {one.offset for one in verdict.lost} < set(received.offsets)


@pytest.mark.parametrize(
    ("told", "is_doubled"),
    [({"ac_interval": 600_000}, True), ({"ack_after_batch": "true"}, False)],
    ids=["break", "fix"],
)
def test_4_2_a_rebalance_before_the_commit_doubles_records(
    cluster: Cluster, lab: LabPrograms, told: dict[str, object], *, is_doubled: bool
) -> None:
    """One of two consumers is frozen while it rests between two batches."""
    create(cluster, lab, "2,3")
    lab.produce(num_records_per_roll=1000)
    told = {
        "assignment_strategy": "rr",
        "session_timeout": 1000,
        "heartbeat_interval": 500,
        "max_poll_recs": 5000,
        **told,
    }
    first = lab.consumer("first", wait_after_batch=60_000, **told)
    first.await_event(What.PROCESSED)
    if not is_doubled:
        first.await_event(What.COMMITTED)
    freeze(first.process.pid)
    second = lab.consumer("second", **told)
    second.await_event(What.ASSIGNED, count=2)
    lab.await_processed(lambda keys: len(keys) == 1000, first, second)
    first.kill()
    verdict = lab.verdict()

    assert not verdict.lost
    assert bool(verdict.duplicated) == is_doubled
