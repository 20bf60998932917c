"""Real processes: records on every replica, leaders that die, followers that come back."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from cluster_processes import ClusterProcesses, cluster
from cluster_records import PATIENCE_S, Sender, read_values
from cluster_view import ClusterView
from confluent_kafka import KafkaError, Producer
from eventually import eventually
from quick_clients import connected, send, try_to_send
from wire_client import FETCH_VERSION, fetch_request, fetched

from barnabas.records.batch import iter_headers

PADDING = b"." * 100
QUICK_LAG = "replica.lag.time.max.ms=1500"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with cluster(tmp_path, QUICK_LAG) as made:
        yield made


@pytest.fixture
def view(three: ClusterProcesses) -> ClusterView:
    return ClusterView(three.bootstrap)


def pairs(count: int, start: int = 0) -> list[tuple[bytes | None, bytes | None]]:
    return [(None, b"%d" % number) for number in range(start, start + count)]


def wanted(count: int, start: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(start, start + count)]


def log_bytes(three: ClusterProcesses, node_id: int, topic: str = "t") -> bytes:
    """The batches that a broker has on its disk."""
    directory = three.brokers[node_id].data_dir / f"{topic}-0"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def await_equal_logs(three: ClusterProcesses, *node_ids: int, topic: str = "t") -> bytes:
    """Until all have the same bytes; those."""
    eventually(
        lambda: len({log_bytes(three, node_id, topic) for node_id in node_ids}) == 1,
        timeout_s=PATIENCE_S,
        what=f"equal logs on {node_ids}",
    )
    return log_bytes(three, node_ids[0], topic)


def others(node_id: int) -> list[int]:
    return [each for each in range(3) if each != node_id]


def test_every_replica_has_the_bytes_that_the_leader_has(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t")
    send(three.bootstrap, "t", pairs(3000), acks="all", batch_size=2000)

    assert len(await_equal_logs(three, 0, 1, 2)) > 3000


def test_nothing_acknowledged_is_lost_when_the_leader_is_killed(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", min_insync_replicas="2")
    sender = Sender(three.bootstrap)
    sender.send(*wanted(500))
    sender.flush()
    leader = view.leaders("t")[0]

    sender.send(*wanted(500, 500))
    three.brokers[leader].kill()
    sender.send(*wanted(500, 1000))
    sender.flush()

    assert sender.errors == []
    assert sender.acknowledged == wanted(1500)
    one, other = others(leader)
    assert read_values(three.brokers[one].bootstrap) == wanted(1500)
    assert view.leaders("t")[0] in {one, other}
    three.brokers[leader].start(same_port=True)
    view.await_isr("t", 0, 1, 2)
    await_equal_logs(three, 0, 1, 2)


def test_a_follower_that_stands_still_leaves_the_in_sync_set_and_comes_back(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t")
    leader = view.leaders("t")[0]
    stopped, running = others(leader)
    three.brokers[stopped].process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]
    try:
        send(three.brokers[leader].bootstrap, "t", pairs(100), acks="all")
        eventually(
            lambda: (
                ClusterView(three.brokers[running].bootstrap).isr("t").get(0) == {leader, running}
            ),
            what="a smaller in-sync set",
        )
    finally:
        three.brokers[stopped].process.send_signal(signal.SIGCONT)  # type: ignore[union-attr]

    view.await_isr("t", 0, 1, 2)
    await_equal_logs(three, 0, 1, 2)


def test_with_too_few_in_sync_replicas_acks_all_is_refused_and_acks_1_is_not(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", min_insync_replicas="2")
    leader = view.leaders("t")[0]
    for node_id in others(leader):
        three.brokers[node_id].stop()
    at = three.brokers[leader].bootstrap

    _, errors = try_to_send(at, "t", pairs(1), acks="all", retries=0)
    send(at, "t", pairs(1), acks=1)

    assert [error.code() for error in errors] == [KafkaError.NOT_ENOUGH_REPLICAS]
    three.brokers[others(leader)[0]].start(same_port=True)
    send(at, "t", pairs(1, 1), acks="all")
    assert read_values(at) == wanted(2)


def test_what_only_a_dead_leader_had_is_cut_off_when_it_comes_back(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t")
    send(three.bootstrap, "t", pairs(100), acks="all")
    leader = view.leaders("t")[0]
    frozen = [three.brokers[node_id].process for node_id in others(leader)]
    for process in frozen:
        process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]
    try:
        # The fetches that wait at the leader are answered with what comes first, and that may
        # outlive it in the sockets of the others.
        send(three.brokers[leader].bootstrap, "t", [(None, b"first")], acks=1)
        send(three.brokers[leader].bootstrap, "t", [(None, b"lost")] * 50, acks=1)
        three.brokers[leader].kill()
    finally:
        for process in frozen:
            process.send_signal(signal.SIGCONT)  # type: ignore[union-attr]
    one = three.brokers[others(leader)[0]].bootstrap
    eventually(lambda: ClusterView(one).leaders("t").get(0) in others(leader))
    send(one, "t", pairs(100, 100), acks="all")

    three.brokers[leader].start(same_port=True)

    view.await_isr("t", 0, 1, 2)
    assert b"lost" not in await_equal_logs(three, 0, 1, 2)
    assert [value for value in read_values(one) if value != b"first"] == wanted(200)


def test_a_follower_whose_disk_was_replaced_copies_everything(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", segment_bytes="1048576")
    send(three.bootstrap, "t", [(None, bytes(1000))] * 3000, acks="all", batch_size=16384)
    node_id = others(view.leaders("t")[0])[0]
    three.brokers[node_id].stop()
    shutil.rmtree(three.brokers[node_id].data_dir)

    three.brokers[node_id].start(same_port=True)

    view.await_isr("t", 0, 1, 2)
    assert len(await_equal_logs(three, 0, 1, 2)) > 3_000_000


def lose_a_batch(broker: BarnabasProcess) -> int:
    """As a power cut may: the last batch of the second segment.  How many records it had."""
    broker.kill()
    (broker.data_dir / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
    second = sorted((broker.data_dir / "t-0").glob("*.log"))[1]
    data = second.read_bytes()
    *_, (position, header) = iter_headers(data)
    second.write_bytes(data[:position])
    return header.count


def test_a_follower_that_lost_the_end_of_a_segment_copies_it_again(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", segment_bytes="1048576")
    send(three.bootstrap, "t", [(None, bytes(1000))] * 3000, acks="all", batch_size=16384)
    before = await_equal_logs(three, 0, 1, 2)
    follower = three.brokers[others(view.leaders("t")[0])[0]]
    lose_a_batch(follower)

    follower.start(same_port=True)

    view.await_isr("t", 0, 1, 2)
    assert await_equal_logs(three, 0, 1, 2) == before
    assert list((follower.data_dir / "t-0").glob("*.log.stray"))


def test_the_only_copy_keeps_what_follows_the_lost_end_of_a_segment(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", replicas=1, segment_bytes="1048576")
    send(three.bootstrap, "t", [(None, bytes(1000))] * 3000, acks="all", batch_size=16384)
    leader = three.brokers[view.leaders("t")[0]]
    lost = lose_a_batch(leader)

    leader.start(same_port=True)

    eventually(lambda: view.leaders("t")[0] >= 0, timeout_s=PATIENCE_S)
    assert len(read_values(three.bootstrap)) == 3000 - lost
    assert not list((leader.data_dir / "t-0").glob("*.stray"))


def test_a_clean_restart_of_every_broker_in_turn_is_no_error_for_a_producer(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", min_insync_replicas="2")
    sender = Sender(three.bootstrap)
    for node_id, broker in three.brokers.items():
        sender.send(*wanted(200, node_id * 400))
        broker.stop()
        sender.send(*wanted(200, node_id * 400 + 200))
        sender.flush()
        broker.start(same_port=True)
        view.await_isr("t", 0, 1, 2)

    assert sender.errors == []
    assert sender.acknowledged == wanted(1200)
    assert read_values(three.bootstrap) == wanted(1200)


def test_a_consumer_is_sent_to_the_replica_in_its_rack_and_can_read_there(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path, brokers=0) as made:
        for number in range(2):
            broker = made.brokers[number] = made.broker(
                number,
                f"broker.rack=rack-{number}",
                "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
            )
            broker.start()
        try:
            view = ClusterView(made.bootstrap)
            view.await_brokers(0, 1)
            view.create("t", replicas=2)
            send(made.bootstrap, "t", pairs(10), acks="all")
            leader = view.leaders("t")[0]
            far = 1 - leader

            def asked(node_id: int, rack: str) -> Any:
                request = fetch_request("t")
                request.rack_id = rack
                with connected(made.brokers[node_id].bootstrap) as client:
                    return fetched(client.call(request, FETCH_VERSION))

            eventually(lambda: asked(leader, f"rack-{far}").preferred_read_replica == far)
            assert asked(leader, f"rack-{leader}").preferred_read_replica == -1
            assert asked(leader, "elsewhere").preferred_read_replica == -1
            there = eventually(lambda: (found := asked(far, f"rack-{far}")).records and found)
            assert there.high_watermark == 10
            found = read_values(made.bootstrap, client_rack=f"rack-{far}")
            assert found == wanted(10)
        finally:
            for broker in made.brokers.values():
                broker.stop()


def test_transactions_keep_their_outcome_when_the_leader_is_killed(
    three: ClusterProcesses, view: ClusterView
) -> None:
    view.create("t", min_insync_replicas="2")
    producer = Producer(
        {"bootstrap.servers": three.bootstrap, "transactional.id": "x", "log_level": 0}
    )
    producer.init_transactions(PATIENCE_S)
    for number in range(6):
        producer.begin_transaction()
        for value in wanted(10, 10 * number):
            producer.produce("t", value, partition=0)
        producer.flush(PATIENCE_S)
        if number % 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    committed = [*wanted(10), *wanted(10, 20), *wanted(10, 40)]
    leader = view.leaders("t")[0]

    three.brokers[leader].kill()

    one = three.brokers[others(leader)[0]].bootstrap
    eventually(lambda: ClusterView(one).leaders("t").get(0) in others(leader))
    assert read_values(one, isolation_level="read_committed") == committed
    assert read_values(one, isolation_level="read_uncommitted") == wanted(60)
    send(one, "t", pairs(10, 60), acks="all", enable_idempotence=True)
    three.brokers[leader].start(same_port=True)
    view.await_isr("t", 0, 1, 2)
    await_equal_logs(three, 0, 1, 2)


def test_a_compacted_topic_has_the_same_records_on_every_replica_whoever_compacted_it(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path, "log.cleaner.backoff.ms=100") as made:
        view = ClusterView(made.bootstrap)
        view.await_brokers(0, 1, 2)
        view.create(
            "t",
            cleanup_policy="compact",
            internal_segment_bytes="4096",
            min_cleanable_dirty_ratio="0.01",
        )
        for turn in range(6):
            keyed = [(b"%d" % key, b"%d" % (turn * 100 + key) + PADDING) for key in range(100)]
            send(made.bootstrap, "t", keyed, acks="all", batch_size=2000)
        newest = sorted(b"%d" % (500 + key) + PADDING for key in range(100))
        leader = view.leaders("t")[0]
        follower = made.brokers[others(leader)[0]]
        eventually(
            lambda: len(read_values(made.bootstrap)) < 400, timeout_s=PATIENCE_S, what="compacted"
        )
        follower.stop()
        shutil.rmtree(follower.data_dir)  # it copies what compaction has left

        follower.start(same_port=True)

        view.await_isr("t", 0, 1, 2)
        made.brokers[leader].kill()
        eventually(lambda: ClusterView(follower.bootstrap).leaders("t").get(0) in others(leader))
        found = read_values(follower.bootstrap)
        assert sorted(found[-100:]) == newest  # type: ignore[type-var]
        assert len(found) < 600
