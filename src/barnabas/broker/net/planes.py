"""A listener that serves a broker and a controller: which of the two a connection is for.

Where the controller is elected among the brokers there is no listener of its own for it: brokers
come to the listener that they also use among themselves.  The connection on which a broker speaks
to the controller says so in its first request, by its client id, and stays with the controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import read_request_header

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.net.requests import Requests

_TO_CONTROLLER = "-to-controller"


def link_client_id(node_id: int) -> str:
    """How a broker calls itself on its way to the controller."""
    return f"broker-{node_id}{_TO_CONTROLLER}"


def is_link(client_id: str | None) -> bool:
    return client_id is not None and client_id.endswith(_TO_CONTROLLER)


class Planes:
    """In the place of `Requests` until the first request of a connection was seen."""

    def __init__(self, controller: Requests) -> None:
        self.broker: Requests | None = None
        """None while the broker is starting: who comes for it is sent away."""
        self._controller = controller

    def handle(
        self, connection: Connection, data: bytearray, view: memoryview, start: int, end: int
    ) -> None:
        chosen = self._controller if self._is_for_controller(view[start:end]) else self.broker
        if chosen is None:
            connection.close()
            return
        connection.requests = chosen
        chosen.handle(connection, data, view, start, end)

    def _is_for_controller(self, frame: memoryview) -> bool:
        try:
            _, _, _, client_id, _ = read_request_header(frame)
        except DecodeError:
            return False  # whoever answers it says what is wrong
        return is_link(client_id)
