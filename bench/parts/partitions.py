"""(g) A thousand partitions, with no more than 1,024 open files."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from harness.brokers import Broker
from harness.processes import StartFailedError, rss_bytes
from programs import ClientFailedError, Load, librdkafka
from session import Sample, Session
from targets import Target

NAME = "partitions"
CASE = "1,000 partitions"
PARTITIONS = 1_000
OPEN_FILES = 1_024
RECORDS = 100_000
IDLE_SECONDS = 3.0


def run(session: Session) -> None:
    folders: dict[str, Path] = {}
    for target in session.targets:
        if target.keeps_records:
            folder = folders[target.name] = session.new_folder(target.name)
            with target.running(folder) as broker:
                topic = target.new_topic(broker, PARTITIONS)
                librdkafka("produce", broker.bootstrap, load_of(topic))
            text = outcome_within_limit(target, folder, topic)
            key = {"part": NAME, "case": CASE, "target": target.name, "round": 0}
            session.note(Sample(**key, metric="limit_1024", text=text))
    for number, target in session.in_turn():
        if target.name in folders:
            action = partial(measure, target, folders[target.name])
            session.take(number, target, (NAME, CASE), action)


def load_of(topic: str) -> Load:
    return Load(topic=topic, count=RECORDS, size=100)


def outcome_within_limit(target: Target, folder: Path, topic: str) -> str:
    """Start, write to and read from every partition, stop; what became of it."""
    broker = target.new_broker(folder, ulimit_files=OPEN_FILES)
    try:
        broker.start()
        librdkafka("produce", broker.bootstrap, load_of(topic))
        librdkafka("consume", broker.bootstrap, load_of(topic))
        broker.stop()
    except (StartFailedError, ClientFailedError) as failure:
        starved = "Too many open files" in broker.child.log_text()
        return "fails: too many open files" if starved else f"fails: {str(failure)[:60]}"
    finally:
        broker.discard()
    return "works"


def measure(target: Target, folder: Path) -> dict[str, float]:
    """Barnabas keeps the limit while it is measured; who cannot, runs without one."""
    limit = OPEN_FILES if target.name == "barnabas" else None
    with target.running(folder, ulimit_files=limit) as broker:
        time.sleep(IDLE_SECONDS)
        return {"start_s": broker.ready_after, "idle_rss_mb": megabytes(broker)}


def megabytes(broker: Broker) -> float:
    return rss_bytes(broker.child.pid) / 1e6
