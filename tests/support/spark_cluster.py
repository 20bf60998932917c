"""A Spark cluster of this machine: a master and workers as processes, on free ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

STARTED_S = 120.0


class SparkProcess:
    """`spark-class`, started, and awaited until it says what it is waited for."""

    def __init__(self, folder: Path, sign: str, *arguments: str) -> None:
        self._sign = re.compile(sign)
        self._settled = threading.Event()
        self.found = ""
        self.output: list[str] = []
        home = Path(pyspark.__file__).parent
        self.process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,
            },
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if not self._settled.wait(STARTED_S) or not self.found:
            self.stop()
            raise RuntimeError(f"{arguments[0]} did not start:\n{''.join(self.output)}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self.output.append(line)
                match = self._sign.search(line)
                if match and not self.found:
                    self.found = match[0]
                    self._settled.set()
        self._settled.set()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()


@contextmanager
def spark_cluster(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """The master's address, while it runs."""
    package = "org.apache.spark.deploy"
    with ExitStack() as stack:
        own = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = SparkProcess(folder, r"spark://127\.0\.0\.1:\d+", f"{package}.master.Master", *own)
        stack.callback(master.stop)
        for number in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            worker = SparkProcess(
                folder,
                "Successfully registered with master",
                *(f"{package}.worker.Worker", *own, *size, master.found),
            )
            stack.callback(worker.stop)
        yield master.found
