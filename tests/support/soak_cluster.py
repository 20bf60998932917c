"""A cluster of real processes that is broken all the time, its clients, and the verdict.

Three brokers, on either kind of journal; at most one fault at a time, so that what is promised
(`min.insync.replicas=2`) can be kept.  All choices come from one seed; when exactly they strike
does not, as real processes have real time.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from barnabas_process import BarnabasProcess
from cluster_view import ClusterView
from soak_clients import (
    Client,
    ConfluentLoad,
    Notes,
    ProcessLoad,
    Reader,
    TransactionLoad,
    read_all,
)
from soak_links import Links
from zookeeper_server import ZooKeeperServer, free_port

from barnabas.lab.sim.checker import Violation, check

KAFKA_PYTHON = Path(__file__).parent / "soak_kafka_python.py"
TOPIC, PARTITIONS = "soak", 6
BROKERS = (0, 1, 2)
CONTROLLER = 100
PER_S = 300
FIRST = 1_000_000_000
"""How far the values of two producers are apart."""
COMMON = (
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "group.initial.rebalance.delay.ms=0",
    "replica.lag.time.max.ms=3000",
    "broker.session.timeout.ms=3000",
    "broker.heartbeat.interval.ms=500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
)
Report = Callable[[str], None]


@dataclass(slots=True)
class Cluster:
    """The processes that may be hit."""

    brokers: dict[int, BarnabasProcess] = field(default_factory=dict)
    coordinators: dict[str, BarnabasProcess | ZooKeeperServer] = field(default_factory=dict)
    """The controller process, or ZooKeeper."""

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())


@contextmanager
def running(path: Path, journal: str, links: Links) -> Iterator[Cluster]:
    made = Cluster()
    with ExitStack() as stack:
        if journal == "zookeeper":
            zookeeper = stack.enter_context(ZooKeeperServer(path / "zookeeper"))
            made.coordinators["zookeeper"] = zookeeper
            place = {number: _with_zookeeper(number, zookeeper) for number in BROKERS}
        else:
            port = free_port()
            controller = BarnabasProcess(
                path / "controller",
                "process.roles=controller",
                f"node.id={CONTROLLER}",
                "controller.listener.names=CONTROLLER",
                f"listeners=CONTROLLER://127.0.0.1:{port}",
                *COMMON,
            )
            made.coordinators["controller"] = controller
            stack.callback(_end, controller)
            controller.start()
            relay = links.relay(CONTROLLER, port)
            place = {number: _with_controller(number, relay) for number in BROKERS}
        for number in BROKERS:
            broker = made.brokers[number] = _broker(path, number, place[number], links)
            stack.callback(_end, broker)
            broker.start()
        yield made


def _with_zookeeper(number: int, zookeeper: ZooKeeperServer) -> tuple[str, ...]:
    return f"broker.id={number}", f"zookeeper.connect={zookeeper.address}/soak"


def _with_controller(number: int, port: int) -> tuple[str, ...]:
    return (
        "process.roles=broker",
        f"node.id={number}",
        "controller.listener.names=CONTROLLER",
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}",
    )


def _broker(path: Path, number: int, place: Sequence[str], links: Links) -> BarnabasProcess:
    clients, brokers = free_port(), free_port()
    relay = links.relay(number, brokers)
    protocols = "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT"
    return BarnabasProcess(
        path / f"broker-{number}",
        *place,
        f"listeners=CLIENTS://127.0.0.1:{clients},BROKERS://127.0.0.1:{brokers}",
        f"advertised.listeners=CLIENTS://127.0.0.1:{clients},BROKERS://127.0.0.1:{relay}",
        f"listener.security.protocol.map={protocols}",
        "inter.broker.listener.name=BROKERS",
        *COMMON,
    )


def _end(process: BarnabasProcess) -> None:
    if process.process is not None and process.process.poll() is None:
        process.stop(timeout_s=60)


# -- faults


class Faults:
    """One after the other until `stopping`; after each, everything runs and is connected again."""

    def __init__(self, cluster: Cluster, links: Links, seed: int, report: Report) -> None:
        self._cluster = cluster
        self._links = links
        self._random = random.Random(seed)
        self._report = report
        self.stopping = threading.Event()
        self.counts: dict[str, int] = {}

    def run(self, seconds: float) -> None:
        began = time.monotonic()
        while time.monotonic() - began < seconds and not self.stopping.is_set():
            name, fault = self._choose()
            self.counts[name.split(" ")[0]] = self.counts.get(name.split(" ")[0], 0) + 1
            self._report(f"{time.monotonic() - began:6.1f} s  {name}")
            fault()
            self.stopping.wait(self._random.uniform(0.1, 3.0))

    def _choose(self) -> tuple[str, Callable[[], None]]:
        number = self._random.choice(BROKERS)
        broker = self._cluster.brokers[number]
        name, other = self._random.choice(list(self._cluster.coordinators.items()))
        pair = self._random.sample(BROKERS, 2)
        alone = [(number, each) for each in (*BROKERS, CONTROLLER) if each != number]
        return self._random.choice(
            [
                (f"kill broker {number}", lambda: self._kill(broker)),
                (f"kill broker {number}", lambda: self._kill(broker)),
                (f"stop broker {number}", lambda: self._stop(broker)),
                (f"freeze broker {number}", lambda: self._freeze(broker)),
                (f"kill {name}", lambda: self._kill(other)),
                (f"freeze {name}", lambda: self._freeze(other)),
                (f"cut {pair[0]}-{pair[1]}", lambda: self._cut([(pair[0], pair[1])])),
                (f"isolate broker {number}", lambda: self._cut(alone)),
            ]
        )

    def _pause(self, most_s: float) -> None:
        self.stopping.wait(self._random.uniform(0.05, most_s))

    def _kill(self, victim: BarnabasProcess | ZooKeeperServer) -> None:
        victim.kill()
        self._pause(4)
        self._start(victim)

    def _stop(self, victim: BarnabasProcess) -> None:
        victim.stop(timeout_s=90)
        self._pause(4)
        self._start(victim)

    def _start(self, victim: BarnabasProcess | ZooKeeperServer) -> None:
        if isinstance(victim, BarnabasProcess):
            victim.start(timeout_s=120)
        else:
            victim.start()

    def _freeze(self, victim: BarnabasProcess | ZooKeeperServer) -> None:
        assert victim.process is not None
        os.kill(victim.process.pid, signal.SIGSTOP)
        try:
            self._pause(7)
        finally:
            os.kill(victim.process.pid, signal.SIGCONT)

    def _cut(self, pairs: Sequence[tuple[int, int]]) -> None:
        for one, other in pairs:
            self._links.cut(one, other)
        self._pause(6)
        self._links.mend()


# -- one run


@dataclass(slots=True, kw_only=True)
class Verdict:
    violations: list[Violation]
    troubles: list[str]
    acknowledged: int
    polled: int
    faults: dict[str, int]
    counts: dict[str, int]

    @property
    def is_good(self) -> bool:
        return not self.violations and not self.troubles


def run(
    path: Path,
    *,
    journal: str,
    seed: int,
    seconds: float,
    report: Report,
    java: Sequence[str] = (),
    per_s: int = PER_S,
) -> Verdict:
    """`java` is the command of a producer in Java, for those who have one."""
    with Links() as links, running(path, journal, links) as cluster:
        view = ClusterView(cluster.bootstrap)
        view.await_brokers(*BROKERS)
        view.create(TOPIC, partitions=PARTITIONS, replicas=3, min_insync_replicas="2")
        view.await_isr(TOPIC, *BROKERS)
        notes = Notes()
        clients = _clients(cluster.bootstrap, notes, seed, java, per_s)
        faults = Faults(cluster, links, seed, report)
        for client in clients:
            client.start()
        try:
            faults.run(seconds)
            report("faults are over: waiting until all replicas are in sync")
            view.await_brokers(*BROKERS)
            view.await_isr(TOPIC, *BROKERS)
        finally:
            for client in clients:
                client.stop()
        history = notes.history
        where = cluster.bootstrap, TOPIC, PARTITIONS
        history.final = read_all(*where, committed_only=False)
        history.final_committed = read_all(*where, committed_only=True)
    return Verdict(
        violations=check(history),
        troubles=notes.troubles,
        acknowledged=sum(count for name, count in notes.counts.items() if "acknow" in name),
        polled=len(history.polled),
        faults=faults.counts,
        counts=dict(sorted(notes.counts.items())),
    )


def _clients(
    bootstrap: str, notes: Notes, seed: int, java: Sequence[str], per_s: int
) -> list[Client]:
    where = bootstrap, TOPIC, notes
    made: list[Client] = [
        ConfluentLoad(
            "confluent-kafka", *where, first=FIRST, partitions=PARTITIONS, per_s=2 * per_s
        ),
        TransactionLoad("transactions", *where, first=2 * FIRST, partitions=PARTITIONS, seed=seed),
        Reader("reader", *where, partitions=PARTITIONS, committed_only=False),
        Reader("committed-reader", *where, partitions=PARTITIONS, committed_only=True),
    ]
    programs = {"kafka-python": (sys.executable, str(KAFKA_PYTHON)), "java": java}
    for number, (name, command) in enumerate(programs.items(), 3):
        if command:
            first = number * FIRST
            made.append(
                ProcessLoad(
                    name, *where, first=first, partitions=PARTITIONS, per_s=per_s, command=command
                )
            )
    return made
