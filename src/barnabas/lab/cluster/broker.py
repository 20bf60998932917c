"""One node of a lab's cluster: a process, and the gates in front of it."""

from __future__ import annotations

from pathlib import Path


class LabBroker:
    """A broker (or the controller).  Its address and its data stay when it is started again.

    Everything but `start` and `restart` may be called in the action of a trigger (`Faults.at`).
    """

    id: int
    folder: Path
    """Its data."""

    @property
    def address(self) -> str:
        """Where clients connect, as host:port: a relay's."""

    @property
    def running(self) -> bool:
        """The process is there, frozen or not."""

    @property
    def frozen(self) -> bool: ...

    @property
    def pid(self) -> int: ...

    @property
    def log(self) -> str:
        """All that it has printed since the cluster was made."""

    def start(self, *, wait: bool = True, timeout_s: float = 60.0) -> None:
        """Start it; return when it serves, or at once without `wait`."""

    def stop(self, timeout_s: float = 60.0) -> None:
        """An orderly end (TERM): it hands over what it leads first."""

    def kill(self) -> None:
        """KILL.  When this returns it is gone, and connecting to it is refused."""

    def restart(self, timeout_s: float = 60.0) -> None:
        """`stop` if it runs, then `start`."""

    def freeze(self) -> None:
        """STOP: it does nothing, and its connections stay."""

    def thaw(self) -> None:
        """CONT."""
