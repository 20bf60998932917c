"""A broker's place in a cluster whose controller is elsewhere: got, kept by heartbeats, given back.

A broker registers, follows the metadata until it has seen its own registration, serves, and is let
in by a heartbeat.  From then on it says every `broker.heartbeat.interval.ms` that it is there.  If
the controller has fenced it meanwhile, the next heartbeat lets it in again.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.controller_link import ControllerLink
    from barnabas.broker.metadata_follower import MetadataFollower
    from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest

logger = logging.getLogger("barnabas.membership")

RETRY_S = 0.1
LEAVE_S_MAX = 30.0
"""A broker that wants to leave waits that long for others to take over what it leads."""
UNHEARD_S_MAX = 2.0
"""And that long for a controller that does not answer."""


class CannotJoin(Exception):  # noqa: N818 (says what happened)
    """The cluster does not take this broker; the message is one line for the operator."""


class Membership:
    """`register`, `enter`, then `keep`; `leave` in the end."""

    def __init__(
        self,
        config: BrokerConfig,
        loop: asyncio.AbstractEventLoop,
        link: ControllerLink,
        follower: MetadataFollower,
        *,
        on_expelled: Callable[[], None],
    ) -> None:
        """`on_expelled`: another process is this broker now."""
        self.epoch = -1
        self.on_epoch: Callable[[int], None] = lambda epoch: None
        """Told when this broker had to register again."""
        self._config = config
        self._node_id = config.node_id
        self._loop = loop
        self._link = link
        self._follower = follower
        self._on_expelled = on_expelled
        self._request: BrokerRegistrationRequest
        self._refusal: ErrorCode | None = None
        """Why this broker could not register again."""
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._interval_s = config.int("broker.heartbeat.interval.ms") / 1000
        self._session_s = config.int("broker.session.timeout.ms") / 1000

    # -- joining

    async def register(self, request: BrokerRegistrationRequest) -> int:
        """The epoch of this broker, when this broker has seen its registration; else `CannotJoin`.

        A broker of the same id whose process has died is known to be dead within a session.
        """
        self._request = request
        started = self._loop.time()
        give_up = started + self._config.int("initial.broker.registration.timeout.ms") / 1000
        has_said = False
        while True:
            response = await self._link.ask(request)
            now = self._loop.time()
            code = None if response is None else ErrorCode(response.error_code)
            if code is ErrorCode.NONE:
                self.epoch = response.broker_epoch
                await self._reached(self.epoch)
                return self.epoch
            if code is None:
                started = now  # a controller that comes back gives every session its time again
            elif code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                if now - started > self._session_s + 1:
                    raise CannotJoin(
                        f"another process is broker {self._node_id} of this cluster. "
                        "Give this one another node.id."
                    )
                if not has_said:
                    has_said = True
                    logger.warning(
                        "another process is broker %d: waiting until its session ends",
                        self._node_id,
                    )
            elif not code.retriable:
                raise CannotJoin(f"the controller refuses broker {self._node_id}: {code.text}")
            if now > give_up:
                raise CannotJoin(
                    f"broker {self._node_id} could not register: "
                    + ("no controller answers." if code is None else code.text)
                )
            await asyncio.sleep(RETRY_S)

    async def enter(self) -> None:
        """Return when the controller has let this broker in and this broker has seen it."""
        while True:
            response = await self._link.ask(self._heartbeat())
            if response is not None and not response.error_code and not response.is_fenced:
                break
            if response is not None and response.error_code == ErrorCode.STALE_BROKER_EPOCH:
                self.on_epoch(await self.register(self._request))  # it was unregistered meanwhile
            await asyncio.sleep(RETRY_S)
        while self._is_fenced():
            await self._reached(self._follower.image.applied_offset + 1)

    def _is_fenced(self) -> bool:
        own = self._follower.image.brokers.get(self._node_id)
        return own is None or own.fenced

    async def _reached(self, offset: int) -> None:
        seen = asyncio.Event()
        self._follower.when_reached(offset, seen.set)
        await seen.wait()

    # -- staying

    def keep(self) -> None:
        """Say from now on, and on, that this broker is there."""
        self._timer = self._loop.call_later(self._interval_s, self._beat)

    def beat_now(self) -> None:
        """The controller was lost, or found again: it should hear of this broker at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._beat()

    def _beat(self) -> None:
        self._timer = None
        timeout_s = min(self._session_s / 2, self._link.timeout_s)
        self._link.send(self._heartbeat(), self._beaten, timeout_s=timeout_s)

    def _beaten(self, response: Any) -> None:
        if self._is_stopped:
            return
        if response is None:
            # A controller that has lost the connection counts: be heard of within its grace.
            self._timer = self._loop.call_later(RETRY_S, self._beat)
        elif response.error_code == ErrorCode.STALE_BROKER_EPOCH:
            if self._refusal is None:
                logger.warning("the controller does not know this registration: registering again")
            self._link.send(self._request, self._registered_again)
        else:
            self.keep()

    def _registered_again(self, response: Any) -> None:
        if self._is_stopped:
            return
        code = None if response is None else ErrorCode(response.error_code)
        if code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            logger.critical("another process is broker %d now: stopping", self._node_id)
            self._on_expelled()
            return
        if code is not None and code is not ErrorCode.NONE:
            if code is not self._refusal:  # said once: it may be so for long
                self._refusal = code
                logger.error("the controller refuses broker %d: %s", self._node_id, code.text)
            self.keep()
            return
        if code is ErrorCode.NONE:
            self._refusal = None
            self.epoch = response.broker_epoch
            self.on_epoch(self.epoch)
        self._timer = self._loop.call_later(RETRY_S, self._beat)

    def _heartbeat(self, *, leaving: bool = False) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._follower.image.applied_offset,
            want_fence=False,
            want_shut_down=leaving,
        )

    # -- leaving

    async def leave(self) -> bool:
        """Return when others have taken over; False if nobody said so in time."""
        self.stop()
        started = heard = self._loop.time()
        while (now := self._loop.time()) - started < LEAVE_S_MAX and now - heard < UNHEARD_S_MAX:
            response = await self._link.ask(self._heartbeat(leaving=True))
            if response is not None:
                heard = self._loop.time()
                if response.should_shut_down or response.error_code:
                    return not response.error_code
            await asyncio.sleep(RETRY_S)
        return False

    def stop(self) -> None:
        """No more heartbeats."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
