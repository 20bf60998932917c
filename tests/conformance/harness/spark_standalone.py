"""A standalone Spark cluster on loopback: a master and workers, each a process."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Self

from harness.processes import Child

WORKERS = 2
START_S = 120
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"


class StandaloneSpark:
    """From the wheel, which has no scripts for it; use it as a context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._children: list[Child] = []
        self.master = ""

    def __enter__(self) -> Self:
        try:
            main = self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0")
            main.wait_until(lambda: self._found_master(main), what="master", seconds=START_S)
            for number in range(WORKERS):
                small = ("--cores", "1", "--memory", "600m", "--host", "127.0.0.1")
                worker = self._start(f"worker-{number}", "worker.Worker", *small, self.master)
                worker.wait_until(
                    lambda worker=worker: REGISTERED in worker.log_text(),
                    what="registration",
                    seconds=START_S,
                )
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self, name: str, main: str, *arguments: str) -> Child:
        import pyspark

        home = Path(pyspark.__file__).parent
        child = Child(
            [
                home / "bin" / "spark-class",
                f"org.apache.spark.deploy.{main}",
                *("--webui-port", "0"),
                *arguments,
            ],
            log_path=self._folder / f"{name}.log",
            cwd=self._folder,
            env={
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_WORKER_DIR": str(self._folder / name),
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
        )
        self._children.append(child)
        return child

    def _found_master(self, main: Child) -> bool:
        found = MASTER.search(main.log_text())
        if found is not None:
            self.master = found[1]
        return found is not None

    def stop(self) -> None:
        for child in self._children:
            child.kill()

    def __exit__(self, *_: object) -> None:
        self.stop()
