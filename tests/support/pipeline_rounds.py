"""Pipelines that are killed in the middle of their work, and what they must have done in the end.

A round starts a pipeline as people do, lets it finish a batch at least, and kills a part of it with
KILL at a random moment: the driver, its JVM, or an executor.  In the end the pipeline is run once
more, undisturbed, and every record must be where it belongs, exactly once.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas_process import BarnabasProcess
from confluent_kafka import Producer
from eventually import eventually
from topic_records import committed

PARTITIONS = 3
VICTIMS = ("driver", "jvm", "executor")
BATCH_S = 240.0
"""How long a start and the first batch may take on a busy machine."""
END_S = 300.0
CTRL_C_STATUS = 130

QUICK = tuple(
    part
    for setting in (
        "spark.driver.host=127.0.0.1",
        "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions=2",
    )
    for part in ("--spark-conf", setting)
)
"""A JVM that starts fast; what it computes is little."""

Report = Callable[[str], None]
Place = tuple[int, int]
"""Partition and offset."""


@dataclass(slots=True)
class Sent:
    """What the topic has, by the word of the broker."""

    topic: str
    values: dict[Place, bytes] = field(default_factory=dict)

    def send(self, bootstrap: str, count: int) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "acks": "all"})

        def delivered(error: object, message: object) -> None:
            assert error is None, error
            self.values[message.partition(), message.offset()] = message.value()  # type: ignore[attr-defined]

        first = len(self.values)
        for number in range(first, first + count):
            producer.produce(
                self.topic,
                f"value {number}",
                str(number % 97),
                number % PARTITIONS,
                on_delivery=delivered,
            )
            producer.poll(0)
        assert producer.flush(60) == 0


def by_partition(sent: Sent) -> dict[int, list[bytes]]:
    """What was sent as `read_committed` gives it."""
    found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    for (partition, _), value in sorted(sent.values.items()):
        found[partition].append(value)
    return found


def read_committed(bootstrap: str, topic: str) -> dict[int, list[bytes]]:
    """All values of a topic's partitions, in their order."""
    found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    for message in committed(bootstrap, topic, PARTITIONS):
        found[message.partition()].append(message.value())
    return found


@dataclass(slots=True)
class Killing:
    """One pipeline, and somebody who keeps killing it."""

    broker: BarnabasProcess
    folder: Path
    arguments: Sequence[str]
    """What is typed after `barnabas pipeline`, without what makes it end."""
    chance: random.Random
    report: Report
    ends_by_itself: bool = False
    lives: int = 0

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        self.lives += 1
        log = (self.folder / f"life-{self.lives:03d}.log").open("wb")
        with log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "barnabas.cli.main", "pipeline"),
                    *self.arguments,
                    *("--bootstrap-server", self.broker.bootstrap),
                    *("--metrics", str(self.metrics)),
                    *QUICK,
                    *more,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )

    def said(self) -> str:
        return (self.folder / f"life-{self.lives:03d}.log").read_text(errors="replace")

    def batches(self) -> int:
        return len(self.metrics.read_bytes().splitlines()) if self.metrics.exists() else 0

    def round(self, victim: str, *more: str) -> bool:
        """One life and its end; False if it was done before it could be killed."""
        before = self.batches()
        process = self.start(*more)
        try:
            eventually(
                lambda: self.batches() > before or process.poll() is not None,
                timeout_s=BATCH_S,
                what=f"a batch of {self.arguments[0]}",
            )
            time.sleep(self.chance.uniform(0, 1.5))  # the moment is what is random here
            if process.poll() is not None:
                assert process.returncode == 0, self.said()
                return False
            pid = self._find(process, victim)
            self.report(f"{self.arguments[0]}: life {self.lives}, kill -9 of the {victim} {pid}")
            _kill(pid)
            if victim == "executor":
                self._outlive(process)
            return True
        finally:
            end_group(process)

    def ctrl_c(self, *more: str) -> str:
        """A life that somebody ends at a terminal, where all processes hear it; what it said."""
        before = self.batches()
        process = self.start(*more)
        try:
            eventually(
                lambda: self.batches() > before or process.poll() is not None,
                timeout_s=BATCH_S,
                what=f"a batch of {self.arguments[0]}",
            )
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(END_S) == CTRL_C_STATUS, self.said()
        finally:
            end_group(process)
        return self.said()

    def _find(self, process: subprocess.Popen[bytes], victim: str) -> int:
        found = {
            "driver": lambda: [process.pid],
            "jvm": lambda: _children(process.pid, "deploy.SparkSubmit"),
            "executor": lambda: (
                _children(process.pid, "CoarseGrainedExecutorBackend")
                or _children(process.pid, "pyspark")
            ),
        }[victim]
        alive = eventually(
            lambda: found() or (process.poll() is not None and [0]), what=f"a {victim}"
        )
        return self.chance.choice(alive)

    def _outlive(self, process: subprocess.Popen[bytes]) -> None:
        """Without one executor the work goes on, or ends with an error; it does not hang."""
        before = self.batches()
        eventually(
            lambda: self.batches() > before or process.poll() is not None,
            timeout_s=BATCH_S,
            what="life after an executor",
        )

    def finish(self, *more: str) -> None:
        process = self.start(*more)
        try:
            status = process.wait(END_S)
        finally:
            end_group(process)
        assert status == 0, self.said()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was done, which is as good


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a life is left: each has a session of its own, and its JVM is in it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it has ended
    process.wait()
    for pid in session_of(process.pid):
        _kill(pid)


