"""Exercises 3.1 to 3.4: what an acknowledgement is worth, and what happens without one.

Partitions stand in a ring (0 on brokers 1 and 2, 1 on 2 and 3, ...), so that it is known who leads
what.  Consumers read when all is over: these exercises are about what the cluster has kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.lab.faults.conditions import acked, refused, sent

if TYPE_CHECKING:
    from barnabas.lab.cluster.view import PartitionView
    from barnabas.lab.faults.fault import Fault
    from barnabas.lab.scenarios.program import Program
    from barnabas.lab.scenarios.stage import Stage

HELD_S = 600.0
"""Longer than any run: what is held on its way arrives never, or when it is let go."""
SLOWLY = "requests are on their way to broker {}"


def bounce_in_turn(stage: Stage) -> None:
    """3.1: every broker is stopped while it is being sent to, and started again."""
    stage.create_topic(stage.ring())
    producer = stage.producer()
    after = stage.param("first-stop")
    for number in sorted(stage.cluster.brokers):
        _stop_while_sent_to(stage, number, after)
        _await_no_leader(stage, number)
        _start(stage, number)
        after += stage.param("between-stops")
    stage.see("leader-none", True)  # else the wait would not have ended
    records = stage.param("records")
    stage.wait(lambda counts: counts.sent >= records, f"{records:,} records to be sent")
    stage.finish(producer, enough=True)
    stage.read_all()


def _await_no_leader(stage: Stage, number: int) -> None:
    """Until the partitions that have their only replica on this broker are without a leader."""
    mine = [index for index, replicas in stage.ring().items() if replicas == [number]]
    stage.wait_view(
        lambda view: all(view[index].leader is None for index in mine),
        f"partitions {mine} without a leader",
    )
    stage.step(f"partitions {', '.join(map(str, mine))}: Leader: none")


def one_stopped(stage: Stage) -> None:
    """3.2a: one broker of three is stopped while it is being sent to."""
    stage.create_topic(stage.ring())
    before = stage.view()
    producer = stage.producer()
    _stop_while_sent_to(stage, 1, stage.param("first-stop"))
    view = stage.wait_view(
        lambda view: all(1 not in each.isr and each.leader is not None for each in view.values()),
        "everything led without broker 1",
    )
    stage.see("leaders-moved", all(each.leader not in (1, None) for each in view.values()))
    stage.see("replicas-stay", _replicas(view) == _replicas(before))
    stage.see("isr-shrunk", all(1 not in each.isr for each in view.values()))
    leaders = {index: each.leader for index, each in view.items()}
    _start(stage, 1)
    stage.cluster.wait_in_sync(stage.topic)
    view = stage.view()
    stage.see("isr-whole", all(set(each.isr) == set(each.replicas) for each in view.values()))
    stage.see("leaders-stay", {index: each.leader for index, each in view.items()} == leaders)
    stage.finish(producer, enough=True)
    stage.read_all()


def _replicas(view: dict[int, PartitionView]) -> dict[int, tuple[int, ...]]:
    return {index: each.replicas for index, each in view.items()}


def _stop_while_sent_to(stage: Stage, number: int, after: int) -> None:
    """Stops a broker while requests are on their way to it: these never arrive."""
    slow: Fault
    with stage.cluster.faults.delay(
        HELD_S, api="Produce", broker=number, when=sent(stage.topic) >= after
    ) as slow:
        slow.wait_hits(1, timeout_s=120)
        stage.step(SLOWLY.format(number))
        stage.cluster.brokers[number].stop()
        stage.fault(f"broker {number} stopped")


def _start(stage: Stage, number: int) -> None:
    stage.cluster.brokers[number].start()
    stage.recovery(f"broker {number} started again")


def two_killed(stage: Stage) -> None:
    """3.2b: the leader dies with what only it has; then its successor dies and comes back first."""
    brokers = stage.cluster.brokers
    stage.create_topic(stage.ring())
    hold = stage.cluster.faults.hold_replication(stage.topic, 0, stage.param("held-at"))
    stage.step(f"broker 2 copies no record of partition 0 from {stage.param('held-at')} on")
    killed = stage.at(
        acked(stage.topic, 0) >= stage.param("killed-at"),
        brokers[1].kill,
        "broker 1 killed: partition 0 acknowledged, not copied",
    )
    producer = stage.producer()
    killed.wait_hits(1, timeout_s=120)
    hold.lift()
    view = stage.wait_view(lambda view: view[0].leader == 2, "broker 2 to lead partition 0")
    stage.see("follower-leads", view[0].leader == 2)
    count = stage.cluster.traffic().acked[stage.topic, 0]
    stage.moment(acked(stage.topic, 0) > count)
    stage.step("broker 2 acknowledges")
    brokers[2].kill()
    stage.fault("broker 2 killed: partition 0 has no leader")
    _start(stage, 2)
    _start(stage, 1)
    stage.wind_up(producer)


def not_enough(stage: Stage) -> None:
    """3.3a: one broker of two in sync is gone, and leaders refuse."""
    stage.create_topic(stage.ring())
    producer = stage.producer()
    _stop_at(stage, 2, stage.param("first-stop"))
    stage.wait_view(
        lambda view: all(len(view[index].isr) == 1 for index in (0, 1)), "ISRs of one broker"
    )
    before = [stage.cluster.traffic().acked[stage.topic, index] for index in (0, 1)]
    for _ in range(2):  # twice: the second refusal is of a retry
        _wait_refused(stage)
    after = [stage.cluster.traffic().acked[stage.topic, index] for index in (0, 1)]
    stage.see("refused", True)
    stage.see("stalled", before == after)
    _resume(stage, producer)


def two_stopped(stage: Stage) -> None:
    """3.3b: with one broker missing it goes on, with two it waits, with one back it goes on."""
    stage.create_topic(stage.ring())
    producer = stage.producer()
    _stop_at(stage, 3, stage.param("first-stop"))
    stage.wait_view(
        lambda view: all(3 not in each.isr for each in view.values()), "ISRs without broker 3"
    )
    count = stage.cluster.traffic().acked.total()
    _stop_at(stage, 2, count + stage.param("between-stops"))
    stage.see("went-on", stage.cluster.traffic().acked.total() > count)
    _wait_refused(stage)
    stage.see("paused", True)
    _resume(stage, producer)


def _resume(stage: Stage, producer: Program) -> None:
    """Broker 2 is back, and with it everything that had to wait."""
    _start(stage, 2)
    stage.finish(producer, enough=True)
    counts = stage.ledger.refresh()
    stage.see("resumed", counts.failed == 0 and counts.acked.total() == counts.sent)
    stage.read_all()


def _stop_at(stage: Stage, number: int, count: int) -> None:
    """An orderly stop when so many records are acknowledged."""
    stage.moment(acked(stage.topic) >= count)
    stage.cluster.brokers[number].stop()
    stage.fault(f"broker {number} stopped")


def _wait_refused(stage: Stage) -> None:
    """Until leaders have refused once more for want of replicas."""
    traffic = stage.cluster.traffic()
    known = traffic.refusals["NOT_ENOUGH_REPLICAS"]
    total = traffic.refused.total()
    stage.moment(refused(stage.topic) > total)
    stage.cluster.wait(
        lambda: stage.cluster.traffic().refusals["NOT_ENOUGH_REPLICAS"] > known,
        120,
        "NOT_ENOUGH_REPLICAS",
    )
    stage.step("leaders answer NOT_ENOUGH_REPLICAS")


def lost_answers(stage: Stage) -> None:
    """3.4: batches are stored, and their answers get lost while brokers are bounced."""
    stage.create_topic(stage.ring())
    losses = [
        stage.cluster.faults.lose_ack(
            stage.topic, index, 1, when=acked(stage.topic) >= stage.param("first-loss")
        )
        for index in stage.ring()
    ]
    producer = stage.producer()
    for index, loss in enumerate(losses):
        loss.wait_hits(1, timeout_s=120)
        stage.fault(f"partition {index}: a batch is stored, its answer is lost")
    stage.see("unheard", all(loss.hits for loss in losses))
    for number, broker in sorted(stage.cluster.brokers.items()):
        broker.restart()
        stage.fault(f"broker {number} bounced")
        stage.cluster.wait_in_sync(stage.topic)
    stage.recovery("all replicas are in sync")
    stage.wind_up(producer)
