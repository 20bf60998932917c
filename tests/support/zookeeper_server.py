"""The distribution's ZooKeeper in a process of its own, started as users start it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from eventually import eventually

TICK_MS = 200
"""Sessions may then be as short as two ticks."""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class ZooKeeperServer:
    """One server.  Use as a context manager; `stop`, `kill` and `start` again keep its data."""

    def __init__(self, directory: Path, *, member: int = 0, ensemble: str = "") -> None:
        """`member`, `ensemble`: which of several servers it is, and the lines that name them."""
        self.directory = directory
        self._member = member
        self._ensemble = ensemble
        self.port = 0
        self.output: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ZooKeeperServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """On the same port as before; the first time, on one that is free."""
        for _ in range(5):
            self.port = self.port or free_port()
            if self._start():
                return
            if "Address already in use" not in self.log:
                break
            self.port = 0
        raise RuntimeError(f"ZooKeeper did not start:\n{self.log}")

    def _start(self) -> bool:
        (self.directory / "data").mkdir(parents=True, exist_ok=True)
        (self.directory / "data" / "myid").write_text(str(self._member))
        file = self.directory / "zookeeper.properties"
        file.write_text(
            f"dataDir={self.directory}/data\nclientPort={self.port}\n"
            f"clientPortAddress=127.0.0.1\ntickTime={TICK_MS}\nmaxSessionTimeout=60000\n"
            f"{self._ensemble}"
        )
        self.output = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli.main", "zookeeper-server-start", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "KAFKA_HEAP_OPTS": "-Xmx256M -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            },
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,))
        self._reader.start()
        eventually(lambda: self._answers() or self._has_ended(), timeout_s=60)
        if self._has_ended():
            self._reader.join()
            return False
        return True

    def _has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def _answers(self) -> bool:
        """Whether it serves.  Of an ensemble's member, whether it is there: the others may not."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as sock:
                sock.sendall(b"srvr")
                answer = b"".join(iter(lambda: sock.recv(4096), b""))
        except OSError:
            return False
        return b"Mode:" in answer or bool(self._member and answer)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """So that its pipe never fills."""
        assert process.stdout is not None
        with process.stdout as stdout:
            for line in stdout:
                self.output.append(line.decode(errors="replace"))

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(30)
        self._reader.join()

    def pause(self) -> None:
        """It neither answers nor goes away."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    @property
    def log(self) -> str:
        return "".join(self.output)


def ensemble(directory: Path, *, size: int = 3) -> list[ZooKeeperServer]:
    """Servers that replicate each other; whoever asks for them starts and stops them."""
    lines = "initLimit=20\nsyncLimit=20\n" + "".join(
        f"server.{number}=127.0.0.1:{free_port()}:{free_port()}\n" for number in range(1, size + 1)
    )
    return [
        ZooKeeperServer(directory / f"zookeeper-{number}", member=number, ensemble=lines)
        for number in range(1, size + 1)
    ]