def session_of(leader: int) -> list[int]:
    """The processes of the session that a process began."""
    return [pid for pid in _pids() if _stat(pid)[1:2] == [leader]]


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[int]:
    """Parent and session of a process; nothing if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    fields = text.rpartition(")")[2].split()
    return [] if fields[0] == "Z" else [int(fields[1]), int(fields[3])]


def _children(leader: int, words: str) -> list[int]:
    """Processes of a session whose command line has these words."""
    found = []
    for pid in session_of(leader):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if words.encode() in line and pid != leader:
            found.append(pid)
    return found


def master_of(victim: str) -> tuple[str, str]:
    """Executors are processes of their own only where there is a cluster, if a small one."""
    return ("--master", "local-cluster[2,1,1024]" if victim == "executor" else "local[2]")


def make_topic(broker: BarnabasProcess, name: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        future.result(60)


def filled(broker: BarnabasProcess, topic: str) -> Sent:
    """A topic with 600 records in three partitions."""
    make_topic(broker, topic)
    records = Sent(topic)
    records.send(broker.bootstrap, 600)
    return records


def archive_rounds(
    broker: BarnabasProcess,
    folder: Path,
    *,
    victims: Sequence[str],
    records: int,
    chance: random.Random,
    report: Report,
) -> Sent:
    """A lake in `folder/lake` that has every record once."""
    topic = f"archived-{folder.name}"
    make_topic(broker, topic)
    sent = Sent(topic)
    arguments = ("archive", "--topic", topic, "--to", str(folder / "lake"))
    killing = Killing(broker, folder, (*arguments, "--compact-files", "4"), chance, report)
    for victim in victims:
        sent.send(broker.bootstrap, records)
        killing.round(victim, *small_batches(records), *master_of(victim))
    sent.send(broker.bootstrap, records)
    said = killing.ctrl_c(*small_batches(records), "--master", "local[2]")
    assert re.search(
        r"^archived: [\d,]+ records in \d+ batch(es)?, stopped$", said, re.MULTILINE
    ), said
    assert "Traceback" not in said
    killing.finish("--once", "--master", "local[2]")
    check_lake(folder / "lake", sent)
    report(f"archive: {len(sent.values)} records, each once, after {killing.lives} lives")
    return sent


def small_batches(records: int) -> tuple[str, ...]:
    """Of what is sent before a round, several: it is killed amid them, and never catches up."""
    return ("--max-offsets-per-trigger", str(max(1, records // 8)))


def check_lake(lake: Path, sent: Sent) -> None:
    """As somebody reads it who knows nothing of journals."""
    import pyarrow.dataset as ds

    table = ds.dataset(lake, partitioning="hive").to_table(["partition", "offset", "value"])
    columns = (table.column(name).to_pylist() for name in ("partition", "offset", "value"))
    rows = Counter(zip(*columns, strict=True))
    assert not [row for row, times in rows.items() if times > 1], "records that are there twice"
    assert {(partition, offset): value for partition, offset, value in rows} == sent.values


def transform_rounds(
    broker: BarnabasProcess,
    folder: Path,
    *,
    victims: Sequence[str],
    records: int,
    chance: random.Random,
    report: Report,
) -> None:
    """A copy of a topic by SQL, which has every record once."""
    source, target = f"source-{folder.name}", f"copy-{folder.name}"
    make_topic(broker, source)
    make_topic(broker, target)
    sent = Sent(source)
    arguments = [
        *("transform", "--topic", f"t={source}", "--from-format", "text", "--to-format", "text"),
        *("--query", "SELECT _key AS key, value FROM t", "--to", target),
        *("--checkpoint", str(folder / "checkpoint")),
    ]
    killing = Killing(broker, folder, arguments, chance, report)
    for victim in victims:
        sent.send(broker.bootstrap, records)
        killing.round(victim, *small_batches(records), *master_of(victim))
    killing.finish("--once", "--master", "local[2]")
    copies = Counter(
        value for values in read_committed(broker.bootstrap, target).values() for value in values
    )
    assert copies == Counter(sent.values.values())
    report(f"transform: {len(sent.values)} records, each once, after {killing.lives} lives")


def replay_rounds(
    broker: BarnabasProcess,
    folder: Path,
    sent: Sent,
    *,
    victims: Sequence[str],
    chance: random.Random,
    report: Report,
) -> None:
    """The lake of `archive_rounds`, again and again into topics: each has every record once, in
    order.
    """
    number = 0
    left = list(victims)
    while left:
        number += 1
        target = f"again-{folder.name}-{number}"
        make_topic(broker, target)
        largest = max(offset for _, offset in sent.values)
        arguments = (
            *("replay", "--lake", str(folder / "lake"), "--rename", f"{sent.topic}={target}"),
            *("--checkpoint", str(folder / f"replay-{number}")),
            *("--offsets-per-batch", str(largest // 12 + 1)),
        )
        killing = Killing(broker, folder, arguments, chance, report)
        while left and killing.round(left[0], *master_of(left[0])):
            left.pop(0)
        killing.finish("--master", "local[2]")
        assert read_committed(broker.bootstrap, target) == by_partition(sent)
        report(f"replay: {len(sent.values)} records in order, each once; {len(left)} kills to go")
