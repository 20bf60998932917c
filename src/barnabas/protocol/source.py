"""Source text that is being put together, with the objects it refers to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from struct import Struct
from typing import Any


class Source:
    """A function under construction.  Not shared: one compilation, one object."""

    def __init__(self, **env: Any) -> None:
        self.env: dict[str, Any] = env
        self.lines: list[str] = []
        self._depth = 0
        self._numbers = count()

    def emit(self, line: str) -> None:
        self.lines.append(" " * self._depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines emitted inside are the body of `head`."""
        self.emit(head)
        first = len(self.lines)
        self._depth += 1
        yield
        if len(self.lines) == first:
            self.emit("pass")
        self._depth -= 1

    def name(self, prefix: str) -> str:
        """A variable name that nothing else in this function has."""
        return f"{prefix}{next(self._numbers)}"

    def bind(self, prefix: str, value: object) -> str:
        """A name by which the function can refer to `value`."""
        for known, bound in self.env.items():
            if bound is value and known.startswith(prefix):
                return known
        name = self.name(prefix)
        self.env[name] = value
        return name

    def struct(self, codes: str, method: str) -> str:
        """A name for `Struct(codes).unpack_from` or `.pack`, big-endian."""
        name = f"{method}_{codes.replace('?', 'z')}"
        if name not in self.env:
            self.env[name] = getattr(Struct(">" + codes), method)
        return name

    def text(self) -> str:
        return "\n".join(self.lines)

    def function(self, name: str, title: str) -> Callable[..., Any]:
        """The finished function `name`."""
        exec(compile(self.text(), f"<{title}>", "exec"), self.env)
        made: Callable[..., Any] = self.env[name]
        return made
