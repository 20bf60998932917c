"""Exactly once, whatever is killed: workers consume, transform and produce by transactions.

Workers and broker are killed with -9 at moments that a seed chooses.  In the end a reader of
committed records must see every input once and in order (`exactly_once_checks`).  Used by short
tests and by `tests/soak/exactly_once.py` for the long run.
"""

from __future__ import annotations

import json
import queue
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import exactly_once_checks as checks
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from exactly_once_checks import GROUP, INPUT, KEYS, OUTPUT, PARTITIONS
from quick_clients import connected
from quick_clients import send as send_records

from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "group.consumer.min.session.timeout.ms=1000",
    "group.consumer.min.heartbeat.interval.ms=100",
    "group.consumer.heartbeat.interval.ms=300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
)
WORKERS = 2
STALLED_S = 120
"""How long nothing may move before the run is given up: ten times what any timeout explains."""
LAST_WORDS = 40
"""Lines of log of a worker that gave up."""
UNHEARD_OF = re.compile(
    r"message\(s\) timed out on.*Failed to end transaction.*INVALID_TXN_STATE", re.DOTALL
)
REFUSED = re.compile(
    r"ProducerFenced|InvalidProducerEpoch|InvalidTxnState"
    r"|_FENCED|INVALID_PRODUCER_EPOCH|INVALID_TXN_STATE"
)
"""What Java and librdkafka call it when a transaction is not theirs any more."""
VICTIMS: tuple[tuple[str, ...], ...] = (
    ("worker 0",),
    ("worker 1",),
    ("broker",),
    ("broker",),
    ("worker 0", "worker 1"),
    ("broker", "worker 0"),
    ("broker", "worker 0", "worker 1"),
)
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is told, in the one argument of its program."""

    input: str
    output: str
    partitions: int
    batch: int
    """Most records of a transaction."""
    abort_every: int
    """The first of so many transactions is aborted and done again."""
    consumer: dict[str, str | bool]
    producer: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A program that works: the command line to which a job is added."""

    name: str
    command: Sequence[str]


