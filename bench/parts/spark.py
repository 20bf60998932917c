"""(l) Spark: our source and sink beside Spark's own Kafka connector, both on our broker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.brokers import Broker
from harness.lines import LineProcess
from programs import Load, librdkafka
from session import Session
from targets import Target

NAME = "spark"
SIZES = {100: 4_000_000, 1024: 1_000_000}
SINK_SHARE = 4
"""So much less is written than is read: a sink takes longer."""
PARTITIONS = 2
READS = {
    "batch": "batch",
    "available_now": "AvailableNow",
    "windowed": "windowed count, AvailableNow",
}
CONNECTORS = {"barnabas": "barnabas", "apache": "kafka"}
"""What the columns of the table stand for here: our data source, and Spark's."""
PROGRAM = Path(__file__).resolve().parents[1] / "sparking.py"


@dataclass(frozen=True, slots=True)
class Measuring:
    """Who measures what, on which broker."""

    session: Session
    target: Target
    broker: Broker
    spark: LineProcess
    loads: Mapping[int, Load]

    def warm_up(self) -> None:
        """With the fewer records of the two loads, which are enough for a JVM to be warm."""
        for connector in CONNECTORS.values():
            for op in READS:
                self._ask(op, connector, topic=self.loads[1024].topic)
            self._write(connector, 100)

    def take(self, number: int, column: Target) -> None:
        """One round of one connector."""
        connector = CONNECTORS[column.name]
        for size, load in self.loads.items():
            for op, title in READS.items():
                action = partial(self._read, op, connector, load)
                self.session.take(number, column, (NAME, f"{title}, {size} B"), action)
            action = partial(self._write, connector, size)
            self.session.take(number, column, (NAME, f"sink, {size} B"), action)
        topic = self.target.new_topic(self.broker, 1)
        latency = partial(self._ask, "latency", connector, topic=topic)
        self.session.take(number, column, (NAME, "from produce to row, one at a time"), latency)

    def _ask(self, op: str, connector: str, **arguments: object) -> Any:
        place = {"connector": connector, "bootstrap": self.broker.bootstrap}
        return self.spark.call(op, **place, **arguments)

    def _read(self, op: str, connector: str, load: Load) -> dict[str, float]:
        metric = "rows_per_s" if op == "windowed" else "read_rows_per_s"
        return {metric: load.count / self._ask(op, connector, topic=load.topic)}

    def _write(self, connector: str, size: int) -> dict[str, float]:
        count = self.loads[size].count // SINK_SHARE
        topic = self.target.new_topic(self.broker, PARTITIONS)
        seconds = self._ask("sink", connector, topic=topic, count=count, size=size)
        self.target.drop_topic(self.broker, topic)
        return {"rows_per_s": count / seconds}


def run(session: Session) -> None:
    ours = [target for target in session.targets if target.name == "barnabas"]
    if not ours:
        return
    (target,) = ours
    log_path = session.new_folder("spark") / "spark.log"
    with (
        target.running(session.new_folder(target.name)) as broker,
        LineProcess([sys.executable, str(PROGRAM)], log_path) as spark,
    ):
        session.running, session.helpers = [broker], [spark.pid]
        loads = {size: fill(session, target, broker, size) for size in SIZES}
        measuring = Measuring(session, target, broker, spark, loads)
        measuring.warm_up()
        for number, column in session.in_turn():
            if column.name in CONNECTORS:
                measuring.take(number, column)
        session.running, session.helpers = [], []


def fill(session: Session, target: Target, broker: Broker, size: int) -> Load:
    topic = target.new_topic(broker, PARTITIONS)
    load = Load(topic=topic, count=session.scale(SIZES[size]), size=size)
    librdkafka("produce", broker.bootstrap, load)
    return load
