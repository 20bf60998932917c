"""The lab's end of the socket over which a node's disk is steered."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.faults.disk_state import DiskState


class Steering:
    """Of one run of a node.  Any thread may call."""

    def __init__(self, on_hits: Callable[[int], None]) -> None:
        """`on_hits` is called, on another thread, when the node has felt its disk."""
        self._on_hits = on_hits
        self._socket, self.theirs = socket.socketpair()
        self._done = threading.Semaphore(0)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def steer(self, state: DiskState, *, timeout_s: float | None) -> None:
        """Returns when the disk is so; without a timeout, at once (a frozen node does not answer).

        A node that is gone needs nothing.  TimeoutError if it does not answer.
        """
        try:
            self._socket.sendall(state.line())
        except OSError:
            return
        if timeout_s is not None and not self._done.acquire(timeout=timeout_s):
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
        with self._socket.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                said = json.loads(line)
                if "hits" in said:
                    self._on_hits(said["hits"])
                else:
                    self._done.release()
        self._done.release()  # nobody waits for a node that is gone
