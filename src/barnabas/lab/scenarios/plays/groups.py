"""Exercises 2.2b, 4.1 and 4.2: what a group has committed, and what it has done.

Consumers are killed with KILL, at a moment that their own journals show.  They say no goodbye, so
the group finds out as it does in life: by waiting, or by a static member that comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.scenarios.ledger import Counts
    from barnabas.lab.scenarios.program import Program
    from barnabas.lab.scenarios.stage import Stage


def no_commit(stage: Stage) -> None:
    """2.2b: a consumer that never commits dies and comes back."""
    stage.create_topic()
    stage.produce()
    total = stage.ledger.refresh().acked.total()
    first = stage.consumer()
    stage.wait(lambda counts: counts.processed.total() >= total, "all records to be processed")
    before = _coordinator_lines(stage)
    _kill(stage, first, "with nothing committed")
    second = stage.consumer()
    stage.wait(lambda counts: counts.processed.total() >= 2 * total, "all records to come again")
    new = _coordinator_lines(stage)[len(before) :]
    for line in new:
        stage.step(f"coordinator: {line}")
    said = "\n".join(new)
    if stage.is_outside:
        stage.cannot_see("removed")
        stage.cannot_see("returned")
    else:
        stage.see("removed", "removed: silent" in said and "rebalance" in said)
        stage.see("returned", "is back" in said and "rebalance" not in said)
    second.stop()


def _coordinator_lines(stage: Stage) -> list[str]:
    """What brokers have logged of the group, without the times."""
    wanted = f"group {stage.group}: "
    return [
        line[line.index(wanted) :]
        for broker in stage.cluster.brokers.values()
        for line in broker.log.splitlines()
        if wanted in line
    ]


def _kill(stage: Stage, program: Program, when: str) -> None:
    program.kill()
    stage.fault(f"{program.name} killed, {when}")


def commit_too_early(stage: Stage) -> None:
    """4.1: a consumer dies with most of a poll in hand, after its first commit or without one."""
    stage.create_topic()
    stage.produce()
    first = stage.consumer()
    if "ack-every-x-msgs" in stage.scenario.consumer:
        stage.wait(lambda counts: counts.commits > 0, "the first commit")
    else:
        enough = stage.param("killed-after")
        stage.wait(lambda counts: counts.processed.total() >= enough, f"{enough} records")
    first.kill()
    counts = stage.ledger.refresh()
    done, committed = counts.processed.total(), sum(counts.committed.values())
    stage.fault(f"{first.name} killed: {done:,} records processed, {committed:,} committed")
    stage.see("beyond", committed > done)
    stage.recovery("the consumer is started again")
    stage.read_all(stage.consumer(wait_after_record="0"))
    again = stage.ledger.refresh().processed.total()
    stage.see("again", again > counts.acked.total())


def commit_too_late(stage: Stage) -> None:
    """4.2: a consumer dies after a batch; the other one begins where something was committed."""
    partitions = set(range(stage.scenario.topic.partitions))
    stage.create_topic()
    first, second = stage.consumer(), stage.consumer()
    share = len(partitions) // 2
    stage.wait(
        lambda _: all(len(each.book.counts.held) == share for each in (first, second)),
        "both consumers to have their share",
    )
    stage.step(f"both consumers have {share} partitions")
    producer = stage.producer()
    stage.wait(lambda _: _has_done(stage, first.book.counts), "the first batch")
    _kill(stage, first, "after a batch")
    stage.wait(lambda _: second.book.counts.held == partitions, "the other one to take over")
    stage.see("taken-over", second.book.counts.held == partitions)
    third = stage.consumer()
    stage.recovery(f"{third.name} takes the place of {first.name}")
    stage.finish(producer)
    stage.read_all(second, third)


def _has_done(stage: Stage, counts: Counts) -> bool:
    """Whether a batch is done: committed too, where that belongs to it."""
    if stage.scenario.consumer.get("ack-after-batch") == "true":
        return counts.commits > 0 and sum(counts.processed.values()) > 0
    return sum(counts.processed.values()) > 0
