"""(c) From the producer's call to the consumer's hands, at 1,000 records a second."""

from __future__ import annotations

from functools import partial

from harness.brokers import Broker
from programs import Load, librdkafka
from session import Session
from targets import Target

NAME = "latency"
SIZE = 100
ACKS = ("1", "all")
WARM_UP_RECORDS = 3_000


def run(session: Session) -> None:
    count = 4_000 if not session.quick else 1_500
    with session.all_running() as brokers:
        for target in session.targets:
            broker = brokers[target.name]
            session.warm_up(partial(middle, target, broker))
        for number, target in session.in_turn():
            for acks in ACKS:
                case = f"librdkafka, {SIZE} B, acks={acks}"
                action = partial(measure, target, brokers[target.name], count, acks)
                session.take(number, target, (NAME, case), action)


def middle(target: Target, broker: Broker) -> float:
    return measure(target, broker, WARM_UP_RECORDS, "all")["p50_ms"]


def measure(target: Target, broker: Broker, count: int, acks: str) -> dict[str, float]:
    settings = (f"acks={acks}", "linger.ms=0")
    topic = target.new_topic(broker, 1)
    load = Load(topic=topic, count=count, size=SIZE, settings=settings)
    answer = librdkafka("latency", broker.bootstrap, load)
    return {metric: answer[metric] for metric in ("p50_ms", "p99_ms")}
