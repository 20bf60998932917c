"""(a) Produce: MB/s, and what it costs the broker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from harness.brokers import Broker
from programs import Load, java_produce, librdkafka
from session import CpuMeter, Session
from targets import Target

NAME = "produce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    client: str
    size: int
    count: int
    settings: tuple[str, ...] = ()
    partitions: int = 1

    @property
    def title(self) -> str:
        how = " ".join(self.settings) or "defaults"
        plural = "" if self.partitions == 1 else "s"
        return f"{self.client}, {self.size} B, {how}, {self.partitions} partition{plural}"


CASES = (
    Case(client="Java", size=100, count=1_500_000),
    Case(client="Java", size=1024, count=300_000),
    Case(client="Java", size=100, count=1_500_000, settings=("batch.size=1000000",)),
    Case(client="Java", size=1024, count=300_000, settings=("batch.size=1000000",)),
    Case(client="Java", size=1024, count=300_000, partitions=6),
    Case(client="librdkafka", size=100, count=2_000_000),
    Case(client="librdkafka", size=1024, count=600_000),
    Case(client="librdkafka", size=1024, count=600_000, partitions=6),
)
"""Both clients at their defaults (Java: batch.size=16384), the Java one also with large batches."""


def run(session: Session) -> None:
    with session.all_running() as brokers:
        for target in session.targets:
            session.warm_up(partial(warm_up_cost, target, brokers[target.name]))
        for case in CASES:
            for number, target in session.in_turn():
                if case.client == "Java" and not target.speaks_java:
                    continue
                count = session.scale(case.count)
                action = partial(measure, case, count, target, brokers[target.name])
                session.take(number, target, (NAME, case.title), action)


def warm_up_cost(target: Target, broker: Broker) -> float:
    topic = target.new_topic(broker, 1)
    load = Load(topic=topic, count=200_000, size=1024, settings=("batch.size=16384",))
    with CpuMeter(broker) as cpu:
        librdkafka("produce", broker.bootstrap, load)
    target.drop_topic(broker, topic)
    return cpu.seconds


def measure(case: Case, count: int, target: Target, broker: Broker) -> dict[str, float]:
    topic = target.new_topic(broker, case.partitions)
    load = Load(topic=topic, count=count, size=case.size, settings=case.settings)
    with CpuMeter(broker) as cpu:
        if case.client == "Java":
            speed = java_produce(broker.bootstrap, load)
        else:
            speed = float(librdkafka("produce", broker.bootstrap, load)["mb_per_s"])
    target.drop_topic(broker, topic)
    return {"mb_per_s": speed, "cpu_s_per_gb": cpu.seconds / load.gigabytes}
