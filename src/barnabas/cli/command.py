"""What a tool is to the program that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from barnabas.cli.options import Option, Parsed

if TYPE_CHECKING:
    from types import FrameType


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One tool.  Its module has a `COMMAND`, and imports nothing heavy until `run` is called.

    `run` returns the exit status.  What goes wrong it raises: `UsageError` for what was typed,
    `ClientError` for what a broker answered or did not answer, `CommandError` for the rest.
    """

    summary: str
    examples: Sequence[str]
    options: Sequence[Option]
    run: Callable[[Parsed], int]
    words: tuple[int, int] = (0, 0)
    """How few and how many plain words may stand beside the options."""
    word_values: Sequence[str] = ()
    """What the first of them may be, where that is known; shells complete it."""
    words_are: Literal["", "topics", "files", "scenarios"] = ""
    """Of which kind they are, if a shell can complete that."""
    notes: Sequence[str] = ()
    failure: str = ""
    """What stands before the line that says why the tool failed; the program's name if empty."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, for tools that clean up after it as they do after Ctrl-C."""


def raise_on_sigterm() -> None:
    """From now on SIGTERM raises `Terminated` in the main thread."""
    import signal

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)


class CommandError(Exception):
    """The tool cannot go on; one line that says why."""
