"""Our own broker, installed in the virtual environment that runs the tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from harness.brokers import Broker
from harness.processes import Child, free_port

STARTED = re.compile(r"started\b.*?((?:\d+\.){3}\d+:\d+)")
BIN = Path(sys.executable).parent


class BarnabasBroker(Broker):
    """`barnabas start` on port 0; the port comes from its own `started` line."""

    name = "barnabas"

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        fixed_port: bool = False,
        ulimit_files: int | None = None,
    ) -> None:
        """`fixed_port`: choose the port beforehand, to be able to ask from the first moment."""
        super().__init__(folder, settings)
        self.fixed_port = fixed_port
        self.ulimit_files = ulimit_files

    def start(self) -> None:
        command = [str(BIN / "barnabas"), "start", "--data-dir", str(self.data_dir)]
        listen = f"127.0.0.1:{free_port() if self.fixed_port else 0}"
        command += ["--listen", listen]
        for name, value in {"node.id": "1", **self.settings}.items():
            command += ["--override", f"{name}={value}"]
        if self.ulimit_files is not None:
            command = ["sh", "-c", f'ulimit -n {self.ulimit_files}; exec "$@"', "sh", *command]
        log_path = self.folder / "broker.log"
        log_path.unlink(missing_ok=True)  # the address must be this start's, not the last one's
        self.child = Child(command, log_path=log_path, cwd=self.folder)
        self.bootstrap = listen
        is_up = self.answers if self.fixed_port else self._is_up
        self.ready_after = self.child.wait_until(is_up, what="Metadata answer", seconds=60)

    def _is_up(self) -> bool:
        found = STARTED.search(self.child.log_text())
        if found is None:
            return False
        self.bootstrap = found[1]
        return self.answers()
