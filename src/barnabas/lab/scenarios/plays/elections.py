"""Beyond the exercises: who may lead, and what a broker does that nobody else reaches.

One partition matters, 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.lab.cluster.view import LATEST
from barnabas.lab.faults.conditions import acked

if TYPE_CHECKING:
    from barnabas.lab.scenarios.stage import Stage

UNCLEAN = "unclean.leader.election.enable"


def unclean_election(stage: Stage) -> None:
    """The follower misses records, the leader dies, and only the follower comes back."""
    brokers = stage.cluster.brokers
    stage.create_topic(stage.ring())
    producer = stage.producer()
    stage.moment(acked(stage.topic, 0) >= stage.param("follower-stops"))
    brokers[2].stop()
    stage.fault("broker 2, the follower, stopped")
    stage.wait_view(lambda view: view[0].isr == (1,), "an ISR of broker 1 alone")
    count = stage.cluster.traffic().acked[stage.topic, 0]
    killed = stage.at(
        acked(stage.topic, 0) >= count + stage.param("alone"),
        brokers[1].kill,
        "broker 1 killed: nobody else has its last records",
    )
    killed.wait_hits(1, timeout_s=120)
    brokers[2].start()
    stage.recovery("broker 2 started: it lacks what was acknowledged without it")
    stage.cluster.wait(lambda: 2 in stage.cluster.live_brokers(), 120, "broker 2 to be known")
    if stage.scenario.topic.configs[UNCLEAN] == "true":
        view = stage.wait_view(lambda view: view[0].leader == 2, "broker 2 to lead")
        stage.see("unclean", view[0].leader == 2)
    else:
        view = stage.wait_view(lambda view: view[0].isr == (1,), "what broker 2 knows")
        stage.see("offline", view[0].leader is None)
    brokers[1].start()
    stage.recovery("broker 1 started again")
    stage.wind_up(producer)


def network_partition(stage: Stage) -> None:
    """The leader reaches no other node any more; its clients still reach it."""
    stage.create_topic({0: [3, 1, 2]})
    producer = stage.producer()
    stage.moment(acked(stage.topic, 0) >= stage.param("cut-at"))
    cut = stage.cluster.faults.isolate(3)
    stage.fault("broker 3 reaches no other broker and no controller; clients reach it")
    if stage.scenario.producer["acks"] == "1":
        count = stage.cluster.traffic().acked[stage.topic, 0]
        stage.moment(acked(stage.topic, 0) >= count + stage.param("alone"))
        stage.step("broker 3 goes on acknowledging")
    view = stage.wait_view(  # brokers 1 and 2 are asked first: broker 3 knows of nothing
        lambda view: view[0].leader in (1, 2), "another broker to lead partition 0"
    )
    said = stage.cluster.eyes.offsets(3, stage.topic, [0], LATEST)  # only who leads answers this
    stage.see("second-leader", view[0].leader in (1, 2) and 0 in said)
    cut.lift()
    stage.recovery("the network is whole again: broker 3 follows")
    stage.wind_up(producer)


def full_disk(stage: Stage) -> None:
    """The leader's disk has no room left."""
    stage.create_topic(stage.ring())
    producer = stage.producer()
    stage.moment(acked(stage.topic, 0) >= stage.param("full-at"))
    full = stage.cluster.faults.full_disk(1)
    stage.fault("the disk of broker 1 is full")
    view = stage.wait_view(
        lambda view: view[0].leader not in (1, None), "another broker to lead partition 0"
    )
    stage.see("moved", view[0].leader not in (1, None))
    count = stage.cluster.traffic().acked[stage.topic, 0]
    stage.moment(acked(stage.topic, 0) > count)
    stage.see("went-on", True)
    full.lift()
    stage.cluster.brokers[1].restart()
    stage.recovery("there is room again, and broker 1 started")
    stage.wind_up(producer)
