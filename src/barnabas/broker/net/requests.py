"""Frames to handlers, answers to frames.

A frame that makes no sense raises `DecodeError`, which closes its connection and no other.
"""

from __future__ import annotations

import logging
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any, cast

from barnabas.base.errors import ApiError, ErrorCode, code_for
from barnabas.broker.dispatch import Answer, Entry, Later, RequestContext, Table
from barnabas.broker.net import throttling
from barnabas.broker.net.answers import encoded
from barnabas.broker.net.habits import LEARN, Habit
from barnabas.broker.net.produce_memo import learn
from barnabas.protocol.apis import Api, ApiKey, api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import read_request_header

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.parts import Slot
    from barnabas.broker.quotas.clients import ClientQuotas, Limits
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.requests")

KEY_AND_VERSION = Struct(">hh")
INT32 = Struct(">i")
DECODED_BYTES_MAX = 8 * 1024 * 1024
"""What a request may have that is taken apart field by field, on the thread that serves everybody.
Produce is not: its records stay as they are."""


class Requests:
    """Decodes, dispatches and encodes for all connections to one kind of listener."""

    def __init__(self, state: Broker | ControllerPart, handlers: Table) -> None:
        """`state` is what the handlers get."""
        self._state = state
        self._quotas: ClientQuotas | None = getattr(state, "quotas", None)  # brokers have them
        self._routes = {key: (entry, api(entry.key)) for key, entry in handlers.items()}

    def handle(
        self, connection: Connection, data: bytearray, view: memoryview, start: int, end: int
    ) -> None:
        """Handle the request in `data[start:end]` (length prefix excluded)."""
        memo = connection.produce_memo
        if memo is not None and memo.handle(connection, data, view, start, end):
            return
        frame = view[start:end]
        habit = connection.habits.get(data[start + 1])  # the api key, if that is a small one
        if habit is not None and habit.memo is not None:
            client_id = habit.memo.client_id
            if self._limits(connection, client_id) is None:
                connection.client_id = client_id
                if habit.memo.handle(connection, frame):
                    return
        self._handle(connection, frame)

    def _handle(self, connection: Connection, frame: memoryview) -> None:
        key, version = KEY_AND_VERSION.unpack_from(frame)
        route = self._routes.get(key)
        if route is None:
            raise DecodeError(f"api key {key} is not answered here")
        entry, described = route
        if not entry.version_min <= version <= entry.version_max:
            if key != ApiKey.API_VERSIONS:
                raise DecodeError(f"{entry.key.name} version {version} is not answered here")
            self._older_api_versions(connection, entry, frame)
            return
        if len(frame) > DECODED_BYTES_MAX and key != ApiKey.PRODUCE:
            raise DecodeError(f"{entry.key.name} of {len(frame)} bytes: too many to take apart")
        _, _, correlation_id, client_id, pos = read_request_header(frame)
        # Bytes after the end are passed over, as Apache Kafka does: librdkafka sends some.
        request, end = described.request.read(frame, pos, version)
        connection.client_id = client_id
        if end == len(frame) and (key == ApiKey.PRODUCE or key in LEARN):
            self._learn(connection, frame, pos, request)
        ctx = RequestContext(
            api_key=key,
            api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
            listener=connection.listener,
            peer_host=connection.peer_host,
            connection=connection,
            limits=self._limits(connection, client_id),
        )
        if ctx.limits is not None:
            now = cast("Broker", self._state).clock.monotonic()
            throttling.charge_bytes(connection, ctx, len(frame), now)
        self._dispatch(connection, entry, described, ctx, request)

    def _learn(
        self,
        connection: Connection,
        frame: memoryview,
        body_at: int,
        request: Any,
    ) -> None:
        """Next time the request may take a short way; `body_at` is where its header ends."""
        broker = cast("Broker", self._state)  # nobody else is asked such things
        key = request.api_key
        if key != ApiKey.PRODUCE:
            habit = connection.habits.get(key)
            if habit is None:
                habit = connection.habits[key] = Habit(key)
            habit.note(broker, connection, frame, body_at, request)
        elif self._limits(connection, connection.client_id) is None:
            connection.produce_memo = learn(broker.replicas, broker.clock, frame, body_at, request)
        else:
            connection.produce_memo = None

    def _limits(self, connection: Connection, client_id: str | None) -> Limits | None:
        quotas = self._quotas
        if quotas is None or not quotas.is_active:
            return None
        return quotas.of(connection.user, client_id)

    def _dispatch(
        self,
        connection: Connection,
        entry: Entry,
        described: Api,
        ctx: RequestContext,
        request: Any,
    ) -> None:
        began = self._state.clock.monotonic() if ctx.limits is not None else 0.0
        try:
            answer = entry.handler(self._state, ctx, request)
        except DecodeError:
            raise  # the handler wants the connection closed
        except Exception as error:
            answer = self._failed(described, ctx, error)
        if ctx.limits is not None:
            throttling.charge_time(connection, ctx, began, self._state.clock.monotonic())
        if isinstance(answer, Later):
            slot = connection.answer_later(answer)
            answer.when_done(partial(self._fill, connection, slot, described, ctx))
            return
        if ctx.limits is not None:
            answer = throttling.throttled(connection, ctx, answer)
        if answer is not None:
            connection.answer(_encoded(described, ctx, answer))

    def _fill(
        self,
        connection: Connection,
        slot: Slot,
        described: Api,
        ctx: RequestContext,
        answer: Answer,
    ) -> None:
        """An answer has come.  What is wrong with it concerns this connection only."""
        if connection.closed:
            return
        try:
            if isinstance(answer, Exception):
                raise answer
            if ctx.limits is not None:
                answer = throttling.throttled(connection, ctx, answer)
            connection.fill(slot, [] if answer is None else _encoded(described, ctx, answer))
        except DecodeError as error:  # the handler wants the connection closed
            connection.refuse(error)
        except Exception:
            logger.exception("closing %s: %s could not be answered", connection, described.name)
            connection.close()

    def _failed(self, described: Api, ctx: RequestContext, error: Exception) -> Message:
        """An answer that carries the error, for the APIs that have a place for it."""
        code = code_for(error)
        if not isinstance(error, ApiError):
            logger.error("%s from %s failed", described.name, ctx.peer_host, exc_info=error)
        response: Any = described.response()
        if not hasattr(response, "error_code"):
            raise error
        response.error_code = int(code)
        if hasattr(response, "error_message") and code is not ErrorCode.UNKNOWN_SERVER_ERROR:
            response.error_message = str(error)
        assert isinstance(response, described.response)
        return response

    def _older_api_versions(self, connection: Connection, entry: Entry, frame: memoryview) -> None:
        """A newer client asks in a version we do not know: answer in version 0, with our ranges.

        Only the correlation id can be trusted; it stands where it always stood.
        """
        if len(frame) < 8:
            raise DecodeError("an ApiVersions request without a correlation id")
        ctx = RequestContext(
            api_key=entry.key,
            api_version=0,
            correlation_id=INT32.unpack_from(frame, 4)[0],
            client_id=None,
            listener=connection.listener,
            peer_host=connection.peer_host,
        )
        described = self._routes[entry.key][1]
        response: Any = entry.handler(self._state, ctx, described.request())
        response.error_code = int(ErrorCode.UNSUPPORTED_VERSION)
        connection.answer(_encoded(described, ctx, response))


def _encoded(described: Api, ctx: RequestContext, answer: Message) -> list[Any]:
    return encoded(described, ctx.api_version, ctx.correlation_id, answer)
