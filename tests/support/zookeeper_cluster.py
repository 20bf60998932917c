"""A cluster on ZooKeeper as users run it, and an independent look into ZooKeeper."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from barnabas_process import BarnabasProcess
from cluster_processes import QUICK
from eventually import eventually
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from zookeeper_server import ZooKeeperServer

PATH = "/kafka"
RETRY = {"max_tries": -1, "delay": 0.05, "max_delay": 0.5}


class ZooKeeperCluster:
    """`brokers` by id, from 0 on; any of them may be the controller."""

    def __init__(self, path: Path, zookeeper: ZooKeeperServer, *overrides: str) -> None:
        self.zookeeper = zookeeper
        self._path = path
        self._overrides = (*QUICK, *overrides)
        self.brokers: dict[int, BarnabasProcess] = {}
        # Named more than once: see `_hosts` of the broker's own sessions.
        self.client = KazooClient(",".join([zookeeper.address] * 6), connection_retry=RETRY)

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def broker(self, number: int, *overrides: str, data: str | None = None) -> BarnabasProcess:
        """A broker that is not started yet."""
        return BarnabasProcess(
            self._path / (data or f"broker-{number}"),
            f"broker.id={number}",
            f"zookeeper.connect={self.zookeeper.address}{PATH}",
            *self._overrides,
            *overrides,
        )

    def look(self, path: str) -> Any:
        """What stands there, as JSON; None if there is nothing."""
        try:
            data, _ = self.client.get(PATH + path)
        except NoNodeError:
            return None
        return json.loads(data)

    def controller(self) -> int:
        """The id of the controller, when there is one."""
        found = eventually(lambda: self.look("/controller"), what="a controller")
        number: int = found["brokerid"]
        return number

    def await_other_controller(self, than: int) -> int:
        eventually(lambda: self.controller() != than, what=f"a controller that is not {than}")
        return self.controller()


@contextmanager
def zookeeper_cluster(path: Path, *overrides: str, brokers: int = 3) -> Iterator[ZooKeeperCluster]:
    """Started, and stopped in the end, whatever was done to it meanwhile."""
    with ExitStack() as stack:
        zookeeper = stack.enter_context(ZooKeeperServer(path / "zookeeper"))
        made = ZooKeeperCluster(path, zookeeper, *overrides)
        made.client.start()
        stack.callback(made.client.close)
        stack.callback(made.client.stop)
        for number in range(brokers):
            broker = made.brokers[number] = made.broker(number)
            stack.callback(_end, broker)
            broker.start()
        yield made


def _end(process: BarnabasProcess) -> None:
    if process.process is not None and process.process.poll() is None:
        try:
            process.stop()
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"it did not stop:\n{process.log}") from None
