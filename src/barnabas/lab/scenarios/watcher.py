"""Looks at a run from aside, a few times a second, for the timeline.  Changes nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from barnabas.lab.timeline.model import Look, PartitionLook

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.cluster.broker import LabBroker
    from barnabas.lab.cluster.view import PartitionView
    from barnabas.lab.faults.traffic import Traffic
    from barnabas.lab.scenarios.ledger import Counts, Ledger
    from barnabas.lab.timeline.live import Recorder

BETWEEN_S = 0.2


class Watcher:
    """A context manager: a thread that looks, from entry to exit."""

    def __init__(self, cluster: Cluster, topic: str, ledger: Ledger, recorder: Recorder) -> None:
        self._cluster = cluster
        self._topic = topic
        self._ledger = ledger
        self._recorder = recorder
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="barnabas-lab-watcher", daemon=True)
        self._view: dict[int, PartitionView] = {}

    def __enter__(self) -> Watcher:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        while not self._end.wait(BETWEEN_S):
            self._look()

    def _look(self) -> None:
        self._view = self._cluster.view(self._topic) or self._view
        known = self._cluster.live_brokers()
        counts = self._ledger.refresh()
        self._recorder.look(
            Look(
                at=self._recorder.now(),
                brokers={
                    number: state_of(broker, known)
                    for number, broker in self._cluster.brokers.items()
                },
                partitions=partitions_of(self._topic, self._view, self._cluster.traffic(), counts),
                sent=counts.sent,
                acked=counts.acked.total(),
                failed=counts.failed,
                received=counts.processed.total(),
            )
        )


def state_of(broker: LabBroker, known: set[int]) -> str:
    """In one word.  A process that clients are not told of is on its way, there or back."""
    if not broker.running:
        return "down"
    if broker.frozen:
        return "frozen"
    return "up" if broker.id in known else "away"


def partitions_of(
    topic: str, view: dict[int, PartitionView], traffic: Traffic, counts: Counts
) -> dict[int, PartitionLook]:
    """What brokers say of the partitions, with what followers have asked for and clients logged."""
    return {
        index: PartitionLook(
            leader=each.leader,
            replicas=each.replicas,
            isr=each.isr,
            ends=_ends(topic, each, traffic),
            acked=counts.acked[index],
            received=counts.processed[index],
        )
        for index, each in view.items()
    }


def _ends(topic: str, view: PartitionView, traffic: Traffic) -> dict[int, int]:
    """Ends of the replicas' logs.  A leader's is at least what it has acknowledged and shown."""
    place = topic, view.partition
    ends = {
        replica: position
        for replica in view.replicas
        if (position := traffic.positions.get((*place, replica))) is not None
    }
    if view.leader is not None:
        ends[view.leader] = max(view.end_offset or 0, traffic.acked_end.get(place, 0))
    return ends
