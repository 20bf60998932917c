"""(b) Consume from the beginning, everything in the page cache: MB/s, and the broker's cost."""

from __future__ import annotations

from functools import partial

from harness.brokers import Broker
from programs import Load, java_consume, librdkafka
from session import CpuMeter, Session
from targets import Target

NAME = "consume"
SIZES = {100: 3_000_000, 1024: 1_000_000}
CLIENTS = ("Java", "librdkafka")
FILL = ("batch.size=16384",)


def run(session: Session) -> None:
    readable = [target for target in session.targets if target.keeps_records]
    with session.all_running() as brokers:
        loads = {
            (target.name, size): fill(session, target, brokers[target.name], size, count)
            for target in readable
            for size, count in SIZES.items()
        }
        for (name, _), load in loads.items():
            session.warm_up(partial(cost, brokers[name], load))
        for size in SIZES:
            for client in CLIENTS:
                for number, target in session.in_turn():
                    if target in readable:
                        load = loads[target.name, size]
                        case = f"{client}, {size} B, defaults, 1 partition"
                        action = partial(measure, client, brokers[target.name], load)
                        session.take(number, target, (NAME, case), action)


def fill(session: Session, target: Target, broker: Broker, size: int, count: int) -> Load:
    """Batches of 16 KiB, as most producers send them."""
    topic = target.new_topic(broker, 1)
    load = Load(topic=topic, count=session.scale(count), size=size, settings=FILL)
    librdkafka("produce", broker.bootstrap, load)
    return Load(topic=topic, count=load.count, size=size)


def cost(broker: Broker, load: Load) -> float:
    with CpuMeter(broker) as cpu:
        read("librdkafka", broker, load)
    return cpu.seconds


def read(client: str, broker: Broker, load: Load) -> float:
    if client == "Java":
        return java_consume(broker.bootstrap, load)
    return float(librdkafka("consume", broker.bootstrap, load)["mb_per_s"])


def measure(client: str, broker: Broker, load: Load) -> dict[str, float]:
    with CpuMeter(broker) as cpu:
        speed = read(client, broker, load)
    return {"mb_per_s": speed, "cpu_s_per_gb": cpu.seconds / load.gigabytes}
