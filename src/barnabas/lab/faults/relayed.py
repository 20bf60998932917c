"""One connection through a relay: bytes both ways, looked at and passed on, or not.

Everything happens on the relays' thread, and what is decided about a message is done before the
next one is looked at.  A task for each direction reads, decides, waits where a rule says so, and
writes; so whatever holds a message holds all that come after it on that way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from barnabas.base.errors import ApiError
from barnabas.lab.faults import readdressing
from barnabas.lab.faults.cutter import Cutter
from barnabas.lab.faults.held_fetch import is_empty
from barnabas.lab.faults.passing import LENGTH_BYTES, Direction, Passing
from barnabas.lab.faults.rules import Action
from barnabas.lab.faults.way import Way
from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import read_request_header, response_frame

if TYPE_CHECKING:
    from barnabas.lab.faults.gate import Gate
    from barnabas.lab.faults.held_fetch import Hold
    from barnabas.lab.faults.observer import Answered
    from barnabas.lab.faults.relays import Relays, Standing

logger = logging.getLogger("barnabas.lab.relay")

CHUNK_BYTES = 256 * 1024
REQUEST_HEAD = Struct(">ihhi")
"""Length, API, version, correlation id."""
RESPONSE_HEAD = Struct(">ii")
EMPTY_FETCH_S = 0.1
"""How long a follower waits for an answer of which nothing is left, as if there were no news."""


class Asked(NamedTuple):
    """A request that was passed on and is not answered yet."""

    api: Api
    version: int
    answered: Answered | None = None


Handler = Callable[[bytes, Way], Awaitable[None]]


class _Ended(Exception):  # noqa: N818 (leaves a task, and no further)
    """The connection is over."""


class Relayed:
    """Between whoever connected to a gate and the node behind it.  `run` until it is over."""

    def __init__(
        self,
        relays: Relays,
        gate: Gate,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._relays = relays
        self._gate = gate
        self._near = reader, writer
        self._far: asyncio.StreamWriter | None = None
        self.peer = gate.peer
        """The node that asks; None while that is not known, and for clients."""
        self._client: str | None = None
        self._is_introduced = False
        """By its first request, it is known who asks: the client id, and so the node."""
        self._asked: dict[int, Asked] = {}
        self._repeats: Counter[int] = Counter()
        """By correlation id: answers that nobody expects."""
        self.task: asyncio.Task[None] | None = None
        """That of `run`, from whoever started it."""

    @property
    def ends(self) -> frozenset[int]:
        """Who speaks with whom."""
        return self._gate.ends(self.peer)

    async def run(self) -> None:
        near_reader, near = self._near
        try:
            await self._obey_cuts()
            far_reader, far = await asyncio.open_connection(*self._gate.target)
        except (OSError, _Ended):
            near.transport.abort()
            return
        self._far = far
        requests, responses = Way(near_reader, far), Way(far_reader, near)
        if self._gate.is_raw:
            asking = asyncio.ensure_future(self._copy(requests))
            answering = asyncio.ensure_future(self._copy(responses))
        else:
            asking = asyncio.ensure_future(self._pass_requests(requests))
            answering = asyncio.ensure_future(self._pass_responses(responses))
        both = [asking, answering]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                # The asker has gone: the node learns of it, and may still work on what it got.
                if far.can_write_eof() and not far.is_closing():
                    far.write_eof()
                await asyncio.wait([answering])
        finally:
            for task in both:
                task.cancel()
            for result in await asyncio.gather(*both, return_exceptions=True):
                if isinstance(result, Exception):
                    self._relays.failures.append(result)
            near.close()
            far.close()

    def abort(self) -> None:
        """End it for both, without a word more."""
        self._near[1].transport.abort()
        if self._far is not None:
            self._far.transport.abort()
        if self.task is not None:
            self.task.cancel()

    # -- both ways

    async def _copy(self, way: Way) -> None:
        try:
            while data := await way.reader.read(CHUNK_BYTES):
                await self._obey_cuts()
                way.writer.write(data)
                await way.writer.drain()
        except (ConnectionError, _Ended):
            self._close(way)

    async def _pass_requests(self, way: Way) -> None:
        cutter = Cutter(REQUEST_HEAD.size, way.in_order(self._wants_request))
        await self._pass(way, cutter, "request")

    async def _pass_responses(self, way: Way) -> None:
        cutter = Cutter(RESPONSE_HEAD.size, way.in_order(self._wants_response))
        await self._pass(way, cutter, "response")

    async def _pass(self, way: Way, cutter: Cutter, direction: Direction) -> None:
        handle = self._request if direction == "request" else self._response
        try:
            while data := await way.reader.read(CHUNK_BYTES):
                way.arrived_at = asyncio.get_running_loop().time()
                for piece in cutter.feed(data):
                    await self._obey_cuts()
                    if piece.is_whole:
                        await self._handle(handle, piece.data, way)
                    else:
                        way.write(piece.data)
                await way.writer.drain()
            way.release()
        except (ConnectionError, _Ended):
            self._close(way)
        except DecodeError as error:
            logger.debug("what came for %s is no frame: %s", self._gate, error)
            self.abort()

    @staticmethod
    async def _handle(handle: Handler, frame: bytes, way: Way) -> None:
        """What nobody here understands is for the receiver to judge."""
        try:
            await handle(frame, way)
        except (DecodeError, ApiError) as error:
            logger.debug("passed on without a look: %s", error)
            way.write(frame)

    def _close(self, way: Way) -> None:
        if not way.writer.is_closing():
            way.writer.close()

    async def _obey_cuts(self) -> None:
        """Wait while the two are cut off from each other in silence; end it if they are cut."""
        while self._relays.cuts:
            cut = self._relays.cut_between(self.ends)
            if cut is None:
                return
            cut.fault.hit()
            if not cut.silent:
                self.abort()
                raise _Ended
            await cut.lifted.wait()

    async def _wait(self, standing: Standing[Any], seconds: float) -> None:
        """So long, or until the fault is lifted."""
        if seconds > 0:
            try:
                await asyncio.wait_for(standing.lifted.wait(), seconds)
            except TimeoutError:
                pass  # as long as was asked for

    # -- requests

    def _wants_request(self, head: bytes, overtakes: bool) -> bool:
        if len(head) < REQUEST_HEAD.size:
            return False
        _, key, version, correlation_id = REQUEST_HEAD.unpack(head)
        api = APIS.get(key)
        if api is None or version not in api.versions:
            return False  # the node will say what it thinks of it
        self._relays.observer.traffic.requests[api.name, self._gate.node] += 1
        self._relays.noted()
        self._asked[correlation_id] = Asked(api, version)
        return (
            not self._is_introduced
            or overtakes
            or self._relays.wants("request", key, self._gate.node, of_node=self._gate.is_for_nodes)
        )

    async def _request(self, frame: bytes, way: Way) -> None:
        key, version, correlation_id, client, body_at = read_request_header(frame, LENGTH_BYTES)
        if not self._is_introduced:
            self._is_introduced = True
            self._client = client
            self.peer = self._gate.node_called(client)
            await self._obey_cuts()
        api = APIS[key]
        passing = Passing(
            frame,
            direction="request",
            api=api,
            version=version,
            client=client,
            broker=self._gate.node,
            peer=self.peer,
            names=self._relays.observer.names,
            body_at=body_at,
        )
        observer = self._relays.observer
        if observer.wants("request", key, of_node=self._gate.is_for_nodes):
            is_answered, answered = observer.request(passing)
            if is_answered:
                self._asked[correlation_id] = Asked(api, version, answered)
            else:
                self._asked.pop(correlation_id, None)
            self._relays.noted()
        await self._apply_rules(passing, correlation_id, way)

    # -- responses

    def _wants_response(self, head: bytes, overtakes: bool) -> bool:
        if len(head) < RESPONSE_HEAD.size:
            return False
        _, correlation_id = RESPONSE_HEAD.unpack(head)
        asked = self._asked.get(correlation_id)
        if asked is None:
            return self._repeats[correlation_id] > 0
        is_wanted = bool(
            asked.answered is not None
            or overtakes
            or self._relays.wants(
                "response", asked.api.key, self._gate.node, of_node=self._gate.is_for_nodes
            )
            or (self._relays.readdressed and asked.api.key in readdressing.KEYS)
            or any(hold.what.may_match(asked.api.key, self.peer) for hold in self._relays.holds)
        )
        if not is_wanted:
            del self._asked[correlation_id]
        return is_wanted

    async def _response(self, frame: bytes, way: Way) -> None:
        _, correlation_id = RESPONSE_HEAD.unpack_from(frame)
        asked = self._asked.pop(correlation_id, None)
        if asked is None:
            self._repeats[correlation_id] -= 1
            return  # the request was repeated, and this is the answer to the repetition
        passing = Passing(
            frame,
            direction="response",
            api=asked.api,
            version=asked.version,
            client=self._client,
            broker=self._gate.node,
            peer=self.peer,
            names=self._relays.observer.names,
        )
        observer = self._relays.observer
        if observer.wants("response", asked.api.key, of_node=self._gate.is_for_nodes):
            observer.response(passing)
            if asked.answered is not None:
                asked.answered(passing)
            self._relays.noted()
        await self._change(passing, correlation_id)
        await self._apply_rules(passing, correlation_id, way)

    async def _change(self, passing: Passing, correlation_id: int) -> None:
        """Exchange addresses, and take out what followers must not get yet."""
        gates = self._relays.readdressed
        is_changed = bool(gates) and passing.api.key in readdressing.KEYS
        is_changed = is_changed and readdressing.readdress(passing, gates)
        wait_for: Standing[Hold] | None = None
        for hold in self._relays.holds:
            if hold.what.may_match(passing.api.key, self.peer) and hold.what.cut(passing):
                hold.fault.hit()
                is_changed = True
                wait_for = hold
        if is_changed:
            header = passing.api.response_header_version(passing.version)
            parts = response_frame(passing.message, passing.version, correlation_id, header)
            passing.frame = b"".join(cast("list[bytes]", parts))
        if wait_for is not None and is_empty(passing):
            await self._wait(wait_for, EMPTY_FETCH_S)

    # -- rules

    async def _apply_rules(self, passing: Passing, correlation_id: int, way: Way) -> None:
        """The first rule that strikes decides."""
        for standing in list(self._relays.rules):
            rule = standing.what
            if not rule.strikes(passing, self._relays.observer.traffic):
                continue
            standing.fault.hit()
            match rule.action:
                case Action.DROP:
                    self.abort()
                    raise _Ended
                case Action.SWALLOW:
                    self._asked.pop(correlation_id, None)
                    return
                case Action.DELAY:
                    loop = asyncio.get_running_loop()
                    await self._wait(standing, way.arrived_at + rule.seconds - loop.time())
                case Action.DUPLICATE:
                    way.write(passing.frame)
                    if passing.direction == "request" and correlation_id in self._asked:
                        self._repeats[correlation_id] += 1
                case Action.REORDER:
                    way.let_overtake(passing.frame, rule.seconds)
                    return
            break
        way.write(passing.frame)
