"""(c) From the producer's call to the consumer's hands, at 1,000 records a second."""

from __future__ import annotations

from harness.brokers import Broker
from programs import Load, librdkafka
from session import Sample, Session
from targets import Target

NAME = "latency"
SIZE = 100
ACKS = ("1", "all")
WARM_UP_RECORDS = 3_000
WARM_UPS_MAX = 8
STEADY = 0.8
"""Warm is who is not at least a fifth faster than the time before."""


def run(session: Session) -> None:
    count = 4_000 if not session.quick else 1_500
    with session.all_running() as brokers:
        for target in session.targets:
            warm_up(target, brokers[target.name])
        for number, target in session.in_turn():
            for acks in ACKS:
                answer = measure(target, brokers[target.name], count, acks)
                case = f"librdkafka, {SIZE} B, acks={acks}"
                key = {"part": NAME, "case": case, "target": target.name, "round": number}
                for metric in ("p50_ms", "p99_ms"):
                    session.note(Sample(**key, metric=metric, value=answer[metric]))


def warm_up(target: Target, broker: Broker) -> None:
    """The same load, unmeasured, until it gets no faster: a JVM compiles for quite a while."""
    previous = float("inf")
    for _ in range(WARM_UPS_MAX):
        middle = measure(target, broker, WARM_UP_RECORDS, "all")["p50_ms"]
        if middle > STEADY * previous:
            return
        previous = middle


def measure(target: Target, broker: Broker, count: int, acks: str) -> dict[str, float]:
    settings = (f"acks={acks}", "linger.ms=0")
    topic = target.new_topic(broker, 1)
    load = Load(topic=topic, count=count, size=SIZE, settings=settings)
    return librdkafka("latency", broker.bootstrap, load)
