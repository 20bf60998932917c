"""The lab's end of the socket over which a node's disk is steered."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.lab.faults.disk_state import DiskState, Felt


class Steering:
    """Of one run of a node.  Any thread may call.

    The node answers in the order in which it is told, so that the number of an answer says to what
    it is one: those that nobody waited for are not taken for others.
    """

    def __init__(self, on_felt: Callable[[Felt], None]) -> None:
        """`on_felt` is called, on another thread, when the node has felt its disk."""
        self._on_felt = on_felt
        self._socket, self.theirs = socket.socketpair()
        self._changed = threading.Condition()
        self._told = 0
        self._answered = 0
        self._is_gone = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def steer(self, state: DiskState, *, timeout_s: float | None) -> None:
        """Returns when the disk is so; without a timeout, at once (a frozen node does not answer).

        A node that is gone needs nothing.  TimeoutError if it does not answer.
        """
        with self._changed:
            try:
                self._socket.sendall(state.line())
            except OSError:
                return
            self._told += 1
            number = self._told
            if timeout_s is not None and not self._changed.wait_for(
                lambda: self._answered >= number or self._is_gone, timeout_s
            ):
                raise TimeoutError(f"the node's disk could not be changed in {timeout_s} s")

    def close(self) -> None:
        self.theirs.close()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the node was faster
        self._reader.join()
        self._socket.close()

    def _read(self) -> None:
        try:
            with self._socket.makefile("r", encoding="utf-8") as lines:
                for line in lines:
                    self._hear(json.loads(line))
        except ConnectionResetError:
            pass  # the node went before it had heard all: frozen and killed, for one
        with self._changed:
            self._is_gone = True  # nobody waits for a node that is gone
            self._changed.notify_all()

    def _hear(self, said: Mapping[str, Any]) -> None:
        if "felt" in said:
            self._on_felt(said["felt"])
            return
        with self._changed:
            self._answered += 1
            self._changed.notify_all()
