"""One simulated run: a cluster, clients at work, faults, a quiet end, and the verdict.

Everything that differs from run to run is drawn from the seed: settings, number of partitions, how
long it lasts, which faults come.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.lab.sim.checker import Violation, check
from barnabas.lab.sim.client import Client
from barnabas.lab.sim.consumer import Consumer
from barnabas.lab.sim.faults import FAULTS, Nemesis
from barnabas.lab.sim.history import History, Outcome
from barnabas.lab.sim.loop import Stuck
from barnabas.lab.sim.operator import Operator
from barnabas.lab.sim.probe import Probe
from barnabas.lab.sim.producer import Producer
from barnabas.lab.sim.transactor import Transactor
from barnabas.lab.sim.world import World
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from barnabas.controller.image import ClusterImage
    from barnabas.lab.sim.history import Partition
    from barnabas.lab.sim.world import SimHost

TOPIC = "work"
PROBE_S = 0.25
RECOVERY_S = 90.0
"""How long after the last fault everything must be as it was."""


@dataclass(slots=True)
class Report:
    """What came of a seed."""

    seed: int
    violations: list[Violation] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What the nemesis did."""
    acknowledged: int = 0
    polled: int = 0
    digest: int = 0
    seconds: float = 0.0
    """Of virtual time."""
    lines: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.violations

    @property
    def reproduce(self) -> str:
        return f"PYTHONHASHSEED=0 python -m barnabas.lab.sim --seed {self.seed} --verbose"


