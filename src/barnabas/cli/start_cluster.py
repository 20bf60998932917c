"""`barnabas start --brokers N`: one controller and N brokers on this machine, in one command.

Each is a process of its own; this one starts them, shows what they print in one log, and stops them
in order: the brokers, which tell the controller that they leave, then the controller.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.options import UsageError

if TYPE_CHECKING:
    from types import FrameType

CONTROLLER_ID = 3000
STOP_S = 60.0
"""A process that has not stopped by then is killed."""

OURS = frozenset(
    """
    node.id broker.id process.roles listeners advertised.listeners log.dirs log.dir metadata.log.dir
    controller.listener.names controller.quorum.bootstrap.servers controller.quorum.voters
    zookeeper.connect
    """.split()  # noqa: SIM905 (read as text, a name a word)
)
"""Settings that differ between the processes, or that tie them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for."""

    brokers: int
    data_dir: str
    listen: str
    """Of the first broker, as host:port."""
    config: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    log_level: str = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process: its name in the log, and what it is told."""

    name: str
    arguments: tuple[str, ...]


def controller_part(wanted: Wanted) -> Part:
    """The controller listens behind the ports of the brokers."""
    host, port = _place(wanted.listen)
    listener = f"CONTROLLER://{host}:{port + wanted.brokers if port else 0}"
    return _part(
        wanted,
        "controller",
        {"process.roles": "controller", "node.id": str(CONTROLLER_ID), "listeners": listener},
    )


def broker_part(wanted: Wanted, number: int, controller: str) -> Part:
    """Broker `number`, of the controller at that host:port."""
    host, port = _place(wanted.listen)
    return _part(
        wanted,
        f"broker-{number}",
        {
            "process.roles": "broker",
            "node.id": str(number),
            "listeners": f"PLAINTEXT://{host}:{port + number if port else 0}",
            "controller.quorum.bootstrap.servers": controller,
        },
    )


def _part(wanted: Wanted, name: str, settings: dict[str, str]) -> Part:
    clash = sorted(OURS & wanted.overrides.keys())
    if clash:
        raise UsageError(f"--override {clash[0]} is for one broker, not for --brokers")
    settings |= {
        "log.dirs": str(Path(wanted.data_dir) / name),
        "controller.listener.names": "CONTROLLER",
        **wanted.overrides,
    }
    arguments = ["--log-level", wanted.log_level]
    if wanted.config is not None:
        arguments += ["--config", wanted.config]
    for key, value in settings.items():
        arguments += ["--override", f"{key}={value}"]
    return Part(name=name, arguments=tuple(arguments))


def _place(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if "://" in listen or not colon or not (port.isascii() and port.isdigit()):
        raise UsageError(f'--listen: "{listen}" is not host:port')
    return host, int(port)


# Processes.


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: to a process, or, without one, to us."""

    kind: str
    """`started`, `ended`, or `stop` for a signal."""
    child: Child | None = None


class Child:
    """A process that was started, and a thread that passes on what it prints."""

    def __init__(self, part: Part, events: SimpleQueue[Event]) -> None:
        self.name = part.name
        self.address = ""
        """Where it listens, once it has started."""
        self._events = events
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "barnabas.cli.main", "start", *part.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "BARNABAS_STOP_WITH": str(os.getpid())},
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the parent, which stops them in order
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                print(f"{self.name:<10} | {line}", end="", flush=True)
                if " started: " in line and not self.address:
                    self.address = line.partition("://")[2].partition(",")[0].strip()
                    self._events.put(Event("started", self))
        self._process.wait()
        self._events.put(Event("ended", self))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def join(self, timeout_s: float) -> bool:
        """Whether it has ended, and all that it printed is shown."""
        self._reader.join(timeout_s)
        return not self._reader.is_alive()


class Cluster:
    """The processes of one cluster; `run` returns the exit status."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._children: list[Child] = []
        self._interrupts = 0

    def run(self) -> int:
        before = [signal.signal(number, self._interrupted) for number in _SIGNALS]
        try:
            return self._run()
        finally:
            for number, handler in zip(_SIGNALS, before, strict=True):
                signal.signal(number, handler)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """The second time somebody has no patience."""
        self._interrupts += 1
        self._events.put(Event("stop"))
        if self._interrupts > 1:
            self._signal_all(signal.SIGKILL)

    def _run(self) -> int:
        began = time.monotonic()
        status = 1
        try:
            if self._start():
                listed = ",".join(child.address for child in self._children[1:])
                self._say(
                    f"ready: {self._wanted.brokers} brokers, --bootstrap-server {listed}, "
                    f"data in {self._wanted.data_dir}, {time.monotonic() - began:.2f} s"
                )
                status = self._watch()
        finally:
            self._stop()
        return status

    def _start(self) -> bool:
        """The controller, then the brokers at once; False if that was not to be."""
        if not self._start_all([controller_part(self._wanted)]):
            return False
        controller = self._children[0].address
        return self._start_all(
            [broker_part(self._wanted, n, controller) for n in range(self._wanted.brokers)]
        )

    def _start_all(self, parts: Sequence[Part]) -> bool:
        started = [Child(part, self._events) for part in parts]
        self._children += started
        awaited = set(started)
        while awaited:
            event = self._events.get()
            if event.kind != "started":
                if event.child is not None:
                    self._say(f"{event.child.name} did not start")
                return False
            assert event.child is not None
            self._say(f"{event.child.name}: process {event.child.pid}, {event.child.address}")
            awaited.discard(event.child)
        return True

    def _watch(self) -> int:
        """Until we are told to stop, or nobody is left; 0 if nobody died."""
        status = 0
        while any(child.status is None for child in self._children[1:]):
            event = self._events.get()
            if event.kind == "stop":
                return status
            if event.child is not None and event.kind == "ended":
                status = 1
                self._say(f"{event.child.name} has ended: {_ending(event.child.status)}")
        self._say("no broker is left")
        return 1

    def _stop(self) -> None:
        give_up = time.monotonic() + STOP_S
        for group in (self._children[1:], self._children[:1]):
            for child in group:
                child.signal(signal.SIGTERM)
            for child in group:
                if not child.join(max(0.0, give_up - time.monotonic())):
                    self._say(f"{child.name} does not stop: killed")
                    child.signal(signal.SIGKILL)
                    child.join(STOP_S)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._children:
            child.signal(number)

    @staticmethod
    def _say(text: str) -> None:
        print(f"{'cluster':<10} | {text}", flush=True)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def run_cluster(wanted: Wanted) -> int:
    """Start it, keep it until a signal comes, stop it; the exit status."""
    if (Path(wanted.data_dir) / "meta.properties").exists():
        raise CommandError(
            f"{wanted.data_dir} has the data of a single broker: give a cluster another --data-dir"
        )
    controller_part(wanted)  # a wrong option is told before anything starts
    return Cluster(wanted).run()