def confluent() -> Kind:
    program = Path(__file__).with_name("exactly_once_worker.py")
    return Kind(name="confluent-kafka", command=(sys.executable, str(program)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run."""

    kind: Kind
    rounds: int
    records: int
    seed: int
    transaction_version: int = 2
    session_timeout_ms: int = 3_000
    transaction_timeout_ms: int = 6_000
    protocols: tuple[str, ...] = ("classic", "consumer")
    """Of the group; one of them is chosen by the seed for each worker."""


@dataclass(slots=True)
class Tally:
    """What happened on the way."""

    steps: dict[str, int] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)
    gave_up: list[GaveUp] = field(default_factory=list)
    hired: int = 0
    strangers: int = 0
    """Workers that came under a new transactional id: what their predecessor left times out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """A worker that ended by itself; `hired_at` is the length of the broker's log at its start."""

    transactional_id: str
    hired_at: int
    last_words: str

    def is_explained(self, broker_log: list[str]) -> bool:
        """Whether it was refused as a zombie only if its transaction had taken too long.

        Too long for librdkafka is also when its records found no broker: it then ends a transaction
        that the coordinator may never have heard of, and any coordinator calls that invalid.
        """
        if not REFUSED.search(self.last_words) or UNHEARD_OF.search(self.last_words):
            return True
        too_long = f" {self.transactional_id}: took too long"
        return any(too_long in line for line in broker_log[self.hired_at :])


class ExactlyOnceError(Exception):
    """The promise was broken; the message has the offending records."""


class Worker:
    """A worker's process.  What it says goes to `lines`; None when it has ended."""

    def __init__(
        self,
        slot: int,
        command: list[str],
        *,
        transactional_id: str,
        lines: queue.Queue[Line],
        log_path: Path,
        hired_at: int,
    ) -> None:
        self.slot = slot
        self.transactional_id = transactional_id
        self.hired_at = hired_at
        self._lines = lines
        self._log_path = log_path
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._lines.put((self, line.decode()))
        self._lines.put((self, None))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def gave_up(self) -> GaveUp:
        words = "\n".join(self._log_path.read_text().splitlines()[-LAST_WORDS:])
        return GaveUp(
            transactional_id=self.transactional_id, hired_at=self.hired_at, last_words=words
        )


Line = tuple[Worker, str | None]


class Run:
    """Broker, workers, and whoever kills them."""

    def __init__(self, folder: Path, plan: Plan, report: Report) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.plan = plan
        self.report = report
        self.rng = random.Random(plan.seed)
        session = f"group.consumer.session.timeout.ms={plan.session_timeout_ms}"
        self.broker = BarnabasProcess(folder / "data", *SETTINGS, session)
        self.workers: list[Worker] = []
        self.names = [f"worker-{slot}" for slot in range(WORKERS)]
        self.lines: queue.Queue[Line] = queue.Queue()
        self.positions = [0] * PARTITIONS
        self.tally = Tally()

    def all(self) -> checks.Seen:
        """The whole run; what the reader saw in the end, or an `ExactlyOnceError`."""
        self.broker.start()
        try:
            self._prepare()
            self.workers = [self._hired(slot) for slot in range(WORKERS)]
            for number in range(1, self.plan.rounds + 1):
                self._round(number)
            self._await_position(self.plan.records)
            self.report(f"all {self.plan.records} are committed: {self._summary()}")
            return self._checked()
        finally:
            for worker in self.workers:
                worker.kill()
            if self.broker.process is not None and self.broker.process.poll() is None:
                self.broker.kill()
            (self.folder / "broker.log").write_text(self.broker.log)

    def _prepare(self) -> None:
        bootstrap = self.broker.bootstrap
        version = self.plan.transaction_version
        if version != 2:
            update = FeatureUpdateKey(
                feature="transaction.version", max_version_level=version, upgrade_type=2
            )
            with connected(bootstrap) as client:
                answer = client.call(UpdateFeaturesRequest(feature_updates=[update]), 1)
            assert answer.error_code == 0, answer
        small = {"segment_bytes": str(1024 * 1024), "index_interval_bytes": "512"}
        create_topics(bootstrap, INPUT, OUTPUT, partitions=PARTITIONS, **small)
        for partition in range(PARTITIONS):
            numbers = [n for n in range(self.plan.records) if n % KEYS % PARTITIONS == partition]
            pairs = [(b"%d" % (n % KEYS), checks.given(n)) for n in numbers]
            send_records(bootstrap, INPUT, pairs, partition=partition, enable_idempotence=True)

    # -- rounds

    def _round(self, number: int) -> None:
        """Let them work for a while, kill someone between two steps, bring a successor."""
        share = self.plan.records // (self.plan.rounds + 1)
        self._await_position((number - 1) * share + self.rng.randrange(share) + 1)
        for _ in range(self.rng.randrange(12)):
            self._take_line()
        victims = self.rng.choice(VICTIMS)
        for victim in victims:
            self._kill(victim)
        if "broker" in victims:
            self.broker.start(same_port=True)
        for slot in range(WORKERS):
            if f"worker {slot}" in victims:
                self._replace(slot)
        self.report(
            f"round {number}/{self.plan.rounds}: {sum(self.positions)} of {self.plan.records} "
            f"committed, killed {' and '.join(victims)}"
        )

    def _kill(self, victim: str) -> None:
        self.tally.kills[victim] = self.tally.kills.get(victim, 0) + 1
        if victim == "broker":
            self.broker.kill()
        else:
            self.workers[int(victim.split()[1])].kill()

    def _replace(self, slot: int) -> None:
        if self.rng.random() < 0.25:
            self.tally.strangers += 1
            self.names[slot] = f"worker-{slot}-{self.tally.strangers}"
        self.workers[slot] = self._hired(slot)

    def _hired(self, slot: int) -> Worker:
        command = [*self.plan.kind.command, json.dumps(asdict(self._job(slot)))]
        self.tally.hired += 1
        return Worker(
            slot,
            command,
            transactional_id=self.names[slot],
            lines=self.lines,
            log_path=self.folder / f"worker-{self.tally.hired:03}.log",
            hired_at=len(self.broker.output),
        )

    def _job(self, slot: int) -> Job:
        protocol = self.rng.choice(self.plan.protocols)
        consumer: dict[str, str | bool] = {
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": GROUP,
            "group.protocol": protocol,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        if protocol == "classic":
            session = str(self.plan.session_timeout_ms)
            consumer |= {"session.timeout.ms": session, "heartbeat.interval.ms": "300"}
        return Job(
            input=INPUT,
            output=OUTPUT,
            partitions=PARTITIONS,
            batch=self.rng.choice([10, 50, 200, 500, 1000]),
            abort_every=self.rng.choice([5, 10, 30]),
            consumer=consumer,
            producer={
                "bootstrap.servers": self.broker.bootstrap,
                "transactional.id": self.names[slot],
                "transaction.timeout.ms": str(self.plan.transaction_timeout_ms),
                "linger.ms": self.rng.choice(["0", "5"]),
                "compression.type": self.rng.choice(["none", "lz4", "zstd"]),
            },
        )

    # -- what workers say

    def _await_position(self, goal: int) -> None:
        moved_at, before = time.monotonic(), sum(self.positions)
        while (now := sum(self.positions)) < goal:
            self._take_line()
            if now > before:
                moved_at, before = time.monotonic(), now
            elif time.monotonic() - moved_at > STALLED_S:
                raise ExactlyOnceError(
                    f"stalled at {self.positions} for {STALLED_S} s, {self._summary()}:\n"
                    + self._log_tails()
                )

    def _take_line(self) -> None:
        """One line of any living worker; whoever has given up is replaced."""
        try:
            worker, line = self.lines.get(timeout=STALLED_S)
        except queue.Empty:
            raise ExactlyOnceError(f"no one said a word:\n{self._log_tails()}") from None
        if line is None:
            if worker is self.workers[worker.slot]:
                worker.kill()
                self.tally.gave_up.append(worker.gave_up())
                self._replace(worker.slot)
            return
        step, _, positions = line.partition(" ")
        self.tally.steps[step] = self.tally.steps.get(step, 0) + 1
        for partition, offset in json.loads(positions).items():
            self.positions[int(partition)] = max(self.positions[int(partition)], offset)

    def _summary(self) -> str:
        kills = ", ".join(f"{name} {times}" for name, times in sorted(self.tally.kills.items()))
        steps = ", ".join(f"{name} {times}" for name, times in sorted(self.tally.steps.items()))
        return (
            f"killed {kills or 'no one'}; {len(self.tally.gave_up)} gave up, "
            f"{self.tally.strangers} strangers; {steps}"
        )

    def _log_tails(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(log.read_text()[-2000:] for log in logs) + self.broker.log[-2000:]

    # -- the end

    def _checked(self) -> checks.Seen:
        """Twice: as it is when the workers are dead, and after the broker was killed once more."""
        for worker in self.workers:
            worker.kill()
        for restart in (False, True):
            if restart:
                self.broker.kill()
                self.broker.start(same_port=True)
            seen, faults = checks.look(self.broker.bootstrap, self.plan.records)
            if "Traceback" in self.broker.log:
                faults.append(f"the broker had a fault of its own:\n{self.broker.log[-5000:]}")
            faults += [
                f"{gone.transactional_id} had not taken too long, but was told: {gone.last_words}"
                for gone in self.tally.gave_up
                if not gone.is_explained(self.broker.output)
            ]
            if faults:
                raise ExactlyOnceError("\n".join(faults))
        self.report(seen.text(self.plan.records))
        return seen


def run(folder: Path, plan: Plan, report: Report) -> checks.Seen:
    return Run(folder, plan, report).all()
