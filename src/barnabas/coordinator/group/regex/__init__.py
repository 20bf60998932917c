"""Patterns of topic names, matched in time that grows with the name only.

The syntax is RE2's: what Python's own module has beyond it (look-around, back references) is
refused, and a pattern that a client sends can never keep the broker busy.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.coordinator.group.regex.machine import Pattern, TooExpensiveError
from barnabas.coordinator.group.regex.parser import parse
from barnabas.coordinator.group.regex.sets import InvalidPatternError

__all__ = ["InvalidPatternError", "Pattern", "compile_pattern", "matching"]

_WORK_PER_CHARACTER = 2
_WORK_AT_LEAST = 300_000


def compile_pattern(text: str) -> Pattern:
    """The pattern that matches whole names.  InvalidPatternError says what is wrong with `text`."""
    try:
        return Pattern(parse(text))
    except TooExpensiveError:
        raise InvalidPatternError("pattern with too many repetitions") from None


def matching(text: str, names: Collection[str]) -> frozenset[str]:
    """The names that the pattern matches.

    InvalidPatternError also if that takes far more work than patterns of topics do.
    """
    pattern = compile_pattern(text)
    allowed = _WORK_AT_LEAST + _WORK_PER_CHARACTER * sum(map(len, names))
    found = []
    for name in names:
        if pattern.matches(name):
            found.append(name)
        if pattern.work > allowed:
            raise InvalidPatternError("pattern that is too expensive to match")
    return frozenset(found)
