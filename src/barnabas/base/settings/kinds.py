"""What kinds of values settings have: how text becomes a value, what is valid, how it is printed.

Parsing and printing follow the reference broker to the character (white space is trimmed, booleans
are case-insensitive, doubles print the Java way), because DescribeConfigs shows the outcome.
"""

from __future__ import annotations

import enum
import math
import re
from abc import ABC, abstractmethod
from typing import Any

Value = int | float | bool | str | tuple[str, ...] | None
"""What a setting can hold; None where it has no value."""

# Patterns are text: `re` compiles and keeps them when they are first used, not at every start.
_INTEGER = r"[+-]?[0-9]+"
_DOUBLE = r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[dDfF]?"
_COMMA = r"\s*,\s*"
_THROTTLED = r"[0-9]+:[0-9]+"
_DURATION_AGO = (
    r"by_duration:(?i:P(?=.)([0-9]+D)?(T(?=.)([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{0,9})?S)?)?)"
)
_SERVER = r"(\[[0-9a-fA-F:.%]+\]|[^\[\]@:\s]+):[0-9]+"

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = 1.7976931348623157e308


class ConfigType(enum.IntEnum):
    """The number that DescribeConfigs gives for a kind."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Secret(str):
    """A value that must not be seen in logs; use it as the string it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[hidden]'"


class Kind(ABC):
    """How one sort of value is read, checked and printed.  Immutable, shared between settings.

    `parse` raises ValueError with the reason alone; the setting adds its own name and the value.
    """

    __slots__ = ()
    type: ConfigType
    name: str

    @abstractmethod
    def parse(self, text: str) -> Value:
        """The value that the text stands for, checked."""

    def check(self, value: Any) -> None:  # noqa: B027 (a kind may have nothing to check)
        """ValueError if the value is not valid."""

    def render(self, value: Any) -> str:
        return str(value)

    @property
    def rule(self) -> str:
        """What is valid, for the reference page; empty if anything is."""
        return ""


class _Whole(Kind):
    __slots__ = ("also", "high", "low")
    _lowest: int
    _highest: int

    def __init__(
        self, low: int | None = None, high: int | None = None, *, also: int | None = None
    ) -> None:
        self.low = self._lowest if low is None else low
        self.high = self._highest if high is None else high
        self.also = also

    def parse(self, text: str) -> int:
        trimmed = text.strip()
        if not re.fullmatch(_INTEGER, trimmed):
            raise ValueError("must be a whole number")
        value = int(trimmed)
        if not self._lowest <= value <= self._highest:
            raise ValueError(f"does not fit the type {self.name}")
        self.check(value)
        return value

    def check(self, value: int) -> None:
        if value == self.also and value is not None:
            return
        if value < self.low:
            raise ValueError(f"must be at least {self.low}{self._or_also}")
        if value > self.high:
            raise ValueError(f"must be at most {self.high}{self._or_also}")

    @property
    def _or_also(self) -> str:
        return "" if self.also is None else f" or {self.also}"

    @property
    def rule(self) -> str:
        bounded_below, bounded_above = self.low > self._lowest, self.high < self._highest
        if bounded_below and bounded_above:
            return f"{self.low} to {self.high}{self._or_also}"
        if bounded_below:
            return f"at least {self.low}{self._or_also}"
        return f"at most {self.high}{self._or_also}" if bounded_above else ""


class Int(_Whole):
    """32 bits."""

    __slots__ = ()
    type = ConfigType.INT
    name = "int"
    _lowest = -(2**31)
    _highest = INT_MAX


class Short(_Whole):
    """16 bits."""

    __slots__ = ()
    type = ConfigType.SHORT
    name = "short"
    _lowest = -(2**15)
    _highest = 2**15 - 1


class Long(_Whole):
    """64 bits."""

    __slots__ = ()
    type = ConfigType.LONG
    name = "long"
    _lowest = -(2**63)
    _highest = LONG_MAX


