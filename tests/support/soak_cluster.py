"""A cluster of real processes that is broken all the time, its clients, and the verdict.

Three brokers, on either kind of journal; at most one fault at a time, so that what is promised
(`min.insync.replicas=2`) can be kept.  All choices come from one seed; when exactly they strike
does not, as real processes have real time.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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

from barnabas.lab.cluster.broker import LabBroker
from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.cluster.zookeeper import LabZooKeeper
from barnabas.lab.faults.fault import Fault
from barnabas.lab.sim.checker import Violation, check

KAFKA_PYTHON = Path(__file__).parent / "soak_kafka_python.py"
TOPIC, PARTITIONS = "soak", 6
BROKERS = (1, 2, 3)
PER_S = 300
FIRST = 1_000_000_000
"""How far the values of two producers are apart."""
SETTINGS = {
    "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "3000",
    "zookeeper.session.timeout.ms": "18000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
START_S = 120.0
STOP_S = 90.0
Report = Callable[[str], None]
Victim = LabBroker | LabZooKeeper


# -- faults


class Faults:
    """One after the other until `stopping`; after each, everything runs and is connected again."""

    def __init__(self, cluster: LabCluster, seed: int, report: Report) -> None:
        self._cluster = cluster
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
        leading = self._cluster.controller or self._cluster.zookeeper
        assert leading is not None
        one, other = self._random.sample(BROKERS, 2)
        faults = self._cluster.faults
        return self._random.choice(
            [
                (f"kill broker {number}", lambda: self._kill(broker)),
                (f"kill broker {number}", lambda: self._kill(broker)),
                (f"stop broker {number}", lambda: self._stop(broker)),
                (f"freeze broker {number}", lambda: self._freeze(broker)),
                (f"kill {leading.name}", lambda: self._kill(leading)),
                (f"freeze {leading.name}", lambda: self._freeze(leading)),
                (f"cut {one}-{other}", lambda: self._hold(faults.cut(one, other))),
                (f"silence {one}-{other}", lambda: self._hold(faults.cut(one, other, silent=True))),
                (f"isolate broker {number}", lambda: self._hold(faults.isolate(number))),
            ]
        )

    def _pause(self, most_s: float) -> None:
        self.stopping.wait(self._random.uniform(0.05, most_s))

    def _kill(self, victim: Victim) -> None:
        victim.kill()
        self._pause(4)
        victim.start(timeout_s=START_S)

    def _stop(self, victim: LabBroker) -> None:
        victim.stop(STOP_S)
        self._pause(4)
        victim.start(timeout_s=START_S)

    def _freeze(self, victim: Victim) -> None:
        victim.freeze()
        try:
            self._pause(7)
        finally:
            victim.thaw()

    def _hold(self, fault: Fault) -> None:
        with fault:
            self._pause(6)


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
    with LabCluster(
        len(BROKERS), settings=SETTINGS, folder=path, zookeeper=journal == "zookeeper"
    ) as cluster:
        view = ClusterView(cluster.bootstrap)
        view.await_brokers(*BROKERS)
        view.create(TOPIC, partitions=PARTITIONS, replicas=3, min_insync_replicas="2")
        view.await_isr(TOPIC, *BROKERS)
        notes = Notes()
        clients = _clients(cluster.bootstrap, notes, seed, java, per_s)
        faults = Faults(cluster, seed, report)
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
