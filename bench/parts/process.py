"""(d), (e) Start-up time and memory of a fresh process."""

from __future__ import annotations

import time
from functools import partial

from harness.brokers import Broker
from harness.processes import rss_bytes
from programs import Load, librdkafka
from session import Session
from targets import Target

NAME = "process"
CASE = "one node, no topics"
IDLE_SECONDS = 3.0
LOADS = ((100, 1_000_000), (1024, 400_000))


def run(session: Session) -> None:
    for number, target in session.in_turn():
        session.take(number, target, (NAME, CASE), partial(measure, session, target))


def measure(session: Session, target: Target) -> dict[str, float]:
    folder = session.new_folder(target.name)
    with target.running(folder):
        pass  # makes what a first start makes; measured is a start on an existing directory
    values: dict[str, float] = {}
    with target.running(folder) as broker:
        values["start_s"] = broker.ready_after
        time.sleep(IDLE_SECONDS)
        values["idle_rss_mb"] = megabytes(broker)
        put_under_load(session, target, broker)
        values["loaded_rss_mb"] = megabytes(broker)
    return values


def put_under_load(session: Session, target: Target, broker: Broker) -> None:
    for size, count in LOADS:
        topic = target.new_topic(broker, 1)
        load = Load(topic=topic, count=session.scale(count), size=size)
        librdkafka("produce", broker.bootstrap, load)
        if target.keeps_records:
            librdkafka("consume", broker.bootstrap, load)


def megabytes(broker: Broker) -> float:
    return rss_bytes(broker.child.pid) / 1e6