class Double(Kind):
    __slots__ = ("high", "low")
    type = ConfigType.DOUBLE
    name = "double"

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self.low = low
        self.high = high

    def parse(self, text: str) -> float:
        trimmed = text.strip()
        if not re.fullmatch(_DOUBLE, trimmed):
            raise ValueError("must be a number")
        value = float(trimmed.rstrip("dDfF"))
        self.check(value)
        return value

    def check(self, value: float) -> None:
        if self.low is not None and not value >= self.low:
            raise ValueError(f"must be at least {self.low:g}")
        if self.high is not None and not value <= self.high:
            raise ValueError(f"must be at most {self.high:g}")

    def render(self, value: float) -> str:
        return java_double(value)

    @property
    def rule(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{self.low:g} to {self.high:g}"


class Boolean(Kind):
    __slots__ = ()
    type = ConfigType.BOOLEAN
    name = "boolean"

    def parse(self, text: str) -> bool:
        match text.strip().lower():
            case "true":
                return True
            case "false":
                return False
        raise ValueError("must be true or false")

    def render(self, value: bool) -> str:
        return "true" if value else "false"


class String(Kind):
    __slots__ = ("any_case", "choices", "non_empty")
    type = ConfigType.STRING
    name = "string"

    def __init__(self, *choices: str, any_case: bool = False, non_empty: bool = False) -> None:
        self.choices = choices
        self.any_case = any_case
        self.non_empty = non_empty

    def parse(self, text: str) -> str:
        value = text.strip()
        self.check(value)
        return value

    def check(self, value: str) -> None:
        if self.non_empty and not value:
            raise ValueError("must not be empty")
        if self.any_case:
            if value.lower() not in [choice.lower() for choice in self.choices]:
                raise ValueError(f"must be one of {', '.join(self.choices)} (in any case)")
        elif self.choices and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}")

    @property
    def rule(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices) + (" (any case)" if self.any_case else "")
        return "not empty" if self.non_empty else ""


class OffsetReset(String):
    """Where to begin: at an end of the partition, or so long ago."""

    __slots__ = ()

    def check(self, value: str) -> None:
        if value not in {"earliest", "latest"} and not re.fullmatch(_DURATION_AGO, value):
            raise ValueError("must be earliest, latest or by_duration:<PnDTnHnMn.nS>")

    @property
    def rule(self) -> str:
        return "earliest, latest or by_duration:<PnDTnHnMn.nS>"


class List(Kind):
    """Comma-separated items, in order; a repeated item counts once."""

    __slots__ = ("choices", "may_be_empty")
    type = ConfigType.LIST
    name = "list"

    def __init__(self, *choices: str, may_be_empty: bool = False) -> None:
        self.choices = choices
        self.may_be_empty = may_be_empty

    def parse(self, text: str) -> tuple[str, ...]:
        trimmed = text.strip()
        value = tuple(dict.fromkeys(re.split(_COMMA, trimmed))) if trimmed else ()
        self.check(value)
        return value

    def check(self, value: tuple[str, ...]) -> None:
        if not value and not self.may_be_empty:
            raise ValueError("must have at least one item")
        for item in value:
            if not item:
                raise ValueError("must not have an empty item")
            if self.choices and item not in self.choices:
                raise ValueError(f"each item must be one of {', '.join(self.choices)}")

    def render(self, value: tuple[str, ...]) -> str:
        return ",".join(value)

    @property
    def rule(self) -> str:
        items = "of " + ", ".join(self.choices) if self.choices else ""
        return " ".join(filter(None, ("" if self.may_be_empty else "not empty", items)))


class ThrottledReplicas(List):
    """`*`, or pairs of partition and broker."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(may_be_empty=True)

    def check(self, value: tuple[str, ...]) -> None:
        if value != ("*",) and not all(re.fullmatch(_THROTTLED, item) for item in value):
            raise ValueError("must be * or partition:broker,partition:broker,...")

    @property
    def rule(self) -> str:
        return "`*` or partition:broker pairs"


class Servers(List):
    """Addresses, each with the id of its node before it if `with_ids`."""

    __slots__ = ("with_ids",)

    def __init__(self, *, with_ids: bool = False) -> None:
        super().__init__(may_be_empty=True)
        self.with_ids = with_ids

    def check(self, value: tuple[str, ...]) -> None:
        pattern = "[0-9]+@" + _SERVER if self.with_ids else _SERVER
        if not all(re.fullmatch(pattern, item) for item in value):
            raise ValueError(f"each item must be {self._form}")

    @property
    def _form(self) -> str:
        return "id@host:port" if self.with_ids else "host:port"

    @property
    def rule(self) -> str:
        return f"of {self._form}"


class Password(Kind):
    __slots__ = ()
    type = ConfigType.PASSWORD
    name = "password"

    def parse(self, text: str) -> Secret:
        return Secret(text.strip())

    def render(self, value: str) -> str:
        return "[hidden]"


class Class(Kind):
    """The name of a Java class, kept as text: Barnabas loads none."""

    __slots__ = ()
    type = ConfigType.CLASS
    name = "class"

    def parse(self, text: str) -> str:
        return text.strip()


def java_double(value: float) -> str:
    """A double as Java prints it: plain from a thousandth to ten million, else 1.0E7."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    for precision in range(1, 17):
        if float(f"{value:.{precision}e}") == value:
            break
    mantissa, _, exponent = f"{value:.{precision}e}".partition("e")
    return f"{mantissa}E{int(exponent)}"
