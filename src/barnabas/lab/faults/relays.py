"""All relays of a cluster: a thread with an event loop, gates, and the rules that hold now.

The brokers know nothing of it: they advertise the gates' ports as their own.  What is asked of the
relays from other threads is done on theirs, between two messages, and waited for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from barnabas.lab.faults.observer import Observer
from barnabas.lab.faults.relayed import Relayed

if TYPE_CHECKING:
    from barnabas.lab.faults.conditions import Condition
    from barnabas.lab.faults.fault import Fault
    from barnabas.lab.faults.gate import Gate
    from barnabas.lab.faults.held_fetch import Hold
    from barnabas.lab.faults.passing import Direction
    from barnabas.lab.faults.rules import Rule

Result = TypeVar("Result")
What = TypeVar("What")


class Standing(Generic[What]):
    """Something that holds until its fault is lifted."""

    def __init__(self, fault: Fault, what: What) -> None:
        self.fault = fault
        self.what = what
        self.lifted = asyncio.Event()


class Cut(Standing[frozenset[int]]):
    """Two who do not reach each other."""

    def __init__(self, fault: Fault, what: frozenset[int], *, silent: bool) -> None:
        super().__init__(fault, what)
        self.silent = silent


class Trigger(Standing[Callable[[], object]]):
    """Something to do once, and the moment for it."""

    def __init__(self, fault: Fault, what: Callable[[], object], when: Condition) -> None:
        super().__init__(fault, what)
        self.when = when


class Relays:
    """`start`, then `close`.  Attributes belong to the relays' thread; methods that other threads
    may call say so."""

    def __init__(self) -> None:
        self.observer = Observer()
        self.rules: list[Standing[Rule]] = []
        self.holds: list[Standing[Hold]] = []
        self.cuts: list[Cut] = []
        self.triggers: list[Trigger] = []
        self.readdressed: dict[int, tuple[str, int]] = {}
        """Where clients are to find each node, if the nodes themselves tell them otherwise."""
        self.failures: list[Exception] = []
        """What went wrong in the relays themselves: no experiment can be trusted then."""
        self._open: dict[Gate, set[Relayed]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="barnabas-lab-relays", daemon=True)

    # -- from any thread

    def start(self) -> None:
        self._loop = _new_loop()
        self._thread.start()

    def close(self) -> None:
        """End every connection and give the ports back.  From another thread.

        RuntimeError if the relays themselves failed meanwhile.
        """
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self.failures:
            raise RuntimeError(f"{len(self.failures)} relays failed") from self.failures[0]

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller is an action of a trigger: it must not wait for what passes here."""
        return threading.current_thread() is self._thread

    def call(self, work: Callable[[], Result]) -> Result:
        """Do something on the relays' thread, where nothing passes meanwhile; its result."""
        if self.is_own_thread:
            return work()
        done: Future[Result] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(do)
        return done.result()

    def open(self, gate: Gate) -> None:
        """Whoever connects to the gate is let through from now on; twice is once.

        Not in the action of a trigger.
        """
        asyncio.run_coroutine_threadsafe(self._listen(gate), self._loop).result()

    def shut(self, gate: Gate) -> None:
        """Connecting is refused from now on; what is connected stays until the node's own end."""
        self.call(lambda: _stop_listening(gate))

    def drop_all_of(self, node: int) -> None:
        """End every connection of a node, with all that was said on it and has not arrived."""
        self.call(lambda: self._drop(lambda each: node in each.ends))

    # -- on the relays' thread

    def wants(self, direction: Direction, key: int, node: int, *, of_node: bool) -> bool:
        """Whether a message must be looked into: somebody counts it, or a rule may strike it."""
        return self.observer.wants(direction, key, of_node=of_node) or any(
            standing.what.match.may_match(direction, key, node) for standing in self.rules
        )

    def cut_between(self, ends: frozenset[int]) -> Cut | None:
        for cut in self.cuts:
            if cut.what == ends:
                return cut
        return None

    def end_cut_connections(self) -> None:
        """Those between two who were cut off from each other, and not in silence."""
        for connections in self._open.values():
            for each in list(connections):
                cut = self.cut_between(each.ends)
                if cut is not None and not cut.silent:
                    cut.fault.hit()
                    each.abort()

    def _drop(self, is_meant: Callable[[Relayed], bool]) -> None:
        for connections in self._open.values():
            for each in list(connections):
                if is_meant(each):
                    each.abort()

    def noted(self) -> None:
        """A number has changed: do what was to be done at this moment, before anything passes."""
        if not self.triggers:
            return
        due = [each for each in self.triggers if each.when.holds(self.observer.traffic)]
        for trigger in due:
            if trigger not in self.triggers:
                continue  # an action before it has lifted it, or made it act
            self.triggers.remove(trigger)
            try:
                trigger.what()
            except Exception as error:
                trigger.fault.fail(error)
            else:
                trigger.fault.hit()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self, gate: Gate) -> None:
        connections = self._open.setdefault(gate, set())
        if gate.server is not None:
            return

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relayed = Relayed(self, gate, reader, writer)
            connections.add(relayed)
            relayed.task = self._loop.create_task(relayed.run())
            self._running.add(relayed.task)
            relayed.task.add_done_callback(lambda _: connections.discard(relayed))
            relayed.task.add_done_callback(self._running.discard)

        gate.server = await asyncio.start_server(accepted, sock=gate.port.listener())

    async def _end(self) -> None:
        for gate, connections in self._open.items():
            _stop_listening(gate)
            for each in list(connections):
                each.abort()
        while self._running:
            await asyncio.wait(list(self._running))
        for gate in self._open:
            gate.port.close()
        await asyncio.sleep(0)  # one turn, in which the transports close their sockets


def _stop_listening(gate: Gate) -> None:
    if gate.server is not None:
        gate.server.close()
        gate.server = None


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed, as in the brokers."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
