"""A ZooKeeper for one lab's cluster: the distribution's, started as users start it."""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from barnabas.lab.cluster.process import DidNotStart, NodeProcess
from barnabas.lab.cluster.settings import ZOOKEEPER_ROOT
from barnabas.lab.faults.gate import HOST, Port

TICK_MS = 200
"""Sessions may then be as short as two ticks."""
POLL_S = 0.05
ASK_S = 5.0
ELECTED_S = 60.0
END_S = 30.0


class LabZooKeeper:
    """`start`, then `close`; killed, it may be started again.  Its data is in `folder`."""

    name = "ZooKeeper"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = Port()
        self._output: list[str] = []
        self._process: NodeProcess | None = None

    def start(self, *, wait: bool = True, timeout_s: float = 60.0) -> None:
        """Start it; return when it serves, or at once without `wait`."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        file = self.folder / "zookeeper.properties"
        file.write_text(
            f"dataDir={self.folder}/data\nclientPort={self.port.number}\n"
            f"clientPortAddress={HOST}\ntickTime={TICK_MS}\nmaxSessionTimeout=60000\n"
        )
        self._process = NodeProcess.start(
            self.name,
            [sys.executable, "-m", "barnabas.cli.main", "zookeeper-server-start", str(file)],
            output=self._output,
            is_ready_line=lambda line: False,
            on_end=lambda: None,
        )
        if wait:
            self.await_started(timeout_s)

    def await_started(self, timeout_s: float = 60.0) -> None:
        """It says nothing when it is ready: it must be asked."""
        assert self._process is not None, "it was never started"
        give_up = time.monotonic() + timeout_s
        while not self._answers():
            if not self._process.is_running or time.monotonic() > give_up:
                raise DidNotStart(f"ZooKeeper did not start:\n{''.join(self._output[-40:])}")
            time.sleep(POLL_S)

    def kill(self) -> None:
        """KILL; its data stays."""
        if self._process is not None:
            self._process.signal(signal.SIGKILL)
            self._process.join(END_S)
            self._process.reader.join()

    def freeze(self) -> None:
        """STOP: it neither answers nor goes away."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """CONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "it was never started"
        self._process.signal(number)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port.number), timeout=ASK_S) as sock:
                sock.sendall(b"srvr")
                return b"Mode:" in b"".join(iter(lambda: sock.recv(4096), b""))
        except OSError:
            return False

    def controller(self) -> int:
        """The broker that is the controller now; TimeoutError if none is in time."""
        client = KazooClient(f"{HOST}:{self.port.number}")
        client.start(timeout=ASK_S)
        try:
            give_up = time.monotonic() + ELECTED_S
            while time.monotonic() < give_up:
                with suppress(NoNodeError):
                    data, _ = client.get(f"{ZOOKEEPER_ROOT}/controller")
                    return int(json.loads(data)["brokerid"])
                time.sleep(POLL_S)
        finally:
            client.stop()
            client.close()
        raise TimeoutError(f"no broker was elected controller in {ELECTED_S} s")

    def close(self) -> None:
        self.kill()
        self.port.close()
