"""One consumer group under load, its members real clients in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from eventually import eventually
from group_ledger import Ledger, MemberState, Part
from quick_clients import connected

from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

HERE = Path(__file__).parent
PATIENCE_S = 60
TICK_S = 0.2
BURST = 5
"""Records for each partition in a tick."""

GROUP_RESOURCE = 32
SEED = int(os.environ.get("GROUP_SEED", "0")) or int.from_bytes(os.urandom(4), "big")
"""Of all that is left to chance; a failed test prints it, and GROUP_SEED repeats it."""

FREQUENT = frozenset({"records", "committing", "committed"})

Command = Callable[[], Sequence[str]]


def python_member(program: str) -> Command:
    return lambda: [sys.executable, str(HERE / program)]


PYTHON_LIBRARIES: Mapping[str, Command] = {
    "confluent": python_member("group_member_confluent.py"),
    "kafka-python": python_member("group_member_kafka_python.py"),
    "aiokafka": python_member("group_member_aiokafka.py"),
}


class Load:
    """Records for every partition, without a pause, until `stop`."""

    def __init__(self, bootstrap: str, parts: Iterable[Part]) -> None:
        self.ends: dict[Part, int] = {}
        """The offset after the last acknowledged record."""
        self.refused: list[str] = []
        self._parts = tuple(parts)
        settings = {"linger.ms": 5, "topic.metadata.refresh.interval.ms": 500}
        self._producer = Producer({"bootstrap.servers": bootstrap, **settings})
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def add(self, parts: Iterable[Part]) -> None:
        self._parts = (*self._parts, *parts)

    def _run(self) -> None:
        while not self._stopped.wait(TICK_S):
            for part in self._parts * BURST:
                self._send(part)
            self._producer.poll(0)

    def _send(self, part: Part) -> None:
        try:
            self._producer.produce(
                part[0], b"record", partition=part[1], on_delivery=self._delivered
            )
        except KafkaException as error:
            if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                raise  # else it is too new for librdkafka to have heard of it

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(error.str())
            return
        part = (message.topic(), message.partition())
        self.ends[part] = max(self.ends.get(part, 0), message.offset() + 1)

    def stop(self) -> None:
        """Nothing is under way any more afterwards."""
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0
        assert self.refused == []


class Crowd:
    """Starts members, ends them in every way, and waits for what their diaries say."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        group: str,
        parts: Iterable[Part],
        libraries: Mapping[str, Command] = PYTHON_LIBRARIES,
        **orders: Any,
    ) -> None:
        """`orders` are those that all members have in common."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.bootstrap = bootstrap
        self.group = group
        self.parts = set(parts)
        print(f"GROUP_SEED={SEED}")
        self.random = Random(SEED)
        self.ledger = Ledger()
        self._libraries = libraries
        self._orders = orders
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._numbers: dict[str, int] = {}
        self._journal_path = folder / "journal"
        self._journal_path.touch()
        self._read_to = 0
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        self.load = Load(self.bootstrap, sorted(self.parts))
        self._ending.callback(self._end_processes)
        self._ending.callback(self.load.stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def _end_processes(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start(self, library: str, *, instance: str | None = None, **orders: Any) -> str:
        """Start a member and return its name; it joins when it likes."""
        self._numbers[library] = self._numbers.get(library, 0) + 1
        name = f"{library}-{self._numbers[library]}"
        given: dict[str, Any] = {
            "name": name,
            "bootstrap": self.bootstrap,
            "group": self.group,
            "topics": sorted({topic for topic, _ in self.parts}),
            "protocol": "classic",
            "assignor": "range",
            "instance": instance,
            "session_ms": 30_000,
            "commit_every": self.random.randint(1, 4),
        }
        self._note(name, "started", instance=instance, library=library)
        with (
            self._journal_path.open("ab", buffering=0) as journal,
            (self.folder / f"{name}.log").open("wb") as log,
        ):
            self._processes[name] = subprocess.Popen(
                [*self._libraries[library](), json.dumps(given | self._orders | orders)],
                stdin=subprocess.PIPE,
                stdout=journal,
                stderr=log,
            )
        return name

    def _note(self, member: str, kind: str, **fields: Any) -> None:
        with self._journal_path.open("ab", buffering=0) as journal:
            journal.write(json.dumps({"m": member, "e": kind, **fields}).encode() + b"\n")

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self._processes[name]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self._note(name, "killed")
        self.look()

    def leave(self, *names: str) -> None:
        """In order, with a commit; returns when the processes have ended well."""
        for name in names:
            stdin = self._processes[name].stdin
            assert stdin is not None
            stdin.close()
        for name in names:
            status = self._processes[name].wait(PATIENCE_S)
            assert status == 0, f"{name} ended with {status}:\n{self._log_of(name)}"
        self.look()

    def look(self) -> Ledger:
        """Read what the diaries have new."""
        with self._journal_path.open("rb") as journal:
            journal.seek(self._read_to)
            new = journal.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.splitlines():
            self.ledger.take(json.loads(line))
        assert self.ledger.faults == [], "\n".join([*self.ledger.faults, *self._tail()])
        return self.ledger

    def _tail(self) -> list[str]:
        """The last lines on who has what; all is in the file."""
        lines = self._journal_path.read_text().splitlines()[: self.ledger.lines + 10]
        telling = [line for line in lines if json.loads(line)["e"] not in FREQUENT]
        return [f"{self._journal_path}:", *telling[-30:]]

    def member(self, name: str) -> MemberState:
        return self.look().members[name]

    def settle(self) -> None:
        """Wait until all partitions are shared by all, and everyone has read something since."""
        begun = self.look().lines
        self.wait(
            lambda ledger: (
                ledger.is_settled(self.parts)
                and all(member.last_read > begun for member in ledger.live.values())
            ),
            "a settled group",
        )

    def wait(self, condition: Callable[[Ledger], bool], what: str) -> None:
        """Until the diaries make the condition true."""

        def holds() -> bool:
            found = condition(self.look())
            for name in self.ledger.live:
                status = self._processes[name].poll()
                if status is not None and self.look().members[name].is_live:
                    raise AssertionError(f"{name} ended with {status}:\n{self._log_of(name)}")
            return found

        try:
            eventually(holds, timeout_s=PATIENCE_S, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from error

    def describe(self) -> str:
        """Where everyone is, and the end of every live member's log, for a failed wait."""
        rows = [
            f"{name}: generation {member.generation}, holds {sorted(member.holds)},"
            f" last read in line {member.last_read} of {self.ledger.lines},"
            f" errors {member.errors[-3:]}\n{self._log_of(name)}"
            for name, member in self.ledger.live.items()
        ]
        return "\n".join([*rows, *self._tail()])

    def _log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-1500:]

    def end_sessions_after(self, session_ms: int) -> None:
        """Newer protocol: the group's own session timeout."""
        setting = AlterableConfig(
            name="consumer.session.timeout.ms", value=str(session_ms), config_operation=0
        )
        resource = AlterConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=self.group, configs=[setting]
        )
        with connected(self.bootstrap) as client:
            answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert answer.responses[0].error_code == 0, answer.responses[0].error_message

    def grow(self, parts: Iterable[Part]) -> None:
        """These partitions are new, and get their share of the load."""
        new = set(parts) - self.parts
        self.parts |= new
        self.load.add(sorted(new))

    def finish(self) -> None:
        """End the load; all is read; all leave; every record was committed, says the broker too."""
        eventually(lambda: self.parts <= set(self.load.ends), what="records in all partitions")
        self.load.stop()
        ends = {part: self.load.ends[part] for part in self.parts}
        self.wait(
            lambda ledger: all(ledger.parts[part].seen_to == end for part, end in ends.items()),
            "everything read",
        )
        self.leave(*self.ledger.live)
        unread = self.look().unread(ends)
        assert unread == {}, unread
        found = committed(self.bootstrap, self.group, ends)
        assert found == ends, f"the broker has {found}, the members were told {ends}"
        if not self.ledger.forgives_refusals:
            thrown_out = [name for name, member in self.ledger.members.items() if member.losses]
            assert thrown_out == [], thrown_out


def committed(bootstrap: str, group: str, parts: Iterable[Part]) -> dict[Part, int]:
    """What the broker has for the group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        answers = consumer.committed([TopicPartition(*part) for part in parts], timeout=PATIENCE_S)
    finally:
        consumer.close()
    assert all(answer.error is None for answer in answers)
    return {(answer.topic, answer.partition): answer.offset for answer in answers}


def temporary_name(prefix: str) -> str:
    return f"{prefix}-{os.urandom(4).hex()}"
