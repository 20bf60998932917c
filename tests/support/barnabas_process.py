"""A broker in a process of its own, as users run it: started, awaited, stopped by whoever asked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

STARTED = re.compile(r"started: .*?//(?P<host>\[.+?\]|[^:\s]+):(?P<port>\d+)")


class BarnabasProcess:
    """`barnabas start` with a data directory and a free port.  Use as a context manager."""

    def __init__(
        self,
        data_dir: Path,
        *overrides: str,
        listen: str = "127.0.0.1:0",
        wrapper: tuple[str, ...] = (),
    ) -> None:
        self.data_dir = data_dir
        self.overrides = overrides
        self.listen = listen
        self.wrapper = wrapper
        self.output: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> BarnabasProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def command(self) -> list[str]:
        command = [*self.wrapper, sys.executable, "-m", "barnabas.cli.main", "start"]
        command += ["--data-dir", str(self.data_dir), "--listen", self.listen]
        for override in self.overrides:
            command += ["--override", override]
        return command

    def start(self, *, same_port: bool = False, timeout_s: float = 60) -> None:
        """Start and wait for the line that says it is ready."""
        if same_port:
            self.listen = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            self.command(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._is_ready = False
        settled = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self.process, settled))
        self._reader.start()
        settled.wait(timeout_s)
        if not self._is_ready:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            raise RuntimeError(f"the broker did not start:\n{self.log}")

    def _read(self, process: subprocess.Popen[bytes], settled: threading.Event) -> None:
        """Keep what it prints, so that its pipe never fills; notice the ready line."""
        assert process.stdout is not None
        with process.stdout as stdout:
            for line in stdout:
                text = line.decode(errors="replace")
                self.output.append(text)
                found = STARTED.search(text)
                if found:
                    self.port = int(found["port"])
                    self._is_ready = True
                    settled.set()
        settled.set()

    def stop(self, *, timeout_s: float = 30) -> str:
        """Ask for a clean shutdown; everything it has printed."""
        self._end(signal.SIGTERM, timeout_s)
        assert self.process is not None
        if self.process.returncode != 0:
            raise RuntimeError(f"exit status {self.process.returncode}:\n{self.log}")
        return self.log

    def kill(self) -> str:
        self._end(signal.SIGKILL, 30)
        return self.log

    def _end(self, how: signal.Signals, timeout_s: float) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join()

    @property
    def log(self) -> str:
        return "".join(self.output)
