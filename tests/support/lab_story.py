"""A run of the lab that never took place, for views of it: a leader dies with what only it has."""

from __future__ import annotations

from barnabas.lab.scenarios.catalogue import all_scenarios
from barnabas.lab.scenarios.result import Result
from barnabas.lab.timeline.model import Kind, Look, Mark, PartitionLook, Timeline
from barnabas.lab.verdict.judging import Offence, Verdict

DIES, RISES = 5, 6
"""Seconds at which broker 1 dies, and broker 2 leads."""


def story() -> Timeline:
    """Ten seconds, a look each."""
    timeline = Timeline(looks=[_look(second) for second in range(11)])
    timeline.marks += [
        Mark(0.0, Kind.STEP, "brokers 1, 2 are up"),
        Mark(float(DIES), Kind.FAULT, "broker 1 killed <by us>"),
        Mark(float(RISES), Kind.SIGHT, "the follower leads"),
        Mark(9.0, Kind.RECOVERY, "broker 1 started again"),
    ]
    return timeline


def _look(second: int) -> Look:
    leader = 1 if second < DIES else 2 if second >= RISES else None
    return Look(
        at=float(second),
        brokers={1: "up" if second < DIES else "down", 2: "up"},
        partitions={
            0: PartitionLook(
                leader=leader,
                replicas=(1, 2),
                isr=(1, 2) if second < DIES else (2,),
                ends={1: 100 * second, 2: 90 * second},
                acked=100 * second,
                received=50 * second,
            )
        },
        sent=1000 * second,
        acked=100 * second,
        received=50 * second,
    )


def losses(count: int = 3) -> tuple[Offence, ...]:
    return tuple(
        Offence("lost write", "lab", 0, 450 + number, str(number), None, "")
        for number in range(count)
    )


def result(*, name: str = "3.2b", lost: int = 3, is_seen: bool = True) -> Result:
    scenario = all_scenarios()[name]
    return Result(
        scenario=scenario,
        verdict=Verdict(sent=1000, acknowledged=1000, received=997, lost=losses(lost)),
        seen=dict.fromkeys(scenario.expect.sights, is_seen),
        unseeable=frozenset(),
        seconds=10.0,
    )
