"""What a play has in its hands: a cluster to break, programs to start, and a timeline to tell.

A play decides *when* by what passed through the relays (`at`) or by what clients logged (`wait`),
never by letting time pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.lab.scenarios.program import Program, ProgramError
from barnabas.lab.scenarios.telling import topic_text
from barnabas.lab.timeline.model import Kind
from barnabas.lab.verdict.records import History

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.cluster.view import PartitionView
    from barnabas.lab.faults.conditions import Condition
    from barnabas.lab.faults.fault import Fault
    from barnabas.lab.scenarios.declaration import Scenario
    from barnabas.lab.scenarios.ledger import Counts, Ledger
    from barnabas.lab.timeline.live import Recorder

PATIENCE_S = 120.0
"""How long anything may take; far more than it does on a busy machine."""


class StageError(Exception):
    """The play could not go on as written; the text says what did not happen."""


class Stage:
    """One run.  Owned by the thread that plays; the actions of `at` run on the relays' thread."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        cluster: Cluster,
        folder: Path,
        ledger: Ledger,
        recorder: Recorder,
        topic: str,
    ) -> None:
        self.scenario = scenario
        self.cluster = cluster
        self.folder = folder
        self.ledger = ledger
        self.topic = topic
        self.group = f"{topic}-readers"
        self.programs: list[Program] = []
        self.seen: dict[str, bool] = {}
        self.unseeable: set[str] = set()
        self.own = History()
        """What clients within this process did, with values and transactions."""
        self._recorder = recorder
        self._next_key = 0

    # Telling

    def step(self, text: str) -> None:
        self._recorder.mark(Kind.STEP, text)

    def fault(self, text: str) -> None:
        self._recorder.mark(Kind.FAULT, text)

    def recovery(self, text: str) -> None:
        self._recorder.mark(Kind.RECOVERY, text)

    def see(self, name: str, is_seen: bool) -> None:
        """Says whether something was seen that the exercise is about; declared in its file."""
        if name in self.scenario.expect.sights:
            self.seen[name] = is_seen
            text = self.scenario.expect.sights[name]
            self._recorder.mark(Kind.SIGHT, text if is_seen else f"NOT seen: {text}")

    def cannot_see(self, name: str) -> None:
        """From here this sight cannot be looked for: the cluster is not ours to look into."""
        self.unseeable.add(name)

    # The cluster

    @property
    def is_outside(self) -> bool:
        """Whether the cluster is somebody else's: nothing of it can be broken or looked into."""
        return not self.cluster.brokers

    def param(self, name: str) -> int:
        return self.scenario.params[name]

    def create_topic(self, assignment: Mapping[int, list[int]] | None = None) -> None:
        """The scenario's topic; `assignment` says where replicas are, the leader first."""
        plan = self.scenario.topic
        self.cluster.create_topic(
            self.topic,
            plan.partitions,
            plan.replication,
            dict(plan.configs),
            assignment=assignment,
        )
        self.step(f"topic {self.topic}: {topic_text(self.scenario)}")

    def ring(self) -> dict[int, list[int]]:
        """Replicas of partition 0 on brokers 1 and 2, of 1 on 2 and 3, and so on."""
        brokers = sorted(self.cluster.brokers)
        plan = self.scenario.topic
        return {
            partition: [
                brokers[(partition + step) % len(brokers)] for step in range(plan.replication)
            ]
            for partition in range(plan.partitions)
        }

    def view(self) -> dict[int, PartitionView]:
        return self.cluster.view(self.topic)

    def wait_view(
        self, condition: Callable[[dict[int, PartitionView]], bool], what: str
    ) -> dict[int, PartitionView]:
        """The first description of the topic for which the condition holds."""
        last: dict[int, PartitionView] = {}

        def holds() -> bool:
            nonlocal last
            last = self.view()
            return bool(last) and condition(last)

        self.cluster.wait(holds, PATIENCE_S, what)
        return last

    def end_of(self, partition: int) -> int:
        """Where consumers come to the end of a partition, as soon as somebody says."""
        view = self.wait_view(
            lambda view: view[partition].end_offset is not None, f"the end of {partition}"
        )
        return view[partition].end_offset or 0

    def moment(self, when: Condition) -> None:
        """Until the condition has held once."""
        self.cluster.faults.at(when, lambda: None).wait_hits(1, timeout_s=PATIENCE_S)

    def at(self, when: Condition, action: Callable[[], object], text: str) -> Fault:
        """Break something at the moment when the condition first holds."""

        def act() -> None:
            action()
            self.fault(text)

        return self.cluster.faults.at(when, act, text)

    # Programs

    def producer(self, **changes: str) -> Program:
        """Starts a producer with the scenario's options; `changes` has underscores for dashes."""
        records = int(self.scenario.producer.get("num-rolls", "1")) * int(
            self.scenario.producer.get("num-records-per-roll", "100")
        )
        numbers = {"first-number": str(self._next_key)}
        self._next_key += records
        return self._start("producer", {**self.scenario.producer, **numbers}, changes)

    def consumer(self, **changes: str) -> Program:
        """Starts a consumer of the scenario's group."""
        options = {"group-id": self.group, **self.scenario.consumer}
        return self._start("consumer", options, changes)

    def _start(self, side: str, options: Mapping[str, str], changes: Mapping[str, str]) -> Program:
        number = 1 + sum(program.name.startswith(side) for program in self.programs)
        name = f"{side}-{number}"
        path = self.folder / f"{name}.jsonl"
        given = {
            "bootstrap-server": self.cluster.bootstrap,
            "topic": self.topic,
            "journal": str(path),
            "name": name,
            "local-id": str(number),
            "log-dir": str(self.folder / side),
            **options,
            **{key.replace("_", "-"): value for key, value in changes.items()},
        }
        program = Program(side, name, given, self.folder, self.ledger.open(path))
        self.programs.append(program)
        self.step(f"{name} starts")
        return program

    def produce(self, **changes: str) -> Program:
        """A producer from its start to its end."""
        program = self.producer(**changes)
        self.finish(program)
        return program

    def finish(self, producer: Program, *, enough: bool = False) -> None:
        """Waits until a producer has ended: by itself, or because it is told that it is enough.

        One that has to outlast what is done to the cluster has more to send than it ever will.
        """
        if enough:
            sent = self.ledger.refresh().sent
            self.wait(
                lambda counts: counts.acked.total() + counts.failed >= sent,
                f"{sent:,} records to be answered",
            )
            producer.stop()
        else:
            producer.wait(PATIENCE_S)
        counts = self.ledger.refresh()
        self.step(f"{producer.name} is done: {counts.acked.total():,} records acknowledged")

    def wind_up(self, producer: Program) -> None:
        """The cluster is whole again, the producer has sent enough, and everything is read."""
        self.cluster.wait_in_sync(self.topic, PATIENCE_S)
        self.finish(producer, enough=True)
        self.read_all()

    def read_all(self, *consumers: Program) -> None:
        """Until the consumers have had everything that is in the topic; then they leave."""
        readers = consumers or (self.consumer(),)
        ends = {
            index: partition.end_offset or 0
            for index, partition in self.wait_view(
                lambda view: all(each.end_offset is not None for each in view.values()),
                "the end of every partition",
            ).items()
        }
        starts = {index: each.start_offset or 0 for index, each in self.view().items()}

        def has_all(counts: Counts) -> bool:
            return all(
                counts.reached.get(index, starts.get(index, 0)) >= end
                for index, end in ends.items()
            )

        self.wait(has_all, f"consumers to reach {ends}")
        for reader in readers:
            reader.stop()

    def wait(self, condition: Callable[[Counts], bool], what: str) -> None:
        """Until what clients have logged makes the condition true."""

        def holds() -> bool:
            for program in self.programs:
                program.check()
            return condition(self.ledger.counts)

        if not self.ledger.wait(holds, PATIENCE_S):
            raise StageError(f"it did not happen in {PATIENCE_S:.0f} s: {what}")

    def end_programs(self) -> None:
        """Whatever still runs is killed; for the end of a run, however it ended."""
        for program in self.programs:
            if program.status is None:
                program.kill()


__all__ = ["PATIENCE_S", "ProgramError", "Stage", "StageError"]
