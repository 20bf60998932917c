"""One node of a lab's cluster: a process, and the gates in front of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.lab.cluster.process import NodeProcess
from barnabas.lab.cluster.steering import Steering
from barnabas.lab.faults.disk_state import DiskState, Felt

if TYPE_CHECKING:
    from barnabas.lab.faults.gate import Gate
    from barnabas.lab.faults.relays import Relays

STARTED = " started: "
STOP_S = 60.0


class LabBroker:
    """A broker (or the controller).  Its address and its data stay when it is started again.

    In the action of a trigger (`Faults.at`) it may be stopped, killed, frozen and thawed.
    """

    def __init__(
        self,
        node: int,
        folder: Path,
        *,
        name: str,
        properties: Path,
        relays: Relays,
        gates: Sequence[Gate],
        port: int,
    ) -> None:
        """`gates`: the one for clients first.  `port`: where the node itself listens for them."""
        self.id = node
        self.name = name
        self.folder = folder
        """Its data."""
        self.direct = ("127.0.0.1", port)
        """Around the gates: for looking at it, and not for clients."""
        self._properties = properties
        self._relays = relays
        self._gates = gates
        self._output: list[str] = []
        self._process: NodeProcess | None = None
        self._steering: Steering | None = None
        self._is_frozen = False
        self._is_asked_to_stop = False
        self._disk = DiskState()
        self.on_disk_felt: Callable[[Felt], None] = lambda felt: None
        """Told each time the node has felt a disk that is slow or full."""

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "running" if self.running else "down"
        return f"<{self.name} at {self.address}, {state}>"

    @property
    def address(self) -> str:
        """Where clients connect, as host:port: a relay's."""
        return self._gates[0].address

    @property
    def running(self) -> bool:
        """The process is there, frozen or not."""
        return self._process is not None and self._process.is_running

    @property
    def frozen(self) -> bool:
        return self.running and self._is_frozen

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.popen.pid

    @property
    def log(self) -> str:
        """All that it has printed since the cluster was made."""
        return "".join(self._output)

    # -- life and death

    def start(self, *, wait: bool = True, timeout_s: float = 60.0) -> None:
        """Start it; return when it serves, or at once without `wait`."""
        self._refuse_in_trigger("start")
        assert not self.running, f"{self.name} runs already"
        self.close()  # what is left of its last run: the gates are shut by now
        for gate in self._gates:
            self._relays.open(gate)
        steering = self._steering = Steering(self._felt_disk)
        descriptor = steering.theirs.fileno()
        command = [sys.executable, "-m", "barnabas.lab.node", str(self._properties)]
        command += ["--steering", str(descriptor), "--disk", self._disk.line().decode().strip()]
        process = self._process = NodeProcess.start(
            self.name,
            command,
            output=self._output,
            is_ready_line=lambda line: STARTED in line,
            on_end=lambda: self._ended(process),
            keep=(descriptor,),
        )
        steering.theirs.close()
        self._is_frozen = self._is_asked_to_stop = False
        if wait:
            self.await_started(timeout_s)

    def await_started(self, timeout_s: float = 60.0) -> None:
        """After `start(wait=False)`: return when it serves."""
        assert self._process is not None, f"{self.name} was never started"
        self._process.await_ready(timeout_s)

    def stop(self, timeout_s: float = STOP_S, *, wait: bool = True) -> None:
        """An orderly end (TERM): it hands over what it leads first.

        Without `wait`, and in the action of a trigger, it is only asked to.  TimeoutError, and a
        kill, if it does not end in time.
        """
        self.thaw()
        # It says goodbye through the relays: waiting on their thread would keep it from that.
        self._end(signal.SIGTERM, timeout_s, wait=wait and not self._relays.is_own_thread)

    def kill(self) -> None:
        """KILL.  When this returns it is gone, and connecting to it is refused.

        What it had said and nobody had heard yet is gone too, as when a machine goes: nothing of it
        arrives after this moment.
        """
        self._end(signal.SIGKILL, STOP_S)
        self._relays.drop_all_of(self.id)

    def restart(self, timeout_s: float = 60.0) -> None:
        """`stop` if it runs, then `start`."""
        self._refuse_in_trigger("restart")
        if self.running:
            self.stop(timeout_s)
        self.start(timeout_s=timeout_s)

    def freeze(self) -> None:
        """STOP: it does nothing, and its connections stay."""
        assert self._process is not None, f"{self.name} was never started"
        self._process.signal(signal.SIGSTOP)
        self._is_frozen = True

    def thaw(self) -> None:
        """CONT.  One that is not frozen notices nothing."""
        if self._process is not None and self._is_frozen:
            self._process.signal(signal.SIGCONT)
        self._is_frozen = False

    def revive(self) -> None:
        """Have it run, whatever was done to it: thawed, started if it is down.  One that was asked
        to stop ends first.
        """
        self.thaw()
        if self._process is not None and self._is_asked_to_stop:
            self._process.join(STOP_S)
        if not self.running:
            self.start()

    def _end(self, how: signal.Signals, timeout_s: float, *, wait: bool = True) -> None:
        process = self._process
        if process is None or not process.is_running:
            return
        process.signal(how)
        if not wait:
            self._is_asked_to_stop = True
            return
        try:
            process.join(timeout_s)
        except TimeoutError:
            process.signal(signal.SIGKILL)
            process.join(STOP_S)
            raise
        finally:
            self._shut()

    def _ended(self, process: NodeProcess) -> None:
        """By itself, perhaps.  On a thread of the process that has ended."""
        if self._process is process:
            self._shut()

    def _shut(self) -> None:
        for gate in self._gates:
            self._relays.shut(gate)

    def close(self) -> None:
        """After the end of the process: give back what it had."""
        if self._process is not None:
            self._process.reader.join()
        self._end_steering()

    def _refuse_in_trigger(self, what: str) -> None:
        if self._relays.is_own_thread:
            raise RuntimeError(f"a trigger cannot {what} a broker: it would wait for itself")

    # -- its disk

    def set_disk(self, state: DiskState, timeout_s: float = 30.0) -> None:
        """What its disk is like from now on, and after it is started again."""
        self._disk = state
        if self._steering is not None and self.running:
            waits = not self.frozen and not self._relays.is_own_thread
            self._steering.steer(state, timeout_s=timeout_s if waits else None)

    def _felt_disk(self, felt: Felt) -> None:
        self.on_disk_felt(felt)

    def _end_steering(self) -> None:
        if self._steering is not None:
            self._steering.close()
            self._steering = None
