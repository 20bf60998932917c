"""The lab's programs as people run them, their journals followed, and what comes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from eventually import eventually

from barnabas.lab.programs.journaling import JournalReader, read_journals
from barnabas.lab.verdict.journal import Event, What, history_of
from barnabas.lab.verdict.judging import Verdict, judge

COMMAND = (sys.executable, "-m", "barnabas.cli.main")
TIMEOUT_S = 120


class Program:
    """One producer or consumer in a process of its own."""

    def __init__(self, folder: Path, side: str, name: str, arguments: list[str]) -> None:
        self.journal_path = folder / f"{name}.journal"
        self._reader = JournalReader(self.journal_path)
        self._events: list[Event] = []
        self._output = (folder / f"{name}.out").open("ab+")
        command = [*COMMAND, "lab", side, "--name", name, "--journal", str(self.journal_path)]
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=folder, stdout=self._output, stderr=subprocess.STDOUT
        )

    def events(self, what: What) -> list[Event]:
        """All of a kind so far."""
        self._events += self._reader.new()
        return [event for event in self._events if event.event is what]

    def await_event(self, what: What, *, count: int = 1) -> list[Event]:
        """Once there are so many of them."""

        def enough() -> list[Event]:
            found = self.events(what)
            if len(found) < count:
                assert self.process.poll() is None, f"ended before {what}: {self.output()}"
                return []
            return found

        return eventually(enough, timeout_s=TIMEOUT_S, what=f"{count} of {what}")

    def output(self) -> str:
        self._output.seek(0)
        return self._output.read().decode()

    def wait(self) -> int:
        """Its exit status, once it ends by itself."""
        return self.process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def discard(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self._output.close()


class LabPrograms:
    """Programs of one lab: a folder, a cluster, a topic.  Use as a context manager."""

    def __init__(self, folder: Path, bootstrap: str, topic: str) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        self.topic = topic
        self.group = f"{topic}-app"
        self.silence_ms = 3000
        """After this long without a record a consumer may take it that there are no more."""
        self._started: list[Program] = []

    def __enter__(self) -> LabPrograms:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._started:
            program.discard()

    def producer(self, name: str = "producer", **options: object) -> Program:
        """Options with underscores for dashes."""
        return self._start("producer", name, options)

    def consumer(self, name: str = "consumer", **options: object) -> Program:
        return self._start(
            "consumer",
            name,
            {"group_id": self.group, "auto_offset_reset": "earliest", **options},
        )

    def _start(self, side: str, name: str, options: dict[str, object]) -> Program:
        told = {"bootstrap_server": self.bootstrap, "topic": self.topic, **options}
        arguments = [f"--{key.replace('_', '-')}={value}" for key, value in told.items()]
        program = Program(self.folder, side, name, arguments)
        self._started.append(program)
        return program

    def produce(self, **options: object) -> None:
        """All records, to the end."""
        program = self.producer(**options)
        assert program.wait() == 0, program.output()

    def consume(self, name: str = "consumer", **options: object) -> Program:
        """Until nothing more comes."""
        program = self.consumer(name, **{"idle_exit": self.silence_ms, **options})
        assert program.wait() == 0, program.output()
        return program

    def steer(self, word: str) -> None:
        """A message that steers whoever reads it."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        producer.produce(self.topic, word)
        assert producer.flush(TIMEOUT_S) == 0

    def consume_all(self, name: str = "consumer", **options: object) -> Program:
        """All that is there: `quit` is put behind it.  Of a topic with one partition: else some of
        another one could come after that message.
        """
        self.steer("quit")
        program = self.consumer(name, **options)
        assert program.wait() == 0, program.output()
        return program

    def lab(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of the helpers, in the lab's folder."""
        return subprocess.run(
            [*COMMAND, "lab", *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )

    def verdict(self) -> Verdict:
        """By the journals of all programs."""
        return judge(history_of(read_journals({each.journal_path for each in self._started})))

    def await_processed(
        self, enough: Callable[[set[str | None]], bool], *programs: Program
    ) -> None:
        """Until the keys that these programs have processed are enough."""

        def keys() -> set[str | None]:
            return {
                key
                for program in programs
                for event in program.events(What.PROCESSED)
                for key in event.keys
            }

        eventually(lambda: enough(keys()), timeout_s=TIMEOUT_S, what="records processed")


def freeze(process_id: int) -> None:
    """The process does nothing any more, and nobody is told."""
    os.kill(process_id, signal.SIGSTOP)


def thaw(process_id: int) -> None:
    os.kill(process_id, signal.SIGCONT)
