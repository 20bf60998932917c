"""A controller part with a journal in memory, for tests of what it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from small_broker import HandClock

from barnabas.base.clock import Clock
from barnabas.base.settings import BrokerConfig
from barnabas.broker.controller_part import ControllerPart, Probe
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.listeners import BoundListener
from barnabas.broker.machine import Machine
from barnabas.controller.bootstrap import initial_records
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.protocol.message import Message
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Listener
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.storage.workers import InlineWorkers, Workers

CONTROLLER_ID = 100
LISTENER = BoundListener(
    name="CONTROLLER",
    security_protocol="PLAINTEXT",
    host="127.0.0.1",
    port=9093,
    advertised_host="127.0.0.1",
    advertised_port=9093,
    is_controllers=True,
)


class MemoryFiles:
    """The files of a journal, without a disk."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def names(self) -> list[str]:
        return sorted(self._files)

    def read(self, name: str) -> bytes:
        return self._files[name]

    def append(self, name: str, data: bytes, *, position: int) -> None:
        self._files[name] = self._files.get(name, b"")[:position] + data

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        self._files[name] = data

    def truncate(self, name: str, size: int) -> None:
        self._files[name] = self._files.get(name, b"")[:size]

    def remove(self, name: str) -> None:
        self._files.pop(name, None)


class Line:
    """A connection that a request came on, and that can be lost."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def when_lost(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def lose(self) -> None:
        for call in self._calls:
            call()


async def nobody_knows(*_: object, **__: object) -> bool:
    """Whether a broker is dead."""
    return False


class _Machine(Machine):
    """Has no threads."""

    def __init__(self, clock: Clock, workers: Workers) -> None:
        super().__init__(clock=clock)
        self._workers = workers

    def workers(self, loop: asyncio.AbstractEventLoop, *, threads: int = 2) -> Workers:
        return self._workers


class ControllerWorld:
    """Commits at once: an answer is known when the handler returns.  Needs a running loop."""

    def __init__(
        self, *, workers: Workers | None = None, probe: Probe = nobody_knows, **settings: str
    ) -> None:
        self._probe = probe
        self.clock = HandClock()
        self.files = MemoryFiles()
        self.workers = workers or InlineWorkers()
        self.part = self.make_part(**settings)

    def make_part(self, **settings: str) -> ControllerPart:
        """Of another process on the same journal, if called again."""
        config = BrokerConfig.from_properties(
            {
                "node.id": str(CONTROLLER_ID),
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        return ControllerPart(
            config,
            _Machine(self.clock, self.workers),
            asyncio.get_running_loop(),
            cluster_id="cluster",
            open_journal=lambda: EmbeddedJournal(self.files, node_id=CONTROLLER_ID),
            bootstrap=initial_records,
            listeners=[LISTENER],
            probe=self._probe,
        )

    def context(self, version: int, line: Line | None = None) -> RequestContext:
        return RequestContext(
            api_key=0,
            api_version=version,
            correlation_id=0,
            client_id="test",
            listener=LISTENER,
            peer_host="127.0.0.1",
            connection=line,  # type: ignore[arg-type]
        )

    def submit(self, request: Message) -> Any:
        """The answer, which is there at once."""
        answers: list[Message] = []
        self.part.submit(request, answers.append)
        (answer,) = answers
        return answer

    def registration(self, broker_id: int) -> BrokerRegistrationRequest:
        listener = Listener(name="PLAINTEXT", host="h", port=broker_id)
        return BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id="cluster",
            incarnation_id=broker_id.to_bytes(16, "big"),
            listeners=[listener],
            log_dirs=[(1000 + broker_id).to_bytes(16, "big")],
        )

    def register(self, broker_id: int) -> int:
        """A broker comes in; its epoch."""
        epoch: int = self.submit(self.registration(broker_id)).broker_epoch
        return epoch

    def beat(self, broker_id: int, epoch: int) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=1 << 40
        )

    def create(self, name: str) -> None:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        answer = self.submit(CreateTopicsRequest(topics=[topic]))
        assert answer.topics[0].error_code == 0, answer


def resolved(answer: Any) -> list[Any]:
    """What a handler's answer came to so far: nothing, or one message."""
    if not isinstance(answer, Later):
        return [answer]
    got: list[Any] = []
    answer.when_done(got.append)
    return got
