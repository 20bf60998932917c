"""A client of the simulated cluster: connections by address, and where partitions are led.

It speaks to brokers through the real codec and connections; what it does with the answers is the
workloads' business.  Everything that goes wrong is the answer None, or an error code.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.client.node_connection import NodeConnection
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from random import Random

    from barnabas.lab.sim.history import Partition
    from barnabas.protocol.message import Message

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads a partition, as the client was told."""

    node_id: int
    epoch: int
    topic_id: bytes


class Client:
    """One client program.  Use it from the tasks of one process."""

    def __init__(self, name: str, bootstrap: list[Address], random: Random) -> None:
        self.name = name
        self.random = random
        self.leaders: dict[Partition, Leader] = {}
        self.topic_names: dict[bytes, str] = {}
        self._loop = asyncio.get_running_loop()
        self._bootstrap = bootstrap
        self._brokers: dict[int, Address] = {}
        self._connections: dict[tuple[Address, str], NodeConnection] = {}

    @property
    def now(self) -> float:
        return self._loop.time()

    async def ask(
        self, address: Address, request: Message, *, timeout_s: float = 3.0, lane: str = ""
    ) -> Any:
        """The answer, or None.  Requests of one lane share a connection, so they keep order."""
        answered = self._loop.create_future()
        connection = self._connections.get((address, lane))
        if connection is None or not connection.is_open:
            connection = self._connections[address, lane] = NodeConnection(
                self._loop,
                host=address[0],
                port=address[1],
                client_id=self.name,
                on_lost=lambda: None,
            )
        connection.send(
            request,
            lambda answer: None if answered.done() else answered.set_result(answer),
            timeout_s=timeout_s,
        )
        return await answered

    async def ask_node(self, node_id: int, request: Message, **options: Any) -> Any:
        address = self._brokers.get(node_id)
        return None if address is None else await self.ask(address, request, **options)

    async def ask_any(self, request: Message, **options: Any) -> Any:
        """Some broker's answer."""
        known = [*self._brokers.values()] or self._bootstrap
        return await self.ask(self.random.choice(known), request, **options)

    async def refresh(self, topics: list[str]) -> None:
        """Learn anew who leads what."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=False,
        )
        answer = await self.ask(self.random.choice(self._bootstrap), request)
        if answer is None:
            return
        self._brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for topic in answer.topics:
            if topic.error_code:
                continue
            self.topic_names[topic.topic_id] = topic.name
            for partition in topic.partitions:
                key = topic.name, partition.partition_index
                known = self.leaders.get(key)
                if known is None or known.epoch <= partition.leader_epoch:
                    self.leaders[key] = Leader(
                        partition.leader_id, partition.leader_epoch, topic.topic_id
                    )

    async def leader(self, partition: Partition, *, anew: bool = False) -> Leader | None:
        """Who leads, asking if need be; None if nobody is known to."""
        if anew or partition not in self.leaders:
            await self.refresh([partition[0]])
        found = self.leaders.get(partition)
        return None if found is None or found.node_id not in self._brokers else found

    async def back_off(self) -> None:
        """A pause between two attempts."""
        await asyncio.sleep(self.random.uniform(0.05, 0.3))
