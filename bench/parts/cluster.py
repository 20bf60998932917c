"""(i) Three brokers: replicated produce, the death of a leader, an empty follower, many partitions.

One cluster runs at a time: two would fight for the cores.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from harness.brokers import Broker
from harness.clusters import Cluster
from harness.processes import cpu_seconds
from harness.wire import NotAnsweredError, Replicas, topics_view
from programs import ClientFailedError, Load, java_produce, librdkafka
from session import Session
from targets import Target

NAME = "cluster"
BENCH = Path(__file__).resolve().parent.parent
VICTIM = 3
"""Apache Kafka's node 1 is the controller, too: that is another failure."""
SIZE, COUNT, PARTITIONS = 1024, 300_000, 6
CATCH_UP_COUNT = 500_000
MANY = 2_000
PATIENCE_S = 300


def run(session: Session) -> None:
    for number, target in session.in_turn():
        if target.has_clusters:
            with running(session, target) as cluster:
                session.warm_up(partial(warm_up_cost, cluster))
                for title, produce in (("Java", with_java), ("librdkafka", with_librdkafka)):
                    case = f"{title}, {SIZE} B, acks=all, RF 3, {PARTITIONS} partitions"
                    action = partial(replicated, session, cluster, produce)
                    session.take(number, target, (NAME, case), action)
                case = "kill -9 of a leader, librdkafka at 1,000 records/s, acks=all"
                session.take(number, target, (NAME, case), partial(failover, cluster))
                case = f"an empty follower, {PARTITIONS} partitions"
                session.take(number, target, (NAME, case), partial(catch_up, session, cluster))
            case = f"3 brokers with {MANY:,} replicas each"
            with running(session, target) as cluster:
                session.take(number, target, (NAME, case), partial(many_partitions, cluster))


@contextmanager
def running(session: Session, target: Target) -> Iterator[Cluster]:
    folder = session.new_folder(target.name)
    cluster = target.new_cluster(folder)
    try:
        cluster.start()
        session.running = cluster.processes()
        yield cluster
    finally:
        session.running = []
        cluster.discard()
        shutil.rmtree(folder, ignore_errors=True)


# -- topics


def new_topic(cluster: Cluster, name: str, partitions: int) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(name, partitions, 3)])[name].result(120)
    await_topic(cluster, name, lambda found: len(found) == partitions and in_sync(found))
    return name


def in_sync(partitions: dict[int, Replicas]) -> bool:
    return all(len(one.isr) == 3 and one.leader >= 0 for one in partitions.values())


def is_whole(partitions: dict[int, Replicas]) -> bool:
    return all(len(one.isr) == len(one.replicas) for one in partitions.values())


def await_topic(
    cluster: Cluster, topic: str, wanted: Callable[[dict[int, Replicas]], bool]
) -> None:
    """Until a node that runs tells of the topic what is wanted."""
    await_view(cluster, topic, lambda view: topic in view and wanted(view[topic]))


def await_all(cluster: Cluster, wanted: Callable[[dict[int, Replicas]], bool]) -> None:
    """Until a node that runs tells of every topic what is wanted."""
    await_view(cluster, "something", lambda view: bool(view) and all(map(wanted, view.values())))


