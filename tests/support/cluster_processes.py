"""A cluster as users run it: one controller process and some broker processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas_process import BarnabasProcess

CONTROLLER_ID = 100
QUICK = (
    "controller.quorum.request.timeout.ms=1000",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "group.initial.rebalance.delay.ms=0",
)
"""Small internal topics: most tests do not use them."""


class ClusterProcesses:
    """`controller` and `brokers` (by id, from 0 on) are started; whoever made them stops them."""

    def __init__(self, path: Path, *overrides: str) -> None:
        self._path = path
        self._overrides = (*QUICK, *overrides)
        self.brokers: dict[int, BarnabasProcess] = {}
        self.controller = BarnabasProcess(
            path / "controller",
            "process.roles=controller",
            f"node.id={CONTROLLER_ID}",
            "controller.listener.names=CONTROLLER",
            "listeners=CONTROLLER://127.0.0.1:0",
            *self._overrides,
        )

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def broker(self, number: int, *overrides: str, data: str | None = None) -> BarnabasProcess:
        """A broker that is not started yet."""
        return BarnabasProcess(
            self._path / (data or f"broker-{number}"),
            "process.roles=broker",
            f"node.id={number}",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.bootstrap.servers=127.0.0.1:{self.controller.port}",
            *self._overrides,
            *overrides,
        )

    def start_controller(self) -> None:
        """The first time, or again where it was."""
        if self.controller.port:
            place = f"listeners=CONTROLLER://127.0.0.1:{self.controller.port}"
            self.controller.overrides = (*self.controller.overrides, place)
        self.controller.start()


@contextmanager
def cluster(path: Path, *overrides: str, brokers: int = 3) -> Iterator[ClusterProcesses]:
    """Started, and stopped in the end: brokers first, as they want to tell the controller."""
    made = ClusterProcesses(path, *overrides)
    with ExitStack() as stack:
        stack.callback(_stop, made.controller)
        made.start_controller()
        stack.callback(lambda: [_stop(broker) for broker in made.brokers.values()])
        for number in range(brokers):
            broker = made.brokers[number] = made.broker(number)
            broker.start()
        yield made


def _stop(process: BarnabasProcess) -> None:
    if process.process is not None and process.process.poll() is None:
        process.stop()