class Scenario:
    """Builds and runs the world of one seed.  `only`: the faults there are, if not all."""

    def __init__(self, seed: int, *, only: frozenset[str] = frozenset()) -> None:
        self.world = World(seed)
        self.random = Random(self.world.random.getrandbits(64))
        self.history = History()
        self.controllers: list[SimHost] = []
        self.brokers: list[SimHost] = []
        self._next_value = partial(next, itertools.count(1))
        self._build()
        self.probe = Probe(self.brokers, self._image)
        self.nemesis = Nemesis(
            self.world,
            brokers=self.brokers,
            controllers=self.controllers,
            in_sync=self._in_sync,
            faults=only or self._possible_faults(),
        )

    def _build(self) -> None:
        """A controller and three brokers; or three brokers and ZooKeeper; or a single node."""
        random, seed = self.random, self.world.seed
        self._kind = kind = (
            "single" if seed % 10 == 0 else "zookeeper" if seed % 3 == 0 else "controller"
        )
        self.replication_factor = 1 if kind == "single" else 3
        self._transactors = range(random.choice((0, 0, 1, 2)))
        self.partitions = [(TOPIC, index) for index in range(random.randint(1, 3))]
        common = {
            "log.dirs": "/data",
            "log.roll.ms": str(random.choice((1_500, 10_000, 3_600_000))),
            "replica.high.watermark.checkpoint.interval.ms": str(random.choice((200, 5000))),
            "log.flush.offset.checkpoint.interval.ms": str(random.choice((1000, 60_000))),
        }
        if kind != "single":
            common |= {
                "broker.heartbeat.interval.ms": "500",
                "broker.session.timeout.ms": str(random.choice((2_000, 5_000))),
                "replica.lag.time.max.ms": str(random.choice((1_500, 10_000))),
                "min.insync.replicas": "2",
                "offsets.topic.num.partitions": "2",
                "transaction.state.log.num.partitions": "2",
            }
        if kind == "zookeeper":
            common["zookeeper.connect"] = "zookeeper:2181"
            common["zookeeper.session.timeout.ms"] = str(random.choice((2_000, 6_000)))
        elif kind == "controller":
            common["controller.listener.names"] = "CONTROLLER"
            common["controller.quorum.bootstrap.servers"] = "controller:9093"
            own = {"process.roles": "controller", "node.id": "100"}
            own["listeners"] = "CONTROLLER://controller:9093"
            self.controllers.append(self.world.add("controller", common | own))
            common["process.roles"] = "broker"
        # An operator needs a broker more than there are replicas, to move them to.
        self._operators = 0 if kind == "single" else random.choice((0, 0, 1))
        for number in range(1, 2 if kind == "single" else 4 + self._operators):
            name = f"broker{number}"
            own = {"node.id": str(number), "listeners": f"PLAINTEXT://{name}:9092"}
            self.brokers.append(self.world.add(name, common | own))

    def _possible_faults(self) -> frozenset[str]:
        return frozenset(FAULTS) - (set() if self._kind == "zookeeper" else {"zookeeper outage"})

    def run(self) -> Report:
        with self.world as world:
            report = Report(world.seed)
            try:
                world.run(self._run())
            except Stuck as stuck:
                world.fault(str(stuck))
            report.violations = [
                *(Violation("fault inside", fault) for fault in world.faults[:10]),
                *self.probe.violations,
                *check(self.history),
            ]
            report.faults = self.nemesis.done
            report.acknowledged = sum(
                each.outcome is Outcome.ACKNOWLEDGED for each in self.history.sent
            )
            report.polled = sum(len(each.records) for each in self.history.polled)
            report.digest, report.seconds = world.network.digest, world.elapsed
            report.lines = world.lines
            return report

    async def _run(self) -> None:
        loop = self.world.loop
        for host in (*self.controllers, *self.brokers):
            host.start()
        looking = loop.create_task(self._look())
        await self._create_topic()
        until = loop.time() + self.random.uniform(8, 25)
        work = [
            *(self._client(f"producer{i}", self._produce(p, until)) for i, p in self._numbered()),
            *(self._client(f"consumer{i}", self._consume(p, until)) for i, p in self._numbered()),
            *(self._client(f"transactor{i}", self._transact(i, until)) for i in self._transactors),
            *(self._client("operator", self._operate(until)) for _ in range(self._operators)),
            *(loop.create_task(self.nemesis.run(until)) for _ in range(self.random.randint(1, 3))),
        ]
        for task in work:
            await task
        await self.nemesis.heal_all()
        await self._recover()
        for _, partition in self._numbered():
            await self._client("reader", self._read_all(partition))
        looking.cancel()
        self.probe.look_at_everything()
        for host in (*self.brokers, *self.controllers):
            await host.stop()

    def _numbered(self) -> list[tuple[int, Partition]]:
        return list(enumerate(self.partitions))

    def _client(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.world.loop.create_task(work, context=self.world.client_context(name))

    def _new_client(self, name: str) -> Client:
        addresses = [host.address for host in self.brokers]
        return Client(name, addresses, Random(self.random.getrandbits(64)))

    # -- what clients do

    async def _create_topic(self) -> None:
        client = self._new_client("admin")
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=len(self.partitions),
            replication_factor=self.replication_factor,
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5000)
        give_up_at = client.now + RECOVERY_S
        while client.now < give_up_at:
            answer = await client.ask_any(request)
            if answer is not None and answer.topics[0].error_code in (
                ErrorCode.NONE,
                ErrorCode.TOPIC_ALREADY_EXISTS,
            ):
                return
            await client.back_off()
        self.world.fault("the topic could not be created")

    async def _produce(self, partition: Partition, until: float) -> None:
        client = self._new_client(f"producer of {partition}")
        await Producer(client, partition, self.history, self._next_value).run(until)

    async def _consume(self, partition: Partition, until: float) -> None:
        client = self._new_client(f"consumer of {partition}")
        committed_only = self.random.random() < 0.5
        consumer = Consumer(client, partition, self.history, committed_only=committed_only)
        await consumer.run(until)

    async def _transact(self, number: int, until: float) -> None:
        client = self._new_client(f"transactor {number}")
        transactor = Transactor(client, self.partitions, self.history, self._next_value)
        await transactor.run(until)
        await transactor.finish()

    async def _operate(self, until: float) -> None:
        operator = Operator(
            self._new_client("operator"),
            self.partitions,
            broker_ids=list(range(1, len(self.brokers) + 1)),
            replication_factor=self.replication_factor,
        )
        await operator.run(until)

    async def _read_all(self, partition: Partition) -> None:
        """At the end, what is there: from the start, by a client that knows nothing."""
        for final, committed_only in (
            (self.history.final, False),
            (self.history.final_committed, True),
        ):
            client = self._new_client(f"reader of {partition} {committed_only}")
            reader = Consumer(client, partition, self.history, committed_only=committed_only)
            if not await reader.read_to_end(client.now + RECOVERY_S):
                self.world.fault(f"{partition} cannot be read: {reader.last_error.name}")
            final[partition] = reader.records

    # -- what is looked at

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(PROBE_S)
            self.probe.look()

    def _image(self) -> ClusterImage | None:
        """What the active controller has committed; of several that believe to be, the newest."""
        found: tuple[int, ClusterImage] | None = None
        for host in self.controllers or self.brokers:
            part = host.node.controller_part if host.node is not None else None
            active = part.active if part is not None else None
            if active is not None and host.is_up and (found is None or found[0] < active.epoch):
                found = active.epoch, active.controller.image
        return None if found is None else found[1]

    def _in_sync(self) -> bool:
        """All replicas of all partitions are in sync."""
        image = self._image()
        return image is not None and all(
            len(state.isr) == len(state.replicas) and state.leader >= 0 and not state.removing
            for topic in image.topics.values()
            for state in topic.partitions
        )

    async def _recover(self) -> None:
        give_up_at = self.world.loop.time() + RECOVERY_S
        while not self._in_sync() or not all(host.is_started for host in self.brokers):
            if self.world.loop.time() >= give_up_at:
                self.world.fault("not everything is in sync again after the last fault")
                return
            await asyncio.sleep(0.25)


def run_seed(seed: int, *, only: frozenset[str] = frozenset()) -> Report:
    """Run one seed; with `only` some faults."""
    return Scenario(seed, only=only).run()
