"""Which simulated process is running: a kill ends all that it started, a pause holds it up.

Every callback and task carries the process that started it in its context, which asyncio hands on
by itself.  The loop asks that process before it runs anything of it.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Handle
    from collections.abc import Callable


@dataclass(eq=False, slots=True)
class Process:
    """One run of a program on a machine of that name; a restart is another process."""

    machine: str
    number: int = 0
    is_alive: bool = True
    paused_until: float = 0.0
    held: list[Handle] = field(default_factory=list)
    """What would have run while the process was paused, in order.  The loop's."""
    on_end: list[Callable[[bool], None]] = field(default_factory=list)
    """Called when the process is killed, with whether its machine lost power."""

    def __str__(self) -> str:
        return f"{self.machine}#{self.number}"

    def context(self) -> Context:
        """A context in which to run what belongs to this process."""
        context = copy_context()
        context.run(CURRENT.set, self)
        return context

    def kill(self, *, power_lost: bool = False) -> None:
        """Nothing of it runs any more: no `finally`, no flush."""
        if self.is_alive:
            self.is_alive = False
            self.held.clear()
            for ended in self.on_end:
                ended(power_lost)
            self.on_end.clear()


OUTSIDE = Process("outside")
"""Who tests and checks; never killed."""

CURRENT: ContextVar[Process] = ContextVar("CURRENT", default=OUTSIDE)