def await_view(
    cluster: Cluster, what: str, wanted: Callable[[dict[str, dict[int, Replicas]]], bool]
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if wanted(topics_view(cluster.addresses()[0], timeout=30)):
                return
        except NotAnsweredError:
            pass  # asked again
        time.sleep(0.01)
    raise TimeoutError(f"{what} of {cluster.name} is not as wanted")


# -- replicated produce


def with_java(bootstrap: str, load: Load) -> float:
    return java_produce(bootstrap, load)


def with_librdkafka(bootstrap: str, load: Load) -> float:
    return float(librdkafka("produce", bootstrap, load)["mb_per_s"])


def cpu_of(processes: list[Broker]) -> float:
    return sum(cpu_seconds(one.child.pid) for one in processes)


def warm_up_cost(cluster: Cluster) -> float:
    topic = new_topic(cluster, f"warm-{time.monotonic_ns()}", PARTITIONS)
    load = Load(topic=topic, count=100_000, size=SIZE, settings=("acks=all",))
    before = cpu_of(cluster.processes())
    librdkafka("produce", cluster.bootstrap, load)
    return cpu_of(cluster.processes()) - before


def replicated(
    session: Session, cluster: Cluster, produce: Callable[[str, Load], float]
) -> dict[str, float]:
    """All processes of the cluster count, the controller's too."""
    topic = new_topic(cluster, f"replicated-{time.monotonic_ns()}", PARTITIONS)
    load = Load(topic=topic, count=session.scale(COUNT), size=SIZE, settings=("acks=all",))
    before = cpu_of(cluster.processes())
    speed = produce(cluster.bootstrap, load)
    await_topic(cluster, topic, in_sync)
    used = cpu_of(cluster.processes()) - before
    return {"mb_per_s": speed, "cluster_cpu_s_per_gb": used / load.gigabytes}


# -- a leader dies


def failover(cluster: Cluster) -> dict[str, float]:
    topic = f"failover-{time.monotonic_ns()}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    others = [number for number in cluster.nodes if number != VICTIM]
    wanted = NewTopic(topic, 1, replica_assignment=[[VICTIM, *others]])
    admin.create_topics([wanted])[topic].result(60)
    await_topic(cluster, topic, in_sync)
    command = [sys.executable, str(BENCH / "failover.py"), cluster.bootstrap, topic]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            client.stdout.readline()
            cluster.nodes[VICTIM].kill()
            client.stdin.write("killed\n")
            client.stdin.flush()
            answer = json.loads(client.stdout.readline())
        finally:
            client.kill()
    if "failed" in answer:
        raise ClientFailedError(f"failover of {cluster.name}: {answer['failed']}")
    cluster.start_node(VICTIM)
    await_topic(cluster, topic, in_sync)
    return {"failover_s": float(answer["failover_s"])}


# -- a follower begins with nothing


def catch_up(session: Session, cluster: Cluster) -> dict[str, float]:
    """It copies all that the cluster has, also from the cases before; and all of that counts."""
    topic = new_topic(cluster, f"catch-up-{time.monotonic_ns()}", PARTITIONS)
    load = Load(topic=topic, count=session.scale(CATCH_UP_COUNT), size=SIZE, settings=("acks=all",))
    librdkafka("produce", cluster.bootstrap, load)
    cluster.stop_node(VICTIM)
    victim = cluster.nodes[VICTIM]
    for entry in victim.data_dir.iterdir():
        if entry.name != "meta.properties":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    with ThreadPoolExecutor(1) as starting:
        started = starting.submit(victim.start)
        await_first_record(victim)
        began, before = time.monotonic(), cpu_of(cluster.processes())
        await_all(cluster, is_whole)
        seconds, used = time.monotonic() - began, cpu_of(cluster.processes()) - before
        started.result()
    gigabytes = copied_bytes(victim) / 1e9
    return {"catch_up_mb_per_s": gigabytes * 1e3 / seconds, "copy_cpu_s_per_gb": used / gigabytes}


def await_first_record(broker: Broker) -> None:
    """Until it copies: what it does before differs from broker to broker, and is not copying."""
    deadline = time.monotonic() + PATIENCE_S
    while not copied_bytes(broker):
        if time.monotonic() > deadline:
            raise TimeoutError("the follower copies nothing")
        time.sleep(0.002)


def copied_bytes(broker: Broker) -> int:
    logs = broker.data_dir.glob("*/*.log")
    return sum(log.stat().st_size for log in logs if "__cluster_metadata" not in log.parent.name)


# -- many partitions


def many_partitions(cluster: Cluster) -> dict[str, float]:
    """Start: of all three at once, from the first process to the last in-sync replica."""
    topic = new_topic(cluster, "many", MANY)
    nodes = list(cluster.nodes.values())
    for node in reversed(nodes):  # Apache Kafka's controller last
        node.child.stop(seconds=PATIENCE_S)
    began = time.monotonic()
    with ThreadPoolExecutor(len(nodes)) as starting:
        list(starting.map(lambda node: node.start(), nodes))
    await_topic(cluster, topic, lambda found: len(found) == MANY and in_sync(found))
    start = time.monotonic() - began
    began = time.monotonic()
    cluster.nodes[VICTIM].kill()
    await_topic(
        cluster,
        topic,
        lambda found: all(one.leader not in {-1, VICTIM} for one in found.values()),
    )
    return {"start_s": start, "failover_s": time.monotonic() - began}
