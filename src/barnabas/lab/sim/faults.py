"""What goes wrong, when: drawn from the seed, and independent of what clients do.

Each fault has a beginning and an end, and several may overlap.  One rule is kept, the one that the
promise of replication needs: records that are only in page caches may be lost on one broker at a
time, while the others have them.  So a broker loses power only when all replicas are in sync, and
until it is back and in sync again nothing else takes a broker out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING

from barnabas.lab.sim.zookeeper import MACHINE as ZOOKEEPER

if TYPE_CHECKING:
    from barnabas.lab.sim.world import SimHost, World

Fault = Callable[["Nemesis", "SimHost"], Awaitable[None]]

FULL_ROOM_BYTES = 600
SLOW_WRITE_S = 0.01


class Nemesis:
    """Does harm to the machines of a world, until it is told to stop."""

    def __init__(
        self,
        world: World,
        *,
        brokers: list[SimHost],
        controllers: list[SimHost],
        in_sync: Callable[[], bool],
        faults: frozenset[str],
    ) -> None:
        """`in_sync`: whether all replicas of all partitions are in sync now."""
        self.world = world
        self.brokers = brokers
        self.controllers = controllers
        self.random = Random(world.random.getrandbits(64))
        self.done: list[str] = []
        """The names of what was done, in order."""
        self._in_sync = in_sync
        self._busy: set[str] = set()
        self._lossy: SimHost | None = None
        self._faults = {name: fault for name, fault in FAULTS.items() if name in faults}

    async def run(self, until: float) -> None:
        """Faults one after the other, with pauses; run it twice to have them overlap."""
        loop, random = self.world.loop, self.random
        while loop.time() < until:
            await asyncio.sleep(random.expovariate(1.2))
            name = random.choice(list(self._faults))
            machines = self.controllers + self.brokers if name in ANYWHERE else self.brokers
            victim = random.choice(machines)
            if loop.time() >= until or not self._may(name, victim):
                continue
            self._busy.add(victim.name)
            self.done.append(name)
            self.world.note(f"nemesis: {name} {victim.name}")
            await self._faults[name](self, victim)
            self.world.note(f"nemesis: {name} {victim.name} is over")
            self._busy.discard(victim.name)

    def _may(self, name: str, victim: SimHost) -> bool:
        if victim.name in self._busy or not victim.is_started:
            return False
        if self._lossy is not None:
            if self._lossy.name not in self._busy and self._in_sync():
                self._lossy = None  # it is back, and has what the others have
            else:
                return name in HARMLESS
        if name != "power cut" or victim in self.controllers:
            return True
        if self._busy or not self._in_sync() or len(self.brokers) < 3:
            return False
        self._lossy = victim
        return True

    async def some_time(self, longest: float) -> None:
        await asyncio.sleep(self.random.uniform(0.05, longest))

    async def come_back(self, host: SimHost) -> None:
        """Start a machine's node again, and again if it cannot start yet."""
        while not host.is_up:
            if not await host.start_and_wait():
                await self.some_time(1.0)

    async def heal_all(self) -> None:
        """Everything works again."""
        self.world.network.heal()
        self.world.network.slow.clear()
        self.world.zookeeper.is_down = False
        for host in (*self.controllers, *self.brokers):
            host.disk.room, host.disk.write_s = None, 0.0
            if not host.is_up:
                await self.come_back(host)


async def _kill(nemesis: Nemesis, victim: SimHost) -> None:
    victim.kill()
    await nemesis.some_time(6.0)
    await nemesis.come_back(victim)


async def _cut_power(nemesis: Nemesis, victim: SimHost) -> None:
    victim.cut_power()
    await nemesis.some_time(6.0)
    await nemesis.come_back(victim)


async def _restart(nemesis: Nemesis, victim: SimHost) -> None:
    await victim.stop()
    await nemesis.some_time(2.0)
    await nemesis.come_back(victim)


async def _pause(nemesis: Nemesis, victim: SimHost) -> None:
    seconds = nemesis.random.choice((0.3, 2.0, 8.0))
    victim.pause(seconds)
    await asyncio.sleep(seconds)


async def _drop_connections(nemesis: Nemesis, victim: SimHost) -> None:
    nemesis.world.network.drop(victim.name)


async def _isolate(nemesis: Nemesis, victim: SimHost) -> None:
    """From the other nodes, or from some of them; clients still reach it."""
    others = [host.name for host in (*nemesis.controllers, *nemesis.brokers) if host is not victim]
    for other in (*others, ZOOKEEPER):
        if nemesis.random.random() < 0.8:
            nemesis.world.network.cut(victim.name, other)
    await nemesis.some_time(10.0)
    nemesis.world.network.heal()


async def _zookeeper_outage(nemesis: Nemesis, victim: SimHost) -> None:
    """Nobody reaches ZooKeeper for a while."""
    nemesis.world.zookeeper.is_down = True
    await nemesis.some_time(8.0)
    nemesis.world.zookeeper.is_down = False


async def _slow_network(nemesis: Nemesis, victim: SimHost) -> None:
    nemesis.world.network.slow[victim.name] = nemesis.random.choice((0.02, 0.2, 0.6))
    await nemesis.some_time(8.0)
    nemesis.world.network.slow.pop(victim.name, None)


async def _clock_jump(nemesis: Nemesis, victim: SimHost) -> None:
    jump = nemesis.random.choice((-3_600_000, -5_000, -700, 700, 5_000, 3_600_000))
    victim.clock.offset_ms += jump
    await nemesis.some_time(5.0)
    if nemesis.random.random() < 0.5:
        victim.clock.offset_ms -= jump


async def _full_disk(nemesis: Nemesis, victim: SimHost) -> None:
    victim.disk.room = nemesis.random.randint(0, FULL_ROOM_BYTES)
    await nemesis.some_time(5.0)
    victim.disk.room = None


async def _slow_disk(nemesis: Nemesis, victim: SimHost) -> None:
    victim.disk.write_s = nemesis.random.uniform(0, SLOW_WRITE_S)
    await nemesis.some_time(6.0)
    victim.disk.write_s = 0.0


FAULTS: dict[str, Fault] = {
    "kill": _kill,
    "power cut": _cut_power,
    "restart": _restart,
    "pause": _pause,
    "drop connections": _drop_connections,
    "isolate": _isolate,
    "slow network": _slow_network,
    "zookeeper outage": _zookeeper_outage,
    "clock jump": _clock_jump,
    "full disk": _full_disk,
    "slow disk": _slow_disk,
}
HARMLESS = frozenset(("drop connections", "slow network", "clock jump", "slow disk"))
"""These take nobody out of the cluster."""
ANYWHERE = frozenset(FAULTS) - {"full disk"}
"""Faults that also befall controllers."""
